"""Find lasting changes of the noise: where values begin to lie further from their level, or nearer to it.

The distances of the values from the median of their level are ranked, so outliers count little. The place with the
largest standardised rank sum is a change when the largest of all places is too large for chance: Miller and Siegmund,
"Maximally selected chi square statistics", Biometrics 38 (1982). The search goes on to either side of it.

How much noise there is on a side is the median distance, as a standard deviation. Of values that are rounded to a few
levels that is 0 or a whole level, so a little more noise would look like noise where none was. Around few levels it is
their standard deviation without outliers, and no less than half of the rounding (:mod:`knickpoint.detect.outliers`).
Only where values are not rounded, a side is without any noise, and the other one differs from it whatever its noise is.
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
from knickpoint.detect.outliers import find_outliers_of_noise, rounding
from knickpoint.detect.patterns.pattern import SHORTEST, chance_of_largest, largest_shift, middle_ranks
from knickpoint.detect.steps import build_estimated_step, stable_regions
from knickpoint.model.distribution import MAD
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Check, SizeEstimate, Step
from knickpoint.native.regions import median_of

_LEAST_RATIO: Final = 1.5
"""How many times larger the noise of one side is, at least."""


_COARSE: Final = 3
"""Roundings that a median distance has to reach for its own rounding to matter little."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of the noise before the measured value ``place``: its standardised rank sum, and the chance of that."""

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

    There are none where the values drift, because their distances from a level say nothing there. ``false_alarms`` is
    how many there may be per 1,000 commits of noise that does not change. The size is the difference of the robust
    standard deviations, and the relative size is that over the one before.
    """
    if any(step.kind is FindingKind.DRIFT for step in steps):
        return ()
    deviations = _deviations(series, steps)
    if deviations.size < 2 * SHORTEST or not deviations.any():
        return ()
    noise = _Noise(deviations, rounding(series.values))
    chance = min(0.5, false_alarms * deviations.size / 1000)
    changes = sorted(_search(noise, 0, deviations.size, chance), key=lambda change: change.place)
    strongest = sorted(changes, key=lambda change: -abs(change.z))
    bounds = [0, *(change.place for change in changes), deviations.size]
    return tuple(
        _finding(values, series, noise, _Place(first, change, stop, strongest.index(change)))
        for first, change, stop in zip(bounds, changes, bounds[2:], strict=False)
    )


def _deviations(series: MeasuredSeries, steps: Sequence[Step]) -> Floats:
    """Return each measured value less the median of its level."""
    bounds = np.searchsorted(series.rows, [0, *(step.index for step in steps), series.length])
    deviations = np.empty(series.values.size)
    for first, stop in pairwise(bounds):
        part = series.values[first:stop]
        deviations[first:stop] = part - median_of(part) if part.size else 0.0
    return deviations


@dataclass(frozen=True, slots=True)
class _Noise:
    """The ``deviations`` of values that are ``rounded_to`` a few levels, 0 where they are not."""

    deviations: Floats
    rounded_to: float

    def distances(self, first: int, stop: int) -> Floats:
        """Return the distances of the values from ``first`` to ``stop`` from their level."""
        return np.abs(self.deviations[first:stop])

    def of_sides(self, first: int, place: int, stop: int) -> tuple[float, float]:
        """Return the noise before and after ``place`` as standard deviations, both measured alike."""
        bounds = (first, place), (place, stop)
        middles = [median_of(self.distances(*side)) for side in bounds]
        if min(middles) >= _COARSE * self.rounded_to:
            return MAD * middles[0], MAD * middles[1]
        before, after = (self._around_few_levels(self.deviations[begin:end]) for begin, end in bounds)
        return before, after

    def _around_few_levels(self, side: Floats) -> float:
        found = find_outliers_of_noise(side, most=max(1, side.size // 10), alpha=0.01, rounded_to=self.rounded_to)
        kept = np.delete(side, list(found.indices[: found.count]))
        return float(kept.std())

    def differ(self, before: float, after: float) -> bool:
        """Return True if two standard deviations differ by what calls for action, whatever rounding hides of them."""
        low, high = sorted(max(each, self.rounded_to / 2) for each in (before, after))
        return high > 0 and high >= _LEAST_RATIO * low


def _search(noise: _Noise, first: int, stop: int, chance: float) -> Iterator[_Change]:
    """Yield the changes among the values from ``first`` to ``stop``."""
    count = stop - first
    if count < 2 * SHORTEST:
        return
    ranks = middle_ranks(noise.distances(first, stop))
    place, z = largest_shift(-(ranks - ranks.mean()) / math.sqrt(count * (count + 1) / 12))
    p = chance_of_largest(abs(z), SHORTEST / count)
    if p > chance or not noise.differ(*noise.of_sides(first, first + place, stop)):
        return
    yield _Change(first + place, z, p)
    yield from _search(noise, first, first + place, chance)
    yield from _search(noise, first + place, stop, chance)


def _finding(values: Floats, series: MeasuredSeries, noise: _Noise, found: _Place) -> Step:
    first, place, stop = found.first, found.change.place, found.stop
    rows = [int(series.rows[first]), int(series.rows[place]), int(series.rows[stop - 1]) + 1]
    region_before, region_after = stable_regions(values, rows)
    before, after = noise.of_sides(first, place, stop)
    return build_estimated_step(
        region_before,
        region_after,
        _estimate(before, after, place - first, stop - place),
        kind=FindingKind.NOISE,
        score=abs(found.change.z),
        order=found.order,
        method="default",
        evidence=(
            Check("rank sum of the distances from the level, standardised", abs(found.change.z)),
            Check("chance of a rank sum as large", found.change.p),
            Check("noise before (standard deviation)", before),
            Check("noise after (standard deviation)", after),
        ),
    )


def _estimate(before: float, after: float, values_before: int, values_after: int) -> SizeEstimate:
    """Return the size of a change from one standard deviation to another, each of so many values."""
    # The logarithm of a median distance has a standard error of about 1.17 / sqrt(n), for normal noise.
    if not before > 0 or not after > 0:
        error = 1.17 / math.sqrt(values_after if after > 0 else values_before)
        low, high = sorted((after - before) * math.exp(way * 1.96 * error) for way in (-1, 1))
        return SizeEstimate(before, after, low, high, 1.0, 0.0, after)
    error = 1.17 * math.sqrt(1 / values_before + 1 / values_after)
    low, high = (before * (after / before * math.exp(way * 1.96 * error) - 1) for way in (-1, 1))
    sign = 0.5 * (1 + math.erf(abs(math.log(after / before)) / error / math.sqrt(2)))
    return SizeEstimate(before, after, low, high, sign, 0.0, after)
