"""Find lasting changes of the noise: where values begin to lie further from their level, or nearer to it.

The distances of the values from the median of their level are ranked, so outliers count little. The place with the largest
standardised rank sum is a change when the largest of all places is too large for chance: Miller and Siegmund, "Maximally
selected chi square statistics", Biometrics 38 (1982). The search goes on to either side of it.
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
from knickpoint.detect.patterns.shifts import SHORTEST, chance_of_largest, largest_shift, middle_ranks
from knickpoint.detect.steps import build_estimated_step, stable_regions
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Check, SizeEstimate, Step

__all__ = ["find_noise_changes"]

_LEAST_RATIO: Final = 1.5
"""How many times larger the noise of one side is, at least."""

_MAD: Final = 1.4826
"""Factor from the median distance to the standard deviation of normal noise."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of the noise before the measured value ``place``: its standardised rank sum, and the chance of one as large."""

    place: int
    z: float
    p: float


@dataclass(frozen=True, slots=True)
class _Place:
    """A change with the measured values that its two sides begin and end at, and its rank by strength."""

    first: int
    change: _Change
    stop: int
    order: int


def find_noise_changes(
    values: Floats, series: MeasuredSeries, steps: Sequence[Step], false_alarms: float
) -> tuple[Step, ...]:
    """Return the changes of the noise of ``values`` around the levels between ``steps``, sorted by index.

    There are none where the values drift, because their distances from a level say nothing there.
    ``false_alarms`` is how many there may be per 1,000 commits of noise that does not change. The size is the difference of
    the robust standard deviations, and the relative size is that over the one before.
    """
    if any(step.kind is FindingKind.DRIFT for step in steps):
        return ()
    residuals = _residuals(series, steps)
    if residuals.size < 2 * SHORTEST or not np.median(residuals) > 0:
        return ()
    chance = min(0.5, false_alarms * residuals.size / 1000)
    changes = sorted(_search(residuals, 0, residuals.size, chance), key=lambda change: change.place)
    strongest = sorted(changes, key=lambda change: -abs(change.z))
    bounds = [0, *(change.place for change in changes), residuals.size]
    return tuple(
        _finding(values, series, residuals, _Place(first, change, stop, strongest.index(change)))
        for first, change, stop in zip(bounds, changes, bounds[2:], strict=False)
    )


def _residuals(series: MeasuredSeries, steps: Sequence[Step]) -> Floats:
    """Return the distance of each measured value from the median of its level."""
    bounds = np.searchsorted(series.rows, [0, *(step.index for step in steps), series.length])
    residuals = np.empty(series.values.size)
    for first, stop in pairwise(bounds):
        part = series.values[first:stop]
        residuals[first:stop] = np.abs(part - np.median(part)) if part.size else 0.0
    return residuals


def _search(residuals: Floats, first: int, stop: int, chance: float) -> Iterator[_Change]:
    """Yield the changes in ``residuals[first:stop]``."""
    count = stop - first
    if count < 2 * SHORTEST:
        return
    ranks = middle_ranks(residuals[first:stop])
    place, z = largest_shift(-(ranks - ranks.mean()) / math.sqrt(count * (count + 1) / 12))
    p = chance_of_largest(abs(z), SHORTEST / count)
    spreads = [float(np.median(residuals[a:b])) for a, b in ((first, first + place), (first + place, stop))]
    if p > chance or max(spreads) < _LEAST_RATIO * min(spreads):
        return
    yield _Change(first + place, z, p)
    yield from _search(residuals, first, first + place, chance)
    yield from _search(residuals, first + place, stop, chance)


def _finding(values: Floats, series: MeasuredSeries, residuals: Floats, found: _Place) -> Step:
    first, place, stop = found.first, found.change.place, found.stop
    rows = [int(series.rows[first]), int(series.rows[place]), int(series.rows[stop - 1]) + 1]
    before, after = stable_regions(values, rows)
    spread_before, spread_after = (_MAD * float(np.median(residuals[a:b])) for a, b in ((first, place), (place, stop)))
    # The logarithm of a median distance has a standard error of about 1.17 / sqrt(n), for normal noise.
    error = 1.17 * math.sqrt(1 / (place - first) + 1 / (stop - place))
    low, high = (spread_before * (spread_after / spread_before * math.exp(way * 1.96 * error) - 1) for way in (-1, 1))
    sign = 0.5 * (1 + math.erf(abs(math.log(spread_after / spread_before)) / error / math.sqrt(2)))
    estimate = SizeEstimate(spread_before, spread_after, low, high, sign, 0.0, spread_after)
    return build_estimated_step(
        before,
        after,
        estimate,
        kind=FindingKind.NOISE,
        score=abs(found.change.z),
        order=found.order,
        method="default",
        evidence=(
            Check("rank sum of the distances from the level, standardised", abs(found.change.z)),
            Check("chance of a rank sum as large", found.change.p),
            Check("noise before (standard deviation)", spread_before),
            Check("noise after (standard deviation)", spread_after),
        ),
    )
