"""Measure how much a step changed the values next to it: medians of few values, which drift and outliers barely move.

The stable regions of a step reach from one step to the next, over thousands of commits where nothing else happened.
Their means include every outlier and every drift; these local levels do not. The robust deviation is that of the median
absolute deviation (Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974)). See
``docs/decisions/directions-levels-and-sizes.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.measured_series import check_series
from knickpoint.detect.outliers import student_quantile
from knickpoint.model.distribution import MAD
from knickpoint.model.step import SizeEstimate, Step
from knickpoint.native.student import student_p_value

NEAR: Final = 20
"""Measured values on each side of a step that make its local levels.

The median of 20 values is known to about a quarter of their deviation; with fewer values, a change of half a deviation
is lost in the noise. With many more, drift counts again.
"""


_MEAN_TO_DEVIATION: Final = 1.2533
"""Standard deviations in a mean absolute deviation of normal values."""

_ROUNDING: Final = 1e-9
"""Levels that differ by less, relative to the larger one, are equal."""

_FEWEST: Final = 4
"""Values on both sides together with which a size has an interval."""

_WIDE: Final = 100
"""Measured values on each side that say how noisy the values are, and how much neighbours resemble each other.

20 values say too little about both: the intervals of autocorrelated values would be too narrow.
"""

_FARTHEST: Final = 3.0
"""Deviations beyond which a value counts as if it were no further away, where neighbours are compared."""

_MOST_PHI: Final = 0.9
"""Largest autocorrelation: beyond it, 20 values say nothing about a level."""

MEDIAN_ERROR: Final = math.sqrt(math.pi / 2)
"""Standard error of a median of normal values, over that of their mean."""

_MEDIAN_FREEDOM: Final = 0.4
"""Degrees of freedom that a value adds to a median absolute deviation, which is 0.37 as efficient as a standard
deviation.
"""

_INTERVAL: Final = 0.95
"""Probability with which the size lies in its interval."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LocalLevel:
    """The values next to a step on one side of it, at most :data:`NEAR`.

    ``deviation`` is a robust standard deviation of single values around the median, and ``count`` how many values there
    are.
    """

    median: float
    deviation: float
    count: int


@dataclass(frozen=True, slots=True)
class LocalChange:
    """The levels on both sides of a step; ``deviation`` is of the single values of both around their own median.

    The size lies between ``low`` and ``high`` with 95 %, and ``sign`` is the chance that it has the right sign; all
    three are nan where there are too few values.
    """

    before: LocalLevel
    after: LocalLevel
    deviation: float
    low: float
    high: float
    sign: float

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
    return ordered[middle - 1] / 2 + ordered[middle] / 2  # halved first: a sum of huge values is not a float


def _deviation(distances: Sequence[float]) -> float:
    """Return the standard deviation of values with these ``distances`` from their level.

    Where more than half of the distances are 0, so is their median, and the mean distance counts instead.
    """
    middle = _median(distances)
    return MAD * middle if middle else _MEAN_TO_DEVIATION * math.fsum(distances) / len(distances)


@dataclass(frozen=True, slots=True)
class _Error:
    """The standard error of a size, with the degrees of freedom of Student's t; nan where it is unknown."""

    standard: float
    freedom: float

    @property
    def quantile(self) -> float:
        """How many standard errors the interval reaches to each side."""
        return student_quantile((1 + _INTERVAL) / 2, self.freedom) if self.standard > 0 else 1.0

    def chance_of_sign(self, size: float) -> float:
        """Return the chance that a change of this ``size`` has the right sign."""
        if self.standard > 0:
            return 1 - student_p_value(abs(size) / self.standard, self.freedom) / 2
        return 1.0 if self.standard == 0 else math.nan


