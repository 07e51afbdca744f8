"""Set what the samples of each benchmark have to lie beyond: the bars of all of them, as distances from each level."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family.levels import Levels
from knickpoint.detect.family.past_deviations import agreeing, in_another_order, past_deviations
from knickpoint.detect.family.scale import Scales, estimate_scales
from knickpoint.detect.family.serial import autocorrelation, difference_variance, from_normal_score, side_correlation
from knickpoint.model.unit_names import Better

# Set the bar: how far the furthest of all benchmarks of an unchanged commit strays, but for a stated share of commits.
#
# Histories are too short to show what happens once in a hundred commits, so the bar is extrapolated from the furthest
# deviations of the past, of all benchmarks together. Their excess over a threshold is fitted by a generalised Pareto
# distribution (Pickands 1975; Hosking and Wallis 1987 for the probability-weighted moments), with the uncertainty of
# the fit added to its shape, as in the predictive distribution of an exponential tail.


EXCEEDANCES: Final = 3.0
"""Deviations of a commit, on average, that lie over the threshold."""

MOST: Final = 0.5
"""Share of the deviations that lie over the threshold, at most."""

TOGETHER: Final = 1.5
"""Dispersion of the number of exceedances from which on benchmarks stray together; independent ones have 1."""

POWER: Final = 1.5
"""Exponent of the deviation whose excess is fitted: that of a normal tail grows more slowly, that of a wild one faster.
"""

SHAPE: Final = 0.1
"""Shape of the tail that is assumed where few exceedances say otherwise; 0 is exponential, more is heavier."""

SHAPE_WEIGHT: Final = 10.0
"""Exceedances that the assumed shape counts for."""

SHAPE_ERRORS: Final = 0.7
"""Standard errors by which the shape is raised: a tail that is heavier than it looks costs more than a lighter one
saves.
"""

FEWEST_CLUSTER: Final = 1.5
"""The least number of exceedances that a fit counts for."""

COMPARABLE: Final = 0.5
"""Share of the benchmarks that a commit must have measured to be compared with others."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The tail of the deviations of unchanged commits, as normal scores.

    ``score`` is the bar. ``rate`` is the number of deviations of a commit over ``threshold``; ``scale`` and ``shape``
    are those of their excess, in scores to the power :data:`POWER`. ``commits`` counts the past commits.
    """

    score: float
    threshold: float
    rate: float
    scale: float
    shape: float
    commits: int

    def family_rate(self, score: float) -> float:
        """Return the share of unchanged commits at which any benchmark strays beyond ``score``, at most 1."""
        if score <= self.threshold or not self.scale > 0:
            return min(1.0, self.rate) if score <= self.threshold else 0.0
        excess = score**POWER - self.threshold**POWER
        return min(1.0, float(self.rate * (1 + self.shape * excess / self.scale) ** (-1 / self.shape)))


def find_bar(
    deviations: Array, benchmarks: int, false_positives: float, weight: float, *, repeats: int = 1
) -> Bar | None:
    """Return the bar for new values of so many ``benchmarks``, None without enough past.

    Args:
        deviations: benchmarks x commits, nan for none; upwards is worse.
        benchmarks: how many new values there are.
        false_positives: the share of unchanged commits that may have any benchmark beyond the bar.
        weight: how many independent deviations one deviation counts for, at most 1.
        repeats: how often each commit was replayed.
    """
    per_commit = np.count_nonzero(~np.isnan(deviations), axis=0)
    comparable = deviations[:, (per_commit > 0) & (per_commit >= COMPARABLE * deviations.shape[0])]
    pooled = np.sort(deviations[~np.isnan(deviations)])[::-1]
    commits = comparable.shape[1]
    if commits < 2 or pooled.size < 3:
        return None
    # Threshold: a few exceedances a commit, or the upper half of the furthest of each commit where benchmarks stray
    #     together.
    share = min(MOST, EXCEEDANCES / benchmarks)
    count = max(3, min(int(share * pooled.size), pooled.size - 1))
    threshold = max(float(pooled[min(count, pooled.size - 1)]), 0.0)
    dispersion = _dispersion(comparable, threshold)
    furthest = np.sort(np.nanmax(comparable, axis=0))[::-1]
    if dispersion < TOGETHER or commits < 4:
        beyond, rate, effective = pooled[:count], (count + 1) / pooled.size * benchmarks, count * weight / dispersion
    else:
        count = commits // 2
        threshold = max(float(furthest[count]), 0.0)
        beyond, rate, effective = furthest[:count], (count + 1) / (commits + 1), count * weight / repeats
    # Tail, and its quantile; no lower than what the past commits reached more often than that.
    scale, shape = _fit(np.maximum(beyond, threshold) ** POWER - threshold**POWER, max(effective, FEWEST_CLUSTER))
    wanted = false_positives / rate
    excess = scale / shape * (wanted**-shape - 1) if wanted < 1 else 0.0
    score = float((threshold**POWER + excess) ** (1 / POWER))
    seen = float(furthest[min(int(false_positives * (commits + 1)), commits - 1)])
    return Bar(max(score, seen), threshold, rate, scale, shape, commits)


def _dispersion(deviations: Array, threshold: float) -> float:
    """Return the variance of the number of exceedances of a commit over that of independent benchmarks, at least 1."""
    if deviations.shape[0] < 5:
        return 1.0
    counts = np.count_nonzero(deviations > threshold, axis=0)
    mean = float(counts.mean())
    expected = mean * (1 - mean / deviations.shape[0])
    return max(1.0, float(counts.var(ddof=1)) / expected) if expected > 0 else 1.0


def _fit(excess: Array, effective: float) -> tuple[float, float]:
    """Return scale and shape of the tail, the uncertainty of ``effective`` independent exceedances in the shape."""
    ascending = np.sort(excess)
    mean = float(ascending.mean())
    if not mean > 0:
        return 0.0, SHAPE
    ranks = 1 - (np.arange(1, ascending.size + 1) - 0.35) / ascending.size
    weighted = float((ranks * ascending).mean())
    shape = min(max(2 - mean / max(mean - 2 * weighted, 1e-12), -0.5), 1.0)
    weight = effective + SHAPE_WEIGHT
    shape = (effective * shape + SHAPE_WEIGHT * SHAPE) / weight
    shape = max(0.0, shape + SHAPE_ERRORS * (1 + max(shape, 0.0)) / math.sqrt(weight))
    return mean * (1 - min(shape, 0.9)), shape + 1 / effective


DEPTHS: Final[Mapping[int, int]] = {5: 60, 3: 9, 2: 0}
"""Samples of a side that count → values that a history needs for that, to have enough blocks of as many."""

ORDERS: Final = 6
"""Orders of the commits in which blocks of several values are replayed, where neighbours do not resemble each other."""

REORDERED: Final = 24
"""Values that a history needs for that: the blocks of a shorter one are always the same few values."""

POWER_SCORES: Final[Mapping[int, float]] = {1: 0.842, 2: 1.250, 3: 1.465, 4: 1.606, 5: 1.112}
"""Samples that count → normal score that each needs, so that in 80 % of cases enough of them lie beyond."""

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

        The median of ``scattered`` samples, which lie further apart than the history explains, is not a value that any
        of them stands for: they have to agree, too.
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
        """Return the limit that the samples of one benchmark have to exceed.

        ``side`` is 0 for the worse, 1 for the better.

        The samples of a side that resemble each other say less than as many commits of the history, but never less than
        one value: what they have in common strays as far as a single value does.
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
        """Return the distance from the centre that a single value needs.

        Without any past, more than normal noise has.
        """
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
