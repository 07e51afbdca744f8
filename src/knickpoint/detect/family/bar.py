"""Set the bar: how far the furthest of all benchmarks of an unchanged commit strays, but for a stated share of commits.

Histories are too short to show what happens once in a hundred commits, so the bar is extrapolated from the furthest
deviations of the past, of all benchmarks together. Their excess over a threshold is fitted by a generalised Pareto
distribution (Pickands 1975; Hosking and Wallis 1987 for the probability-weighted moments), with the uncertainty of the
fit added to its shape, as in the predictive distribution of an exponential tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bar", "find_bar"]

EXCEEDANCES: Final = 3.0
"""Deviations of a commit, on average, that lie over the threshold."""

MOST: Final = 0.5
"""Share of the deviations that lie over the threshold, at most."""

TOGETHER: Final = 1.5
"""Dispersion of the number of exceedances from which on benchmarks stray together; independent ones have 1."""

POWER: Final = 1.5
"""Exponent of the deviation whose excess is fitted: that of a normal tail grows more slowly, that of a wild one faster."""

SHAPE: Final = 0.1
"""Shape of the tail that is assumed where few exceedances say otherwise; 0 is exponential, more is heavier."""

SHAPE_WEIGHT: Final = 10.0
"""Exceedances that the assumed shape counts for."""

SHAPE_ERRORS: Final = 0.7
"""Standard errors by which the shape is raised: a tail that is heavier than it looks costs more than a lighter one saves."""

FEWEST_CLUSTER: Final = 1.5
"""The least number of exceedances that a fit counts for."""

COMPARABLE: Final = 0.5
"""Share of the benchmarks that a commit must have measured to be compared with others."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bar:
    """The tail of the deviations of unchanged commits, as normal scores.

    ``score`` is the bar. ``rate`` is the number of deviations of a commit over ``threshold``; ``scale`` and ``shape`` are
    those of their excess, in scores to the power :data:`POWER`. ``commits`` counts the past commits.
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
    # Threshold: a few exceedances a commit, or the upper half of the furthest of each commit where benchmarks stray together.
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
