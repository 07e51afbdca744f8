"""Sums of many traces: the geometric mean of a query, and of its parts by one param."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.change_point import Direction
from knickpoint.model.unit import Better
from knickpoint.server.schemas.base import Answer, ChangeId

__all__ = ["TrendAnswer", "TrendMarkAnswer", "TrendsAnswer"]


class TrendMarkAnswer(Answer):
    """A finding in the drawing of a sum."""

    index: int = Field(description="Index of its commit in `points`.")
    direction: Direction = Field(description="Of most of the findings there.")
    findings: int
    change: ChangeId = Field(description="A change that they belong to.")


class TrendAnswer(Answer):
    """How the geometric mean of some traces went, relative to the beginning of the range of commits.

    Where it has traces for which lower is better, those for which higher is better count by their inverse.
    """

    value: str = Field(description="Their value of the param; empty for all, or for traces without the param.")
    traces: int
    read: int = Field(description="How many of them were read. The sum of the others is part of the uncertainty.")
    used: int = Field(description="How many of those have values at both ends of the range.")
    better: Better = Field(description="Which side of 1 is better; `higher` where that is so for all of its traces.")
    change: float | None = Field(
        description="Relative change from the beginning to the end: 0.02 is 2 %; null if unknown."
    )
    low: float | None = Field(description="Lower end of the 95 % interval of the change.")
    high: float | None
    points: list[float | None] = Field(description="The sum at evenly spread commits, 1 at the beginning.")
    measured: list[float] = Field(description="At the same commits, the share of the read traces that have a value.")
    marks: list[TrendMarkAnswer]


class TrendsAnswer(Answer):
    """The sums of a query: of all of it, and of its parts."""

    repository: str
    line: str
    first: int = Field(description="Position of the first commit of the range.")
    last: int
    positions: list[int] = Field(description="Position of the commit of each point.")
    directed: bool = Field(description="Whether a direction is known.")
    by: str = Field(description="The param that the parts differ in; empty without parts.")
    choices: list[str] = Field(description="Params that can part the query.")
    common: dict[str, str] = Field(description="Params that all traces share.")
    total: TrendAnswer
    parts: list[TrendAnswer] = Field(description="By value, at most 60.")
