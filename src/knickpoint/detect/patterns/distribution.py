"""Find lasting changes of the distribution of the noise, such as a second level or a tail at an equal spread.

The values around their level are ranked, and cosines of the ranks are summed: a smooth test of Neyman (1937) for each
place, without the component that a change of the level moves. A place counts when its sum is too large for chance, and
when the distributions of both sides, each around its own median, differ by enough values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries
from knickpoint.detect.outliers import rounding
from knickpoint.detect.patterns.modes.regimes import divide_levels
from knickpoint.detect.patterns.pattern import SHORTEST, chance_of_largest, middle_ranks, standard_sums
from knickpoint.detect.steps import build_estimated_step, stable_regions
from knickpoint.model.distribution import Distribution
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Check, SizeEstimate, Step
from knickpoint.native.regions import median_of

# Describe how values are distributed: where most of them lie, and the levels that they fall apart into.


_LEAST_SHARE: Final = 0.05
_FEWEST: Final = 3
"""Share, and number, of the values of a side that make a level."""

_ROUNDINGS: Final = 3
"""Roundings that two levels lie apart at least: the levels of rounded noise are none of the values."""


def describe_values(values: Floats) -> Distribution:
    """Describe the distribution of ``values`` (1-D, finite, at least one)."""
    # "closest_observation" adds no values, so that those near the largest double do not overflow.
    low, high = np.quantile(values, [0.1, 0.9], method="closest_observation").tolist()
    return Distribution(low, high, tuple((level, count / values.size) for level, count in levels_of(values)))


def levels_of(values: Floats) -> list[tuple[float, int]]:
    """Return the levels of ``values``, ascending, each with how many of them lie around it."""
    fewest = max(_FEWEST, math.ceil(_LEAST_SHARE * values.size))
    parts = divide_levels(np.sort(values), fewest, _ROUNDINGS * rounding(values))
    return [(median_of(part), part.size) for part in parts]


_COMPONENTS: Final = range(2, 7)
"""Cosines of the ranks that are tried: the first one shows changes of the level, later ones only noise."""

_LEAST_DIFFERENCE: Final = 0.1
"""Largest difference of the shares of values below any bound, at least: smaller changes rarely call for action."""

_LEAST_VARIANCE: Final = 0.05
"""Variance from which on a combination of the cosines counts; that of a cosine of distinct ranks is 1."""

_LEAST_AROUND: Final = 4.5
"""Length of the components at the place, each side around its own median: by chance in 1 of 1,000 places that are
known.
"""

_AS_NORMAL: Final = math.sqrt(math.pi / 2)
"""Factor from the mean distance to the standard deviation of normal noise."""


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Change:
    """A change before the measured value ``place`` of those from ``first`` to ``stop``: sum, chance, difference."""

    first: int
    place: int
    stop: int
    z: float
    p: float
    difference: float


def find_distribution_changes(
    values: Floats, series: MeasuredSeries, steps: Sequence[Step], false_alarms: float
) -> tuple[Step, ...]:
    """Return the changes of the distribution of ``values`` around the levels between ``steps``, sorted by index.

    ``steps`` are all findings so far: where the noise is found to change, its distribution is compared on either side
    by itself. There are none where the values drift. ``false_alarms`` is how many there may be per 1,000 commits
    without a change. The size is how far values of equal rank lie apart in the mean, as the standard deviation of
    normal noise; it is negative where the values come nearer to their level.
    """
    if any(step.kind is FindingKind.DRIFT for step in steps):
        return ()
    deviations = _deviations(series, [step for step in steps if step.kind is not FindingKind.NOISE])
    noisy = [step.index for step in steps if step.kind is FindingKind.NOISE]
    bounds = np.searchsorted(series.rows, [0, *noisy, series.length]).tolist()
    found = [
        change
        for first, stop in pairwise(bounds)
        for change in _search(deviations, first, stop, min(0.5, false_alarms * (stop - first) / 1000))
    ]
    strongest = sorted(found, key=lambda change: -abs(change.z))
    return tuple(
        _finding(values, series, deviations, change, strongest.index(change))
        for change in sorted(found, key=lambda change: change.place)
    )


def _deviations(series: MeasuredSeries, steps: Sequence[Step]) -> Floats:
    """Return each measured value less the median of its level."""
    bounds = np.searchsorted(series.rows, [0, *(step.index for step in steps), series.length]).tolist()
    parts = [series.values[first:stop] for first, stop in pairwise(bounds)]
    return np.concatenate([part - median_of(part) for part in parts if part.size] or [np.empty(0)])


def _search(deviations: Floats, first: int, stop: int, chance: float) -> Iterator[_Change]:
    """Yield the changes in ``deviations[first:stop]``."""
    part = deviations[first:stop]
    if part.size < 2 * SHORTEST or not np.ptp(part) > 0:
        return
    components = _components(part)
    if not components.size:
        return
    lengths = _lengths(components)
    best = int(np.argmax(lengths))
    z, place = float(lengths[best]), SHORTEST + best
    p = chance_of_largest(z, SHORTEST / part.size, len(components))
    if p > chance:
        return
    sides = [side - median_of(side) for side in (part[:place], part[place:])]
    difference = _difference(sides)
    around = _components(np.concatenate(sides))
    if difference < _LEAST_DIFFERENCE or not around.size or _lengths(around)[best] < _LEAST_AROUND:
        return
    yield _Change(first, first + place, stop, z, p, difference)
    yield from _search(deviations, first, first + place, chance)
    yield from _search(deviations, first + place, stop, chance)


def _components(part: Floats) -> Floats:
    """Return independent scores (components x n, mean 0, mean square 1) of the cosines of the ranks of ``part``.

    Values on a grid have fewer distinct ranks than there are cosines, which are then combinations of each other.
    """
    shares = (middle_ranks(part) + 0.5) / part.size
    cosines = np.cos(math.pi * np.outer(_COMPONENTS, shares))
    cosines -= cosines.mean(axis=1, keepdims=True)
    variances, axes = np.linalg.eigh(2 * cosines @ cosines.T / part.size)
    kept = variances > _LEAST_VARIANCE
    return np.asarray(math.sqrt(2) * (axes[:, kept] / np.sqrt(variances[kept])).T @ cosines)


def _lengths(components: Floats) -> Floats:
    """Return the length of the vector of standardised sums of ``components`` before each place."""
    return np.sqrt(sum(np.square(standard_sums(scores)) for scores in components))


def _difference(sides: Sequence[Floats]) -> float:
    """Return the largest difference of the shares of the values of two sides that lie below any bound."""
    bounds = np.concatenate(sides)
    below = [np.searchsorted(np.sort(side), bounds, side="right") / side.size for side in sides]
    return float(np.abs(below[0] - below[1]).max())


def _finding(values: Floats, series: MeasuredSeries, deviations: Floats, change: _Change, order: int) -> Step:
    rows = [int(series.rows[place]) for place in (change.first, change.place, change.stop - 1)]
    before, after = stable_regions(values, [rows[0], rows[1], rows[2] + 1])
    sides = [deviations[first:stop] for first, stop in pairwise((change.first, change.place, change.stop))]
    spreads = [_AS_NORMAL * float(np.abs(side - median_of(side)).mean()) for side in sides]
    moved = math.copysign(_moved(sides), spreads[1] - spreads[0])
    estimate = SizeEstimate(spreads[0], spreads[0] + moved, math.nan, math.nan, math.nan, 0.0, spreads[1])
    return build_estimated_step(
        before,
        after,
        estimate,
        kind=FindingKind.NOISE,
        score=change.z,
        order=order,
        method="default",
        evidence=(
            Check("change of the distribution, standardised", change.z),
            Check("chance of a change of the distribution as large", change.p),
            Check("largest difference of the shares below a bound", change.difference),
            Check("noise before (standard deviation)", spreads[0]),
            Check("noise after (standard deviation)", spreads[1]),
            *_level_checks("before", series.values[change.first : change.place]),
            *_level_checks("since", series.values[change.place : change.stop]),
        ),
    )


def _moved(sides: Sequence[Floats]) -> float:
    """Return the distance between values of equal rank on both sides, around their medians, as a standard deviation."""
    ranks = (np.arange(200) + 0.5) / 200
    quantiles = [np.quantile(side - median_of(side), ranks) for side in sides]
    return _AS_NORMAL * float(np.abs(quantiles[1] - quantiles[0]).mean())


def _level_checks(when: str, part: Floats) -> Iterator[Check]:
    """Yield how many levels the values of a side have, and, where several, each with its share of the values."""
    levels = levels_of(part)
    yield Check(f"levels {when}", float(len(levels)))
    for number, (level, count) in enumerate(levels if len(levels) > 1 else (), start=1):
        yield Check(f"level {number} {when}", level)
        yield Check(f"share of the values at level {number} {when}", count / part.size)
