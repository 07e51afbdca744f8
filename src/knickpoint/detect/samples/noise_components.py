"""Estimate the noise of samples: within a run, between the runs of a commit, and between commits.

The samples of a run share what is odd about the run, and the runs of a commit share the commit, so ten samples of one run are not
ten measurements of the commit. All estimates are medians of squares, over what their median is for normal noise: a few odd
runs or commits, or a step, change them little.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["NoiseComponents", "estimate_components", "robust_level"]

_MOST_PAIRED: Final = 64
"""Samples of which all pairs are compared; of more, as many quantiles take their place."""

_CHI_SQUARE_MEDIAN: Final = 0.4549
"""Median of the square of a standard normal number."""

_HALVINGS: Final = 60
"""Steps of the search for the noise between commits."""


@dataclass(frozen=True, slots=True)
class NoiseComponents:
    """Variances of the three kinds of noise; each is 0 where nothing was measured twice.

    Attributes:
        within: of the samples of a run around the level of the run.
        runs: of the levels of the runs of a commit, beyond what ``within`` explains.
        commits: of the values of neighbouring commits, beyond what the others explain.
    """

    within: float
    runs: float
    commits: float

    def of_samples(self, sizes: Sequence[int]) -> float:
        """Return the variance of the mean of runs with so many samples each, around the level of their commit."""
        return sum(self.runs + self.within / size for size in sizes) / len(sizes) ** 2


@cache
def _pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two places of each pair of ``count`` samples, each with itself included."""
    first, second = np.triu_indices(count)
    return first, second


def robust_level(samples: NDArray[np.float64]) -> float:
    """Return the median of the means of all pairs of samples.

    It resists a quarter of outliers, and is as precise as the mean of 95 % of the samples: Hodges and Lehmann, "Estimates of
    location based on rank tests", Annals of Mathematical Statistics 34 (1963). O(n log n) time beyond 64 samples.
    """
    if samples.size <= 2:
        return float(samples.mean())
    if samples.size > _MOST_PAIRED:
        samples = np.quantile(samples, (np.arange(_MOST_PAIRED) + 0.5) / _MOST_PAIRED)
    first, second = _pairs(samples.size)
    return float(np.median((samples[first] + samples[second]) / 2))


def _typical_variance(groups: Iterable[NDArray[np.float64]]) -> float:
    """Return the median of the variances of groups, each over its median for normal noise; 0 without groups of two."""
    found = []
    for group in groups:
        freedom = group.size - 1
        if freedom:
            # Median of chi-square over its mean: Wilson and Hilferty (1931).
            usual = (1 - 2 / (9 * freedom)) ** 3
            found.append(float(group.var(ddof=1)) / usual)
    return float(np.median(found)) if found else 0.0


def _between_commits(levels: NDArray[np.float64], known: NDArray[np.float64]) -> float:
    """Return the variance that neighbouring ``levels`` have beyond the ``known`` variance of each."""
    squares, noise = np.square(np.diff(levels)), known[1:] + known[:-1]
    if not squares.size:
        return 0.0
    low, high = 0.0, float(squares.max()) / _CHI_SQUARE_MEDIAN
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        scale = 2 * middle + noise
        above = squares > _CHI_SQUARE_MEDIAN * scale
        low, high = (middle, high) if 2 * int(above.sum()) > above.size else (low, middle)
    return low if low > math.ulp(high) else 0.0


def estimate_components(runs_of: Sequence[Sequence[NDArray[np.float64]]]) -> NoiseComponents:
    """Estimate the noise of the samples of commits in their order; ``runs_of[k]`` are the runs of commit ``k``, at least one."""
    within = _typical_variance(run for runs in runs_of for run in runs)
    levels = [np.array([robust_level(run) for run in runs]) for runs in runs_of]
    # What runs of a commit differ by, less what their samples explain.
    repeated = [number for number, runs in enumerate(runs_of) if len(runs) > 1]
    explained = [within * float(np.mean([1 / run.size for run in runs_of[number]])) for number in repeated]
    total = _typical_variance(levels[number] for number in repeated)
    between_runs = max(0.0, total - float(np.median(explained))) if repeated else 0.0
    parts = NoiseComponents(within, between_runs, 0.0)
    known = np.array([parts.of_samples([run.size for run in runs]) for runs in runs_of])
    means = np.array([float(level.mean()) for level in levels])
    return NoiseComponents(within, between_runs, _between_commits(means, known))
