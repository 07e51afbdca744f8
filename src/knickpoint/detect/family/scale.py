"""Estimate the noise of each benchmark, with what the other benchmarks of its kind say about it.

A short history knows its own noise badly. The variances of many benchmarks are scattered around a common one; how much
they scatter says how much weight the common one deserves. Source: G. K. Smyth, "Linear models and empirical Bayes
methods for assessing differential expression in microarray experiments", Statistical Applications in Genetics and
Molecular Biology 3 (2004), sections 3 and 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family.levels import Levels

FEWEST: Final = 5
"""Noisy benchmarks that a common variance needs."""

MOST_WEIGHT: Final = 200.0
"""Degrees of freedom of a common variance, at most."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prior:
    """A common relative variance, (standard deviation / level)^2, and its weight in degrees of freedom; 0 for none."""

    variance: float = 0.0
    freedom: float = 0.0

    def moderate(self, variance: Array, freedom: Array | float, level: Array) -> Array:
        """Return the variances of benchmarks with the common one mixed in; ``level`` has their centres."""
        total = self.freedom + freedom
        mixed: Array = (self.freedom * self.variance * _square(level) + freedom * variance) / np.maximum(total, 1.0)
        return mixed


@dataclass(frozen=True, slots=True)
class Scales:
    """Level and noise of benchmarks; all arrays are 1-D, one value each.

    ``centre`` is the median of the current level and ``count`` the number of its values; ``variance`` is that of a
    single value, with ``freedom`` degrees of freedom. ``priors`` are the common variances, mixed in already.
    """

    centre: Array
    count: NDArray[np.intp]
    variance: Array
    freedom: Array
    priors: tuple[Prior, ...]


def estimate_scales(levels: Sequence[Levels], kinds: Sequence[Hashable]) -> Scales:
    """Return level and noise of benchmarks; those of one of ``kinds`` have comparable noise.

    Outliers are not set aside: a benchmark that had spikes may have one again.
    """
    centre = np.array([float(np.median(row.current)) for row in levels])
    own = [_own_variance(row, middle) for row, middle in zip(levels, centre, strict=True)]
    variance, freedom = np.array([each for each, _ in own]), np.array([float(each) for _, each in own])
    members: dict[Hashable, list[int]] = {}
    for index, kind in enumerate(kinds):
        members.setdefault(kind, []).append(index)
    priors = [Prior()] * len(levels)
    for rows in members.values():
        prior = common_variance((variance / _square(centre))[rows], freedom[rows])
        variance[rows] = prior.moderate(variance[rows], freedom[rows], centre[rows])
        freedom[rows] += prior.freedom
        for row in rows:
            priors[row] = prior
    return Scales(
        centre, np.array([row.current.size for row in levels]), variance, np.maximum(freedom, 1), tuple(priors)
    )


def _square(level: Array) -> Array:
    """Return the squared levels; 1 for a level of 0, to which no noise is relative."""
    return np.where(level != 0, level * level, 1.0)


def _own_variance(levels: Levels, centre: float) -> tuple[float, int]:
    """Return the variance around the medians of all levels, scaled to the current level, and its degrees of freedom."""
    total, freedom = 0.0, 0
    for part, _ in levels.parts:
        if part.size < 2:
            continue
        middle = float(np.median(part))
        ratio = (centre / middle) ** 2 if centre * middle > 0 else 1.0
        total += ratio * float(np.square(part - middle).sum())
        freedom += part.size - 1
    return total / max(freedom, 1), freedom


def common_variance(variance: Array, freedom: Array) -> Prior:
    """Fit the common variance and its weight by the moments of the logarithms.

    Benchmarks without noise have no part.
    """
    noisy = (variance > 0) & (freedom > 0)
    if np.count_nonzero(noisy) < FEWEST:
        return Prior()
    halves = freedom[noisy] / 2
    logs = np.log(variance[noisy]) - np.array([_digamma(half) - math.log(half) for half in halves])
    mean = float(logs.mean())
    excess = float(logs.var(ddof=1)) - float(np.mean([_trigamma(half) for half in halves]))
    if excess <= 0:
        return Prior(math.exp(mean), MOST_WEIGHT)
    half = _inverse_trigamma(excess)
    return Prior(math.exp(mean + _digamma(half) - math.log(half)), min(2 * half, MOST_WEIGHT))


def _digamma(x: float) -> float:
    """Return the derivative of log Γ at ``x`` > 0, by the recurrence and the asymptotic series."""
    shift = 0.0
    while x < 10:
        shift, x = shift - 1 / x, x + 1
    return shift + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4)


def _trigamma(x: float) -> float:
    """Return the second derivative of log Γ at ``x`` > 0, in the same way."""
    shift = 0.0
    while x < 10:
        shift, x = shift + 1 / x**2, x + 1
    return shift + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5)


def _inverse_trigamma(value: float) -> float:
    """Invert the falling function trigamma at ``value``, by bisection to 1e-6 relative."""
    low, high = 1e-6, 1e6
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low * high)
        if _trigamma(middle) > value:
            low = middle
        else:
            high = middle
    return high
