"""Measure how much a step changed the values next to it: medians of few values, which drift and outliers barely move.

The stable regions of a step reach from one step to the next, over thousands of commits where nothing else happened.
Their means include every outlier and every drift; these local levels do not. The robust deviation is that of the median
absolute deviation (Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974)). The record is ``docs/decisions/0120-local-levels.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.step import SizeEstimate, Step

__all__ = ["NEAR", "LocalChange", "LocalLevel", "local_changes"]

NEAR: Final = 20
"""Measured values on each side of a step that make its local levels.

The median of 20 values is known to about a quarter of their deviation; with fewer values, a change of half a deviation
is lost in the noise. With many more, drift counts again.
"""

_TO_DEVIATION: Final = 1.4826
"""Standard deviations in a median absolute deviation of normal values."""

_MEAN_TO_DEVIATION: Final = 1.2533
"""Standard deviations in a mean absolute deviation of normal values."""

_ROUNDING: Final = 1e-9
"""Levels that differ by less, relative to the larger one, are equal."""


@dataclass(frozen=True, slots=True)
class LocalLevel:
    """The values next to a step on one side of it, at most :data:`NEAR`.

    ``deviation`` is a robust standard deviation of single values around the median.
    """

    median: float
    deviation: float


@dataclass(frozen=True, slots=True)
class LocalChange:
    """The levels on both sides of a step; ``deviation`` is of the single values of both around their own median."""

    before: LocalLevel
    after: LocalLevel
    deviation: float

    @property
    def size(self) -> float:
        """The median after minus that before, 0 where they are equal within rounding."""
        size = self.after.median - self.before.median
        return 0.0 if abs(size) <= _ROUNDING * max(abs(self.before.median), abs(self.after.median)) else size

    @property
    def relative_size(self) -> float:
        """The size over |median before|; where that is 0, infinite with the sign of the size."""
        size, base = self.size, abs(self.before.median)
        if base:
            return size / base
        return math.copysign(math.inf, size) if size else 0.0


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return ordered[middle - 1] / 2 + ordered[middle] / 2  # halved first: a sum of huge values is no float


def _deviation(distances: Sequence[float]) -> float:
    """Return the standard deviation of values with these ``distances`` from their level.

    Where more than half of the distances are 0, so is their median, and the mean distance counts instead.
    """
    middle = _median(distances)
    return _TO_DEVIATION * middle if middle else _MEAN_TO_DEVIATION * math.fsum(distances) / len(distances)


def _local_change(before: Sequence[float], after: Sequence[float]) -> LocalChange:
    medians = _median(before), _median(after)
    distances = [[abs(value - median) for value in side] for side, median in zip((before, after), medians, strict=True)]
    levels = [LocalLevel(median, _deviation(side)) for median, side in zip(medians, distances, strict=True)]
    return LocalChange(levels[0], levels[1], _deviation(distances[0] + distances[1]))


def _estimated_change(estimate: SizeEstimate) -> LocalChange:
    before, after = (LocalLevel(level, estimate.deviation) for level in (estimate.before, estimate.after))
    return LocalChange(before, after, estimate.deviation)


def local_changes(values: NDArray[np.floating[Any]], steps: Sequence[Step]) -> list[LocalChange]:
    """Measure each of the ``steps`` of one series by the values next to it, inside of its stable regions.

    A step that has an estimate of its levels is measured by that: the values beside it drift.
    ``values`` is 1-D with ``nan`` for missing; the indices of the steps are its rows. O(measured values) for all steps.
    """
    if not steps:
        return []
    measured = np.flatnonzero(~np.isnan(values))
    held = values[measured].astype(np.float64)
    bounds = [(step.before.first, step.index, step.after.last + 1) for step in steps]
    ranks = np.searchsorted(measured, np.array(bounds, dtype=np.int64)).tolist()
    return [
        _estimated_change(step.estimate)
        if step.estimate
        else _local_change(held[max(begin, at - NEAR) : at].tolist(), held[at : min(end, at + NEAR)].tolist())
        for step, (begin, at, end) in zip(steps, ranks, strict=True)
    ]
