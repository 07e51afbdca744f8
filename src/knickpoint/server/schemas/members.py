"""The change points of a change: suspect range, levels, numbers, status."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.alert import AlertKind, AlertSeverity
from knickpoint.model.change_point import Condition, Direction, Status
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.step import Movement
from knickpoint.server.schemas.base import Answer, ChangeId, ChangePointId, FiniteOrNull
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = [
    "ChangePointAnswer",
    "LevelAnswer",
    "MembersAnswer",
    "SparklineAnswer",
    "SuspectRangeAnswer",
]


class LevelAnswer(Answer):
    """The values of one level, in the unit of the trace."""

    count: int
    minimum: float
    maximum: float
    median: float
    mean: float
    variance: float


class SuspectRangeAnswer(Answer):
    """A suspect range: the change lies in (previous, position]."""

    line: str
    previous: int | None = Field(description="Position of the last measured commit before the change.")
    position: int | None = Field(description="Position of the first measured commit at the new level.")
    commits: int = Field(description="Number of commits in the range; 1 when the commit before was measured too.")
    previous_hash: str


class SparklineAnswer(Answer):
    """Measured values around a change, for a small drawing."""

    values: list[float]
    begin: int = Field(description="Index of the first value of the level before the change.")
    split: int = Field(description="Index of the first value at the new level.")
    end: int = Field(description="Index of the first value after the new level, where a later change ends it.")


class ChangePointAnswer(Answer):
    """A change point: a step of one trace, and its status."""

    id: ChangePointId
    change: ChangeId | None
    trace: TraceAnswer = Field(description="The trace that it is a step of.")
    suspect_range: SuspectRangeAnswer
    commit: CommitAnswer
    movement: Movement
    direction: Direction
    before_level: float = Field(description="Median of the at most 20 values before the change.")
    after_level: float = Field(description="Median of the at most 20 values from the change on.")
    deviation: FiniteOrNull = Field(description="Robust standard deviation of single values around these levels.")
    size_text: str = Field(description="The size in words, as `12 % slower`.")
    size: float = Field(description="Level after minus level before, in the unit of the trace.")
    relative_size: FiniteOrNull = Field(description="size / |level before|; null where the level before is 0.")
    low: FiniteOrNull = Field(description="The size is at least this (95 %); null where there are too few values.")
    high: FiniteOrNull = Field(description="The size is at most this (95 %); null where there are too few values.")
    sign: FiniteOrNull = Field(description="Chance that the size has the right sign; null where it is unknown.")
    reference: str = Field(description="What a drift is compared with: `best`, a date or a tag; empty for its start.")
    over_reference: FiniteOrNull = Field(
        description="How far the end of the drift lies from the level there, as a share of it; null without a reference."
    )
    hazard: FiniteOrNull = Field(description="log(mean before / mean after); null where a mean is not positive.")
    before: LevelAnswer = Field(description="The level before the change.")
    after: LevelAnswer = Field(description="The level from the change on.")
    score: FiniteOrNull = Field(description="Strength by the method, larger is stronger.")
    p_value: FiniteOrNull
    method: str = Field(description="The method that found it.")
    alerts: list[str] = Field(description="Names of the alerts that report it.")
    alert_kind: AlertKind = Field(
        description="`work`; `informational` or `canary` where all of its alerts are; these are no work and not announced."
    )
    alert_severity: AlertSeverity = Field(description="The highest severity of its alerts.")
    condition: Condition
    kind: FindingKind = Field(
        description="`step`: a change of level; `drift`: a slow one; `mode`: another share of several levels; "
        "`noise`: more noise around the same level."
    )
    certainty: Certainty = Field(description="Whether later values may still move the change or take it away.")
    certainty_reason: str = Field(description="Why it is provisional; empty where it is settled.")
    held: str = Field(description="Why it is held back: results at its place are quarantined; empty where none are.")
    found: datetime | None = Field(
        description="When a run first found it; later than that of its change for a member that joined."
    )
    history: bool = Field(description="Whether its change lies at or before the history boundary.")
    status: Status = Field(description="The status; `ticket` for a `new` change point that a known ticket covers.")
    note: str
    ticket: str
    matched_ticket: str = Field(description="The known ticket that covers this trace and suspect range.")
    assignee: str
    sparkline: SparklineAnswer | None = None


class MembersAnswer(Answer):
    """One page of the members of a change: the worst first, equal ones by trace key."""

    change: ChangeId
    members: list[ChangePointAnswer]
    after: ChangePointId | None = Field(description="The value of `after` for the next page; null on the last one.")
