"""Shapes of regressions, their members, and the changes of one trace."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.regression import Condition, Direction, Status
from knickpoint.model.step import Movement
from knickpoint.server.schemas.base import Answer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = [
    "ChangesAnswer",
    "GroupAnswer",
    "HistoryAnswer",
    "LevelAnswer",
    "MemberAnswer",
    "PlaceAnswer",
    "RegionAnswer",
    "RegressionsAnswer",
    "SparklineAnswer",
]


class LevelAnswer(Answer):
    """The values of one level, in the unit of the trace."""

    count: int
    minimum: float
    maximum: float
    median: float
    mean: float
    variance: float


class PlaceAnswer(Answer):
    """A suspect range: the change lies in (previous, position]."""

    line: str
    previous: int | None = Field(description="Position of the last measured commit before the change.")
    position: int | None = Field(description="Position of the first measured commit at the new level.")
    suspects: int = Field(description="Number of commits in the range; 1 when the commit before was measured too.")
    previous_hash: str


class SparklineAnswer(Answer):
    """Measured values around a change, for a small drawing."""

    values: list[float]
    begin: int = Field(description="Index of the first value of the level before the change.")
    split: int = Field(description="Index of the first value at the new level.")
    end: int = Field(description="Index of the first value after the new level, where a later change ends it.")


class MemberAnswer(Answer):
    """A change point: a step of one trace, with what was decided about it."""

    id: int
    regression: int
    trace: TraceAnswer
    place: PlaceAnswer
    commit: CommitAnswer
    movement: Movement
    direction: Direction
    before_level: float = Field(description="Median of the at most 20 values before the change.")
    after_level: float = Field(description="Median of the at most 20 values from the change on.")
    deviation: float | None = Field(description="Robust standard deviation of single values around these levels.")
    size: float = Field(description="Level after minus level before, in the unit of the trace.")
    relative_size: float | None = Field(description="size / |level before|; null where the level before is 0.")
    hazard: float | None = Field(description="log(mean before / mean after); null where a mean is not positive.")
    before: LevelAnswer
    after: LevelAnswer
    score: float | None
    p_value: float | None
    method: str
    alerts: list[str]
    condition: Condition
    history: bool = Field(description="Whether its regression lies at or before the history boundary: no work.")
    status: Status = Field(description="What was decided; `ticket` where nothing was and a matching ticket covers it.")
    note: str
    ticket: str
    matched_ticket: str = Field(description="A ticket that covers this place without anybody having said so.")
    assignee: str
    sparkline: SparklineAnswer | None = None


class GroupAnswer(Answer):
    """A regression: the findings at one commit."""

    id: int
    repository: str
    place: PlaceAnswer = Field(description="The suspect range that the members share.")
    commit: CommitAnswer
    history: bool = Field(description="Whether it lies at or before the history boundary of its repository: no work.")
    hazard: float | None = Field(description="The hazard level of largest magnitude among the members.")
    lead: int = Field(
        description="Id of the member that speaks for all, the first: the unprocessed one that got worse most; where "
        "none got worse, the largest change of unknown direction, else the largest improvement."
    )
    traces: int = Field(description="How many of its traces match the filter.")
    directions: dict[Direction, int] = Field(description="How many of those that match, by direction.")
    statuses: dict[Status, int] = Field(
        description="How many of all its traces, by status; what is gone counts only where it was asked for."
    )
    members: list[MemberAnswer] = Field(
        description="The lead first; at most as many as `members` in the request. `/api/v1/members` has the others."
    )


class RegressionsAnswer(Answer):
    """One page of findings, grouped by commit."""

    page: int
    pages: int
    gone: int = Field(description="Number of groups with findings that later data no longer show.")
    groups_total: int = Field(description="Number of groups that match the filter.")
    unprocessed: int = Field(
        description="Number of groups with unprocessed findings that match the filter, those that are history apart."
    )
    history: int = Field(description="Number of groups with unprocessed findings of history that match the filter.")
    processed: int = Field(description="Number of groups with processed findings that match the filter.")
    groups: list[GroupAnswer]


class HistoryAnswer(Answer):
    """Up to which commit the findings of a repository are history, and how many lie on either side."""

    repository: str
    line: str = Field(description="The default line; on other lines the boundary may lie elsewhere.")
    commit: CommitAnswer | None = Field(description="The last commit that is history; null where nothing is.")
    changed: datetime | None = Field(description="When the boundary was set; null before the first run.")
    who: str = Field(description="Who moved it; empty where the first run set it.")
    history: int = Field(description="Number of findings, traces at places, that are history.")
    work: int = Field(description="Number of findings that are work.")
    history_regressions: int
    work_regressions: int


class RegionAnswer(LevelAnswer):
    """A stable region: a level between two changes, by the positions where it begins and ends."""

    first: int
    last: int


class ChangesAnswer(Answer):
    """The levels of a trace and the changes between them, by positions on a line."""

    trace: TraceAnswer
    line: str
    commits: int = Field(description="Number of commits on the line.")
    measured: int = Field(description="Number of commits with a value.")
    first: int | None = Field(description="Position of the first value.")
    last: int | None = Field(description="Position of the last value.")
    regions: list[RegionAnswer]
    changes: list[MemberAnswer]
    gone: list[MemberAnswer] = Field(description="Changes that later data no longer show; they part no levels.")
