"""What an alert did: its runs, what it found, and what people decided about it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.change_point import Condition, Status
from knickpoint.server.schemas.base import Answer
from knickpoint.server.schemas.changes import ChangeAnswer

__all__ = ["AlertRecordAnswer", "AlertRunAnswer", "FindingCountAnswer"]


class AlertRunAnswer(Answer):
    """One run of an alert over one repository."""

    repository: str = Field(description="Empty in runs of older versions.")
    started: datetime
    seconds: float
    complete: bool = Field(
        description="Whether it ran over all of its traces, and not over those of new results alone."
    )
    traces: int
    added: int = Field(description="Number of steps that it saw for the first time.")
    kept: int
    lost: int = Field(description="Number of steps that it saw before and saw no more.")
    failure: str


class FindingCountAnswer(Answer):
    """How many findings of an alert are in a state."""

    condition: Condition
    status: Status
    findings: int


class AlertRecordAnswer(Answer):
    """What an alert did in the repositories that the caller may read."""

    name: str
    runs: list[AlertRunAnswer] = Field(description="The newest 20 runs.")
    counts: list[FindingCountAnswer] = Field(description="Its findings by what the data show and what people decided.")
    largest: list[ChangeAnswer] = Field(description="The largest 5 of its unprocessed changes, each with its lead.")
