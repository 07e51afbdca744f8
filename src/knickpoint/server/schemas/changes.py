"""The stable regions of one trace, and the changes between them."""

from __future__ import annotations

from pydantic import Field

from knickpoint.server.schemas.base import Answer
from knickpoint.server.schemas.members import LevelAnswer, MemberAnswer
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = ["ChangesAnswer", "RegionAnswer"]


class RegionAnswer(LevelAnswer):
    """A stable region: a level between two changes, with the positions of its first and last value."""

    first: int
    last: int


class ChangesAnswer(Answer):
    """The stable regions of a trace and the changes between them, by positions on a line."""

    trace: TraceAnswer
    line: str
    commits: int = Field(description="Number of commits on the line.")
    measured: int = Field(description="Number of commits with a value.")
    first: int | None = Field(description="Position of the first value.")
    last: int | None = Field(description="Position of the last value.")
    regions: list[RegionAnswer]
    changes: list[MemberAnswer]
    gone: list[MemberAnswer] = Field(description="Changes that later data no longer show; no region ends there.")
