"""The stable regions of one trace, and the changes between them."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.step import Verdict
from knickpoint.server.schemas.base import Answer, ChangeId, ChangePointId, FiniteOrNull
from knickpoint.server.schemas.changes import StatementAnswer
from knickpoint.server.schemas.members import ChangePointAnswer, LevelAnswer
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = ["ChangePointsAnswer", "NewestAnswer", "RegionAnswer", "SummaryAnswer"]


class RegionAnswer(LevelAnswer):
    """A stable region: a level between two changes, with the positions of its first and last value."""

    first: int
    last: int
    low: float = Field(description="Quantile 0.1 of its values.")
    high: float = Field(description="Quantile 0.9 of its values.")


class SummaryAnswer(Answer):
    """What of the samples of each run some changes of a trace were found in, and the stable regions of that."""

    summary: str = Field(description="As `p99`; `GET /values` with it has the values.")
    change_points: list[ChangePointId] = Field(description="Ids of these changes, those that are gone included.")
    regions: list[RegionAnswer]


class NewestAnswer(Answer):
    """The newest value of a trace, which does not belong to the level before it: a first, provisional sign."""

    position: int | None = Field(description="Position of its commit.")
    verdict: Verdict = Field(description="`regressed` or `improved`; it rests on one value.")
    value: float
    centre: float = Field(description="The level before.")
    low: float = Field(description="Values from here to `high` are within the noise of that level.")
    high: float
    relative_size: FiniteOrNull = Field(description="(value - centre) / |centre|; null where that is 0.")
    p_value: FiniteOrNull


class ChangePointsAnswer(Answer):
    """The stable regions of a trace and the changes between them, by positions on a line."""

    trace: TraceAnswer
    line: str
    commits: int = Field(description="Number of commits on the line.")
    measured: int = Field(description="Number of commits with a value.")
    first: int | None = Field(description="Position of the first value.")
    last: int | None = Field(description="Position of the last value.")
    regions: list[RegionAnswer] = Field(description="The stable regions of the values, which are medians.")
    summaries: list[SummaryAnswer] = Field(description="Where changes were found in something else than medians.")
    change_points: list[ChangePointAnswer]
    notes: dict[ChangePointId, str] = Field(
        description="By the id of a change point: which number of the samples its levels are, or how the distribution changed; only where "
        "the levels do not say it."
    )
    newest: NewestAnswer | None = Field(description="null where the newest value belongs to the level before it.")
    gone: list[ChangePointAnswer] = Field(description="Changes that later data no longer show; no region ends there.")
    statements: dict[ChangeId, StatementAnswer] = Field(
        description="By `change` of the findings: what the change that they belong to is."
    )
