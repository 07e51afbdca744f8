"""Answers of probes that every search of a comparison sees alike: the k-th probe of a place has one answer for each search.

The answers are a hash of (seed, search, place, k), so they depend neither on the order of probes nor on what else was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Answers", "normal", "uniform"]

Counts = NDArray[np.int64]

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return SplitMix64 of each number (Steele, Lea, Flood 2014)."""
    value = value + _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


def uniform(seed: int, search: Counts, place: Counts, k: Counts) -> NDArray[np.float64]:
    """Return numbers in (0, 1), one for each search, place and k; the arrays are broadcast."""
    with np.errstate(over="ignore"):
        mixed = _mix(np.asarray(search, np.uint64) + np.uint64(seed) * _FIRST)
        mixed = _mix(mixed ^ np.asarray(place, np.uint64) * _SECOND)
        mixed = _mix(mixed ^ np.asarray(k, np.uint64) * _GOLDEN)
    numbers: NDArray[np.float64] = ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return numbers


def normal(seed: int, search: Counts, place: Counts, k: Counts) -> NDArray[np.float64]:
    """Return standard normal numbers, one for each search, place and k."""
    radius = np.sqrt(-2 * np.log(uniform(seed, search, place, k)))
    numbers: NDArray[np.float64] = radius * np.cos(2 * np.pi * uniform(seed + 1, search, place, k))
    return numbers


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of one cell of a comparison.

    Places from the culprit of a search on are bad; a culprit beyond the last place means that none is. ``delta`` is how far
    the bad level is from the good one, in standard deviations of single values. ``error`` is the probability that a probe
    that passes or fails is wrong.
    """

    seed: int
    delta: float = 0.0
    error: float = 0.0

    def values(self, search: Counts, place: Counts, k: Counts, culprit: Counts) -> NDArray[np.float64]:
        """Return what the k-th probes of places measure: 0 plus noise before the culprit, ``delta`` plus noise after."""
        return normal(self.seed, search, place, k) + self.delta * (place >= culprit)

    def passed(self, search: Counts, place: Counts, k: Counts, culprit: Counts) -> NDArray[np.bool_]:
        """Return whether the k-th probes of places pass."""
        wrong = uniform(self.seed, search, place, k) < self.error
        passed: NDArray[np.bool_] = (place < culprit) ^ wrong
        return passed
