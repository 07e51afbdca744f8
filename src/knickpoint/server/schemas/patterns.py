"""What the values of a trace follow besides levels: drifts, and stretches that flip between levels."""

from __future__ import annotations

from pydantic import Field

from knickpoint.server.schemas.base import Answer, ChangePointId, FiniteOrNull
from knickpoint.server.schemas.explanations import FlippingAnswer

__all__ = ["DriftAnswer", "PatternsAnswer"]


class DriftAnswer(Answer):
    """A drift: the level moves in a straight line, from the last commit before it to its last one."""

    finding: ChangePointId
    first: int = Field(description="Position of the last commit before it.")
    last: int = Field(description="Position of its last commit.")
    before: float = Field(description="The level where it begins, in the unit of the trace.")
    after: float = Field(description="The level where it ends.")
    low: FiniteOrNull = Field(description="It moves the level by at least this (95 %); null where that is unknown.")
    high: FiniteOrNull = Field(description="It moves the level by at most this (95 %); null where that is unknown.")


class PatternsAnswer(Answer):
    """The drifts of a trace that are there now, and the stretches in which it flips, in the order of the line."""

    drifts: list[DriftAnswer]
    flipping: list[FlippingAnswer]
