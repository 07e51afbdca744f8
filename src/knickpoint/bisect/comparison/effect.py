"""Estimate a change from paired differences, and plan how many rounds it takes to find or exclude one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

_NORMAL: Final = NormalDist()
_SCORE_95: Final = 1.96
_POWER_SCORE: Final = 0.8416
"""Normal score of 80 %: the probability with which the detectable change is found."""

CLIP: Final = 3.0
"""Differences count for at most so many times the median size, so that a single wild round decides nothing."""

_LEAST_RESPONSE: Final = 0.5
_FEWEST: Final = 6
"""Pairs from which on there is a 95 % interval without assumptions about the noise."""

_MOST_MEANS: Final = 256
"""Pairs up to which all of their means are formed; with more, the clipped mean and its normal interval are as good."""

_FOLDED: Final = math.sqrt(1 - 2 / math.pi)
"""Standard deviation of |x| where x is standard normal."""

_CLEARLY: Final = 0.6

_PRIOR_PAIRS: Final = 4.0
"""Pairs that a noise known beforehand counts for."""

_LOOKING: Final = 1.08
"""How many times the rounds of a test with one look a test takes that looks all the time, with the same power."""

MOST_PLANNED: Final = 10_000_000

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Effect:
    """A change in the units of the differences.

    ``size`` is the median of the means of all pairs of differences (Hodges and Lehmann 1963), ``low`` and ``high`` the
    95 % interval that belongs to it (Wilcoxon's signed ranks). ``detectable`` is the smallest size that would have been
    found in four cases of five. What is not known yet is infinite.
    """

    size: float
    low: float
    high: float
    detectable: float


def estimate_effect(differences: Array, bar: float) -> Effect:
    """Estimate the effect behind ``differences`` (at least one, none missing); ``bar`` is that of the sign flips."""
    count = len(differences)
    if count > _MOST_MEANS:
        size, low, high = _clipped_mean(differences)
    else:
        first, second = np.triu_indices(count)
        means = np.sort((differences[first] + differences[second]) / 2)
        size = float(np.median(means))
        low, high = _interval(means, count)
    noise = clipped_noise(differences - size)
    needed = _needed(bar, count, _POWER_SCORE)
    return Effect(size, low, high, noise * needed / math.sqrt(count) if needed < math.inf else math.inf)


def _clipped_mean(differences: Array) -> tuple[float, float, float]:
    centre = float(np.median(differences))
    rest = differences - centre
    most = CLIP * float(np.median(np.abs(rest))) or math.inf
    response = max(_LEAST_RESPONSE, float((np.abs(rest) < most).mean()))
    size = centre + float(np.clip(rest, -most, most).mean()) / response
    margin = _SCORE_95 * clipped_noise(differences - size) / math.sqrt(len(differences))
    return size, size - margin, size + margin


def _interval(means: Array, count: int) -> tuple[float, float]:
    """Find the ends of the 95 % interval among the sorted means of pairs."""
    if count < _FEWEST:
        return -math.inf, math.inf
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    rank = max(1, int(count * (count + 1) / 4 - _SCORE_95 * spread))
    return float(means[rank - 1]), float(means[-rank])


def clipped_noise(residuals: Array) -> float:
    """Estimate the noise of one difference, as the mean of clipped differences has it (Huber 1964)."""
    sizes = np.abs(residuals)
    most = CLIP * float(np.median(sizes)) or math.inf
    response = max(_LEAST_RESPONSE, float((sizes < most).mean()))
    return math.sqrt(float(np.square(np.minimum(sizes, most)).sum()) / max(1, len(sizes) - 1)) / response


def blinded_noise(differences: Array, prior: float = math.nan) -> float:
    """Estimate the noise of one difference from the sizes of the differences alone, without their signs.

    What depends on sizes alone may steer the plan of a test by exchanged signs and leave its rate exact (Friede and
    Kieser 2006 for blinded re-estimation). A change that is larger than the noise adds to the sizes, but not to their
    scatter, so that a much smaller scatter counts. ``prior`` is what is known beforehand, nan for nothing.
    """
    count = len(differences)
    if not count:
        return prior
    noise = clipped_noise(differences)
    if count >= _FEWEST:
        sizes = np.abs(differences)
        scatter = float(np.std(np.minimum(sizes, CLIP * float(np.median(sizes))), ddof=1)) / _FOLDED
        noise = scatter if scatter < _CLEARLY * noise else noise
    if math.isnan(prior):
        return noise
    return math.sqrt((_PRIOR_PAIRS * prior**2 + count * noise**2) / (_PRIOR_PAIRS + count))


def _needed(bar: float, count: int, score: float) -> float:
    """Size of a change over the standard error that exceeds ``bar`` with the power of ``score``; at most infinite.

    The deviation counts as Student's t, with the spread of t around its mean.
    """
    if not bar**2 < count:
        return math.inf
    student = bar / math.sqrt(1 - bar**2 / count)
    return student + score * math.sqrt(1 + student**2 / (2 * count))


def planned_rounds(noise: float, find: float, error: float, power: float) -> int:
    """Smallest number of rounds in which a change of ``find`` is found with ``power``, at an error of ``error``.

    ``noise`` is the standard deviation of one difference. For many rounds that is ((z_error + z_power) noise / find)²,
    and a little more for looking at the rounds before they are complete.
    """
    bar, score = _NORMAL.inv_cdf(1 - error), _NORMAL.inv_cdf(power)
    low, high = max(math.floor(bar**2), math.ceil(-math.log2(error)) - 1, 1), MOST_PLANNED
    if not noise * _needed(bar, high, score) <= find * math.sqrt(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if noise * _needed(bar, middle, score) <= find * math.sqrt(middle):
            high = middle
        else:
            low = middle
    return math.ceil(_LOOKING * high)


def conditional_power(shown: Array, size: float, find: float, planned: int, error: float) -> float:
    """Probability that a plan finds a change of ``find``, given the differences ``shown`` so far, which have a ``size``.

    A test that ends below p misses such a change at most 1 / (1 - p) times as often as one that continues (Lan, Simon
    and Halperin 1982).
    """
    left, noise = planned - len(shown), clipped_noise(shown - size)
    if left <= 0 or not noise:
        return 1.0
    expected = (abs(size) * len(shown) + find * left) / noise
    return _NORMAL.cdf((expected - _NORMAL.inv_cdf(1 - error) * math.sqrt(planned)) / math.sqrt(left))


def found_size(noise: float, rounds: int, error: float, power: float) -> float:
    """Smallest change that so many rounds find with ``power``, at an error of ``error``; infinite for too few rounds."""
    bar, count = _NORMAL.inv_cdf(1 - error), int(rounds / _LOOKING)
    return noise * _needed(bar, count, _NORMAL.inv_cdf(power)) / math.sqrt(count) if count else math.inf
