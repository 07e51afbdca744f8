"""Set what the samples of each benchmark have to lie beyond: the bars of all of them, as distances from each level."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family.bar import Bar, find_bar
from knickpoint.detect.family.levels import Levels
from knickpoint.detect.family.past_deviations import agreeing, in_another_order, past_deviations
from knickpoint.detect.family.scale import Scales, estimate_scales
from knickpoint.detect.family.serial import (
    autocorrelation,
    difference_variance,
    from_normal_score,
    side_correlation,
)
from knickpoint.model.unit import Better

__all__ = ["POWER_SCORES", "UPWARDS", "Limit", "Limits", "t_quantile"]

DEPTHS: Final[Mapping[int, int]] = {5: 60, 3: 9, 2: 0}
"""Samples of a side that count → values that a history needs for that, to have enough blocks of as many."""

ORDERS: Final = 6
"""Orders of the commits in which blocks of several values are replayed, where neighbours do not resemble each other."""

REORDERED: Final = 24
"""Values that a history needs for that: the blocks of a shorter one are always the same few values."""

POWER_SCORES: Final[Mapping[int, float]] = {1: 0.842, 2: 1.250, 3: 1.465, 4: 1.606, 5: 1.112}
"""Samples that count → normal score that each of them needs, so that in 80 % of cases as many lie beyond as have to."""

_SHARED_TAIL: Final = 1.5
"""What the samples share has the tail of single values from 1 / 1.5 of the variance on; below that, in part."""

_UNKNOWN: Final = 1.5
"""Factor over the bar of normal noise where no past shows any."""

UPWARDS: Final[Mapping[Better, float]] = {Better.LOWER: 1.0, Better.HIGHER: -1.0, Better.UNKNOWN: math.nan}
"""The sign of a change for the worse; nan where both are."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Limit:
    """How far from the centre the samples of a benchmark have to lie, ``depth`` of which count: beyond ``reach``.

    ``error`` is that of the median of the samples, and ``unit`` the distance that a score of ``bar`` is a multiple of.
    ``detectable`` is the change that is found in 80 % of cases.
    """

    reach: float
    depth: int
    error: float
    unit: float
    bar: Bar | None
    detectable: float

    def agreed(self, distances: Array, *, scattered: bool = False) -> float:
        """Return the distance that decides: that of the median sample if one counts, else what the samples agree on.

        The median of ``scattered`` samples, which lie further apart than the history explains, is no value that any of
        them stands for: they have to agree, too.
        """
        depth = max(self.depth, 2) if scattered else self.depth
        if depth == 1:
            return float(np.median(distances))
        return float(np.sort(distances)[agreeing(distances.size, depth)])


