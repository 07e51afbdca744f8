"""Decide whether a change has recovered: a later step the other way brings the level before it back.

"The same level" allows for noise, and for a later level that is not exactly the old one: see :func:`returned`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from knickpoint.detect.local_levels import MEDIAN_ERROR, NEAR, LocalChange, LocalLevel

__all__ = ["NEARER", "NOISE", "recoveries", "returned"]

NOISE: Final = 2.0
"""Two levels that differ by no more standard deviations of single values are the same."""

NEARER: Final = 3.0
"""How many times smaller than the change of the step the distance to the old level has to be."""

_ROUNDING: Final = 1e-9


def returned(before: LocalLevel, left: LocalLevel, later: LocalLevel) -> bool:
    """Return whether ``later`` is the level ``before`` again, after the level ``left`` in between.

    ``before`` and ``later`` differ by no more than :data:`NOISE` deviations, which few values widen by the error of the two
    medians, and by less than a third (one over :data:`NEARER`) of what ``before`` and ``left`` differ by.
    """
    distance = abs(later.median - before.median)
    error = MEDIAN_ERROR * math.sqrt(1 / before.count + 1 / later.count)
    noise = _deviation([before, later] if before.count + later.count >= NEAR else [before, left, later])
    tolerance = NOISE * noise * math.hypot(1.0, error) + _ROUNDING * abs(before.median)
    return distance <= tolerance and NEARER * distance < abs(left.median - before.median)


def _deviation(levels: Sequence[LocalLevel]) -> float:
    """Pool the deviations of single values around some levels, with one degree of freedom less for each level."""
    freedom = sum(level.count - 1 for level in levels)
    return math.hypot(*(math.sqrt(level.count / freedom) * level.deviation for level in levels)) if freedom else 0.0


def recoveries(changes: Sequence[LocalChange]) -> list[int | None]:
    """Return which later step brought each of the steps of one series back, given what each changed; None for none.

    A step has recovered when a later step moves the other way and the level after that one is, by :func:`returned`, the
    level before the step.
    """
    return [
        next(
            (
                place + 1 + number
                for number, later in enumerate(changes[place + 1 :])
                if later.size * change.size < 0 and returned(change.before, change.after, later.after)
            ),
            None,
        )
        for place, change in enumerate(changes)
    ]
