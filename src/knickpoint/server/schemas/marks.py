"""What stands on the lines of a plot: findings, and changes of environment."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.change_point import Direction, Status
from knickpoint.server.schemas.base import Answer, ChangePointId, FiniteOrNull
from knickpoint.server.schemas.runs import FactAnswer

__all__ = ["FindingMarkAnswer", "MarkAnswer"]


class FindingMarkAnswer(Answer):
    """A finding, in the few words that a plot of many lines has room for."""

    id: ChangePointId
    status: Status
    direction: Direction
    size: float = Field(description="Level after minus level before, in the unit of the trace.")
    relative_size: FiniteOrNull = Field(description="size / |level before|; null where the level before is 0.")


class MarkAnswer(Answer):
    """A finding on a trace, or a change of its environment, at a commit of the line."""

    trace: int
    position: int = Field(description="Position of the first commit at the new level, or in the new environment.")
    finding: FindingMarkAnswer | None = Field(description="null for a change of environment.")
    facts: list[FactAnswer] = Field(description="What changed in the environment; empty for a finding.")
