"""What stands on the lines of a plot: findings, and changes of environment."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.change_point import Direction, Status
from knickpoint.model.statement import ChangeCondition, ChangeDirection
from knickpoint.server.schemas.base import Answer, ChangeId, ChangePointId, FiniteOrNull
from knickpoint.server.schemas.runs import FactAnswer

__all__ = ["FindingMarkAnswer", "MarkAnswer"]


class FindingMarkAnswer(Answer):
    """A change point, in the few words that a plot of many lines has room for."""

    id: ChangePointId
    status: Status
    direction: Direction = Field(description="The direction of the change point.")
    change: ChangeId | None = Field(description="The change that it belongs to.")
    headline: str = Field(description="What that change is, as its statement says; empty without one.")
    stated: ChangeDirection = Field(description="The direction of that change.")
    condition: ChangeCondition = Field(description="The condition of that change.")
    traces: int = Field(description="How many traces that change counts.")
    size_text: str = Field(description="The size of the change point in words, as `12 % slower`.")
    size: float = Field(description="Level after minus level before, in the unit of the trace.")
    relative_size: FiniteOrNull = Field(description="size / |level before|; null where the level before is 0.")


class MarkAnswer(Answer):
    """A finding on a trace, or a change of its environment, at a commit of the line."""

    trace: int
    position: int = Field(description="Position of the first commit at the new level, or in the new environment.")
    finding: FindingMarkAnswer | None = Field(description="null for a change of environment.")
    facts: list[FactAnswer] = Field(description="What changed in the environment; empty for a finding.")
