"""Quarantined results, and lifting their quarantine."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.quarantine import QuarantineState
from knickpoint.server.schemas.base import Answer, FiniteOrNull, QuarantineId, Text
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.runs import FactAnswer

__all__ = ["CanaryMoveAnswer", "LiftRequest", "QuarantineAnswer", "QuarantinedValueAnswer"]


class CanaryMoveAnswer(Answer):
    """A canary that moved in a run."""

    canary: str = Field(description="Name of its section in knickpoint.toml, or of the alert of the kind `canary`.")
    trace_id: int
    trace_key: str
    unit: str
    value: float
    level: float = Field(description="Its level on this machine before.")
    low: float = Field(description="Values from low to high are within its noise.")
    high: float
    relative_size: float


class QuarantineAnswer(Answer):
    """The quarantine of the results of one run."""

    id: QuarantineId
    repository: str
    commit: CommitAnswer
    run: str = Field(description="Identity of the run.")
    machine: str = Field(description="Empty where the run names none.")
    state: QuarantineState = Field(
        description="`quarantined`: no outcome yet; `kept-out`: the machine is as before again, and the results stay out "
        "of levels; the results count again: `environment-changed`, `not-confirmed` in time, `lifted` by a person, "
        "`unfounded` with the data of today."
    )
    reason: str = Field(description="Why the results are suspect, in words.")
    moves: list[CanaryMoveAnswer]
    facts: list[FactAnswer]
    traces: int = Field(description="Number of traces that the run measured, without canaries.")
    since: datetime
    until: datetime = Field(description="Without an outcome, the results count from then on.")
    outcome: str = Field(description="Why the quarantine ended; empty while it has not.")
    who: str = Field(description="Who lifted it; empty where no person did.")


class QuarantinedValueAnswer(Answer):
    """A value of a trace that takes no part in its levels."""

    position: int
    value: FiniteOrNull
    unit: str = Field(description="The unit of the trace.")
    quarantine: QuarantineAnswer


class LiftRequest(Answer):
    """Why quarantined results count after all."""

    reason: Text = Field(min_length=1, max_length=2000)