def _local_change(before: Sequence[float], after: Sequence[float], error: _Error) -> LocalChange:
    medians = _median(before), _median(after)
    distances = [[abs(value - median) for value in side] for side, median in zip((before, after), medians, strict=True)]
    levels = [LocalLevel(median, _deviation(side), len(side)) for median, side in zip(medians, distances, strict=True)]
    size = medians[1] - medians[0]
    reach = error.quantile * error.standard
    deviation = _deviation(distances[0] + distances[1])
    return LocalChange(levels[0], levels[1], deviation, size - reach, size + reach, error.chance_of_sign(size))


def _estimated_change(estimate: SizeEstimate) -> LocalChange:
    before, after = (LocalLevel(level, estimate.deviation, NEAR) for level in (estimate.before, estimate.after))
    return LocalChange(before, after, estimate.deviation, estimate.low, estimate.high, estimate.sign)


def _error_of_size(before: Floats, after: Floats, counts: tuple[int, int]) -> _Error:
    """Return the error of the difference of two medians of ``counts`` values, from wider windows around them.

    The values are those of an autoregressive process of order 1 around their level. The variance of a mean of *n* of
    them is that of independent ones times (1 + phi) / (1 - phi) - 2 phi (1 - phi^n) / (n (1 - phi)^2); medians are
    taken alike.
    """
    size = before.size + after.size
    if size < _FEWEST:
        return _Error(math.nan, 1.0)
    around = [side - _median(side.tolist()) for side in (before, after)]
    scale = _deviation(np.abs(np.concatenate(around)).tolist())
    if not scale > 0 or not math.isfinite(scale):
        return _Error(scale if scale == 0 else math.nan, 1.0)
    clipped = [np.clip(side / scale, -_FARTHEST, _FARTHEST) for side in around]
    squares = sum(float(side @ side) for side in clipped)
    first = sum(float(side[1:] @ side[:-1]) for side in clipped) / squares
    phi = min(max(first + (1 + 3 * first) / size, 0.0), _MOST_PHI)  # the estimate is biased by about this much
    variance = sum(_inflation(phi, count) / count for count in counts) * size / (size - 2)
    return _Error(MEDIAN_ERROR * scale * math.sqrt(variance), max(1.0, _MEDIAN_FREEDOM * (size - 2)))


def _inflation(phi: float, count: int) -> float:
    return (1 + phi) / (1 - phi) - 2 * phi * (1 - phi**count) / (count * (1 - phi) ** 2)


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
        _estimated_change(step.estimate) if step.estimate else _measured_change(held, begin, at, end)
        for step, (begin, at, end) in zip(steps, ranks, strict=True)
    ]


def _measured_change(held: Floats, begin: int, at: int, end: int) -> LocalChange:
    """Measure the step at ``at`` between the values from ``begin`` and those up to ``end``."""
    before, after = held[max(begin, at - NEAR) : at], held[at : min(end, at + NEAR)]
    wide = held[max(begin, at - _WIDE) : at], held[at : min(end, at + _WIDE)]
    error = _error_of_size(*wide, (before.size, after.size))
    return _local_change(before.tolist(), after.tolist(), error)


def compare_levels(before: Floats, after: Floats) -> LocalChange:
    """Measure the change from the values ``before`` to those ``after``, 1-D and finite, at least one each."""
    held = np.concatenate([before, after])
    return _measured_change(held, 0, before.size, held.size)


def estimate_sizes(values: ArrayLike, steps: Sequence[Step]) -> list[SizeEstimate]:
    """Estimate the sizes of the ``steps`` of one series from the values next to them, with their precision.

    ``values`` is the series in which any method found the steps: 1-D, ``nan`` for missing. The levels are medians of up
    to 20 values on each side. A step that has an estimate keeps it.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers.
    """
    return [
        step.estimate
        or SizeEstimate(
            before=change.before.median,
            after=change.after.median,
            low=change.low,
            high=change.high,
            sign=change.sign,
            slope=0.0,
            deviation=change.deviation,
        )
        for step, change in zip(steps, local_changes(check_series(values), steps), strict=True)
    ]
