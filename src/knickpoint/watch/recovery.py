"""Say whether a level that was left came back later."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from knickpoint.model.regression import Condition
from knickpoint.model.step import StableRegion, Step

__all__ = ["NOISE", "conditions", "returned"]

NOISE: Final = 2.0
"""Standard deviations within which two levels are the same."""

_ROUNDING: Final = 1e-9


def _spread(one: StableRegion, other: StableRegion) -> float:
    freedom = one.count + other.count - 2
    if freedom < 1:
        return 0.0
    return math.sqrt(((one.count - 1) * one.variance + (other.count - 1) * other.variance) / freedom)


def returned(before: StableRegion, left: StableRegion, later: StableRegion) -> bool:
    """Say whether ``later`` is the level ``before`` again, after the level ``left`` in between.

    The medians of ``before`` and ``later`` differ by no more than :data:`NOISE` pooled standard deviations
    of the two, and by less than half of what the medians of ``before`` and ``left`` differ by.
    """
    distance = abs(later.median - before.median)
    tolerance = NOISE * _spread(before, later) + _ROUNDING * abs(before.median)
    return distance <= tolerance and 2 * distance < abs(left.median - before.median)


def conditions(steps: Sequence[Step]) -> list[Condition]:
    """Return the condition of each of the ``steps`` of one series, sorted by index.

    A step has RECOVERED when a later step moves the other way and the level after that one is, by
    :func:`returned`, the level before the step; otherwise it is PRESENT.
    """
    return [
        Condition.RECOVERED
        if any(
            later.movement is not step.movement and returned(step.before, step.after, later.after)
            for later in steps[place + 1 :]
        )
        else Condition.PRESENT
        for place, step in enumerate(steps)
    ]