@dataclass(frozen=True)
class Limits:
    """Benchmarks with enough history, their new samples, and the bars that follow from all of them."""

    levels: list[Levels]
    samples: list[Array]
    directions: list[Better]
    kinds: list[Hashable]
    columns: int
    false_positives: float

    @cached_property
    def scales(self) -> Scales:
        """Level and noise of each benchmark."""
        return estimate_scales(self.levels, self.kinds)

    @cached_property
    def phi(self) -> float:
        """The autocorrelation of the histories."""
        return autocorrelation(self.levels)

    @cached_property
    def longest(self) -> int:
        """The number of values of the longest history."""
        return max(row.values.size for row in self.levels)

    @cached_property
    def depths(self) -> list[int]:
        """How many samples of each benchmark count: no more than the histories have independent blocks of."""
        most = next(depth for depth, least in DEPTHS.items() if self.longest >= least)
        return [min(values.size, most) for values in self.samples]

    @cached_property
    def resemblance(self) -> float:
        """How much the samples of the new side resemble each other."""
        depth = max(self.depths)
        if depth < 2:
            return 0.0
        return side_correlation([row.values for row in self.levels], self.samples, depth)

    @cached_property
    def commits(self) -> int:
        """How many past commits were replayed."""
        bar = self._bars(1)[0]
        return bar.commits if bar else 0

    @cached_property
    def _known_bars(self) -> dict[int, tuple[Bar | None, Bar | None]]:
        return {}

    def _bars(self, depth: int) -> tuple[Bar | None, Bar | None]:
        """Return the bars for changes for the worse and for the better, of blocks of ``depth`` samples."""
        if depth not in self._known_bars:
            repeats = ORDERS if depth > 1 and not self.phi and self.longest >= REORDERED else 1
            rises, falls = np.concatenate([self._scores(depth, repeat) for repeat in range(repeats)], axis=2)
            signs = np.array([UPWARDS[way] for way in self.directions])[:, None]
            either = np.fmax(rises, falls)
            worse = np.where(np.isnan(signs), either, np.where(signs > 0, rises, falls))
            better = np.where(np.isnan(signs), np.nan, np.where(signs > 0, falls, rises))
            weight = (1 - self.phi) / (1 + self.phi) * 2 / (1 + depth)
            count = len(self.levels)
            self._known_bars[depth] = (
                find_bar(worse, count, self.false_positives, weight, repeats=repeats),
                find_bar(better, count, self.false_positives, weight, repeats=repeats),
            )
        return self._known_bars[depth]

    def _scores(self, depth: int, repeat: int) -> Array:
        """Return the deviations of blocks of the past: in the order of the commits first, then in others."""
        levels = self.levels
        if repeat:
            levels = in_another_order(levels, np.random.default_rng(repeat).permutation(self.columns))
        return past_deviations(levels, self.scales, self.columns, depth, self.phi)

    def error(self, place: int, depth: int) -> float:
        """Return the standard error of the median of ``depth`` samples less the centre."""
        count = int(self.scales.count[place])
        ratio = difference_variance(count, depth, 0, count, self.phi) if count > 1 else 2.0
        return math.sqrt(float(self.scales.variance[place]) * ratio)

    def limit(self, place: int, side: int) -> Limit:
        """Return what the samples of one benchmark have to lie beyond; ``side`` is 0 for the worse, 1 for the better.

        The samples of a side that resemble each other say less than as many commits of the history, but never less than one
        value: what they have in common strays as far as a single value does.
        """
        freedom, depth = float(self.scales.freedom[place]), self.depths[place]
        alone, far = self.error(place, 1), self.single(place, side)
        several = self._bars(depth)[side] if depth > 1 else None
        single = Limit(far, 1, alone, alone, self._bars(1)[side], far + t_quantile(POWER_SCORES[1], freedom) * alone)
        if several is None:
            return single
        common, error, score = self.resemblance, self.error(place, depth), t_quantile(several.score, freedom)
        # What the samples share strays as normal noise does, and the more they share, the more as single values do.
        normal = min(far, t_quantile(self._normal_score, freedom) * alone)
        weight = min(_SHARED_TAIL * common, 1.0)
        shared = far**weight * normal ** (1 - weight)
        reach = math.sqrt((1 - common) * (score * error) ** 2 + common * shared**2)
        if reach >= far:
            return single
        spread = math.sqrt((1 - common) * error**2 + common * max(alone, error) ** 2)
        power = (1 - common) * POWER_SCORES[depth] + common * POWER_SCORES[1]
        unit = reach / score if score > 0 else error
        return Limit(reach, depth, spread, unit, several, reach + t_quantile(power, freedom) * alone)

    def single(self, place: int, side: int = 0) -> float:
        """Return how far a single value has to lie from the centre; without any past, further than normal noise does."""
        bar = self._bars(1)[side]
        score = bar.score if bar else _UNKNOWN * self._normal_score
        return t_quantile(score, float(self.scales.freedom[place])) * self.error(place, 1)

    @property
    def _normal_score(self) -> float:
        """The bar of normal noise, as a score."""
        return math.sqrt(2 * math.log(len(self.levels) / self.false_positives))


def t_quantile(score: float, freedom: float) -> float:
    """Return the quantile of Student's t that has a normal score."""
    return float(from_normal_score(score, np.array([freedom]))[0])
