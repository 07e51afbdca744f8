"""Estimate one change from paired differences: its size, its interval, and the change that would have been found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Effect", "estimate_effect"]

_SCORE_95: Final = 1.96
_SCORE_99: Final = 2.576
_POWER_SCORE: Final = 0.8416
"""Normal score of 80 %: the probability with which the detectable change is found."""

_CLIP: Final = 3.0
_FEWEST: Final = 6
"""Pairs from which on there is a 95 % interval without assumptions about the noise."""

_FEWEST_WIDE: Final = 8
"""Pairs from which on there is one of 99 %."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Effect:
    """A change in the units of the differences.

    ``size`` is the median of the means of all pairs of differences (Hodges and Lehmann 1963), ``low`` and ``high`` the 95 %
    interval that belongs to it (Wilcoxon's signed ranks), ``widest`` the largest size in the 99 % interval. ``detectable``
    is the smallest size that would have been found in four cases of five. What is not known yet is infinite.
    """

    size: float
    low: float
    high: float
    widest: float
    detectable: float


def estimate_effect(differences: Array, bar: float) -> Effect:
    """Return the effect behind ``differences`` (at least one, none missing); ``bar`` is that of the sign flips."""
    count = len(differences)
    first, second = np.triu_indices(count)
    means = np.sort((differences[first] + differences[second]) / 2)
    size = float(np.median(means))
    low, high = _interval(means, count, _SCORE_95, _FEWEST)
    widest = max(abs(end) for end in _interval(means, count, _SCORE_99, _FEWEST_WIDE))
    return Effect(size, low, high, widest, _detectable(differences - size, bar))


def _interval(means: Array, count: int, score: float, fewest: int) -> tuple[float, float]:
    """Return the ends of the interval among the sorted means of pairs."""
    if count < fewest:
        return -math.inf, math.inf
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    rank = max(1, int(count * (count + 1) / 4 - score * spread))
    return float(means[rank - 1]), float(means[-rank])


def _detectable(residuals: Array, bar: float) -> float:
    """Return the change that exceeds ``bar`` in four cases of five, with the noise of ``residuals``."""
    count = len(residuals)
    if not bar**2 < count:
        return math.inf
    sizes = np.abs(residuals)
    most = _CLIP * float(np.median(sizes)) or math.inf
    noise = math.sqrt(float(np.square(np.minimum(sizes, most)).sum()) / max(1, count - 1))
    # The deviation as Student's t, and the spread of t around its mean.
    student = bar / math.sqrt(1 - bar**2 / count)
    return (student + _POWER_SCORE * math.sqrt(1 + student**2 / (2 * count))) * noise / math.sqrt(count)
