"""Answers of probes that every search of a comparison sees alike: the k-th probe of a place has one answer for each search.

The answers are a hash of (seed, search, place, k), so they depend neither on the order of probes nor on what else was
asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["CONTENTION", "Answers", "Noise", "normal", "uniform"]

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


class Noise(Enum):
    """A kind of noise. Its bulk is about as wide as that of standard normal noise.

    T3 is Student's t with 3 degrees of freedom (deviation 1.7); OUTLIERS moves 5 % of normal values by 10 deviations,
    up or down; MODES has two modes of deviation 0.6, 1.6 apart; LOGNORMAL has a long upper tail (deviation 1, mean 0);
    WIDER doubles the deviation with the change, NARROWER halves it.

    The others are those of machines that do other work. The deviation is 1 % of the level. BURSTS makes a share of the
    probes 1.3 to 2 times slower; SECOND puts a share of them into a mode that is 8 deviations higher, STICKY for five
    probes in a row. The search was not calibrated on TAILED, bursts whose size is exponential with a mean of 40 %, and
    THREE, three modes.
    """

    NORMAL = "normal"
    T3 = "t3"
    OUTLIERS = "5 % outliers"
    MODES = "two modes"
    LOGNORMAL = "lognormal"
    WIDER = "twice the noise after"
    NARROWER = "half the noise after"
    BURSTS_5 = "5 % bursts"
    BURSTS_10 = "10 % bursts"
    BURSTS_20 = "20 % bursts"
    SECOND_10 = "10 % in a second mode"
    SECOND_25 = "25 % in a second mode"
    SECOND_40 = "40 % in a second mode"
    STICKY_25 = "25 % in a sticky second mode"
    STICKY_40 = "40 % in a sticky second mode"
    TAILED = "15 % exponential bursts"
    THREE = "three modes"


_LOGNORMAL_SHAPE: Final = 0.8

_UPPER: Final = 1.959964
"""A standard normal number is beyond this, up or down, with 5 %."""


_LEVEL: Final = 100.0
"""The level of a machine that does other work, in deviations;"""

_MODE: Final = 8.0
"""and how far its second mode is above it."""

_DWELL: Final = 5
"""Probes in a row that share a sticky mode."""

_BURSTS: Final = {Noise.BURSTS_5: 0.05, Noise.BURSTS_10: 0.1, Noise.BURSTS_20: 0.2, Noise.TAILED: 0.15}
_MODES: Final = {Noise.SECOND_10: 0.1, Noise.SECOND_25: 0.25, Noise.SECOND_40: 0.4}
_STICKY: Final = {Noise.STICKY_25: 0.25, Noise.STICKY_40: 0.4}
CONTENTION: Final = (*_BURSTS, *_MODES, *_STICKY, Noise.THREE)
"""The kinds of noise of machines that do other work."""

_STEADY: Final = 4
"""Number of the draws that last for some probes."""


def _share(standard: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of standard normal numbers that are below one (logistic)."""
    return np.asarray(1 / (1 + np.exp(-1.702 * standard)))


def _contention(kind: Noise, draw: Callable[[int], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return how far other work of the machine moves values."""
    if kind in _BURSTS:
        size = -0.4 * np.log(_share(draw(2))) if kind is Noise.TAILED else 0.3 + 0.7 * _share(draw(2))
        return np.asarray(_LEVEL * size * (_share(draw(1)) < _BURSTS[kind]))
    if kind is Noise.THREE:
        mode = _share(draw(1))
        return np.asarray(4.0 * (mode > 0.6) + 7.0 * (mode > 0.85))
    share = _STICKY.get(kind)
    inside = _share(draw(1)) < _MODES[kind] if share is None else _share(draw(_STEADY)) < share
    return np.asarray(_MODE * inside)


def _noise(kind: Noise, after: NDArray[np.bool_], draw: Callable[[int], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return noise of a kind from standard normal numbers; ``draw(k)`` makes the k-th set of them."""
    base = draw(0)
    match kind:
        case Noise.T3:
            return np.asarray(base / np.sqrt((draw(1) ** 2 + draw(2) ** 2 + draw(3) ** 2) / 3))
        case Noise.OUTLIERS:
            return np.asarray(base + 10 * (draw(1) > _UPPER) - 10 * (draw(1) < -_UPPER))
        case Noise.MODES:
            return np.asarray(0.6 * base + 0.8 * np.sign(draw(1)))
        case Noise.LOGNORMAL:
            variance = _LOGNORMAL_SHAPE**2
            spread = np.sqrt(np.expm1(variance) * np.exp(variance))
            return np.asarray((np.exp(_LOGNORMAL_SHAPE * base) - np.exp(variance / 2)) / spread)
        case Noise.WIDER | Noise.NARROWER:
            return np.asarray(base * np.where(after, 2.0 if kind is Noise.WIDER else 0.5, 1.0))
        case _:
            return base + _contention(kind, draw) if kind in CONTENTION else base


def _repeatable(random: np.random.Generator, count: int) -> Callable[[int], NDArray[np.float64]]:
    """Return a function that gives the k-th of five sets of ``count`` standard normal numbers."""
    sets = random.standard_normal((_STEADY + 1, count))
    return lambda number: sets[number]


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of one cell of a comparison.

    Places from the culprit of a search on are bad; a culprit beyond the last place means that none is. ``delta`` is how
    far the bad level is from the good one, in standard deviations of single values. ``error`` is the probability that a
    probe that passes or fails is wrong. ``noise`` is the kind of noise of values.
    """

    seed: int
    delta: float = 0.0
    error: float = 0.0
    noise: Noise = Noise.NORMAL

    def values(
        self, search: Counts, place: Counts, k: Counts, culprit: Counts, number: Counts | None = None
    ) -> NDArray[np.float64]:
        """Return what the k-th probes of places measure: 0 plus noise before the culprit, ``delta`` plus noise after.

        ``number`` counts the probes of each search, for noise that lasts.
        """
        after: NDArray[np.bool_] = place >= culprit
        block = np.zeros_like(k) if number is None else number // _DWELL

        def draw(of: int) -> NDArray[np.float64]:
            at = (block, np.zeros_like(k)) if of == _STEADY else (place, k)
            return normal(self.seed + 7 * of, search, *at)

        return self.delta * after + _noise(self.noise, after, draw)

    def history(self, search: int, count: int, *, after: bool, clean: bool = False) -> NDArray[np.float64]:
        """Return ``count`` values of the history of one level.

        ``clean`` has normal noise of deviation 1, whatever the kind.
        """
        random = np.random.default_rng((self.seed, search, int(after)))
        sides = np.full(count, after)
        kind = Noise.NORMAL if clean else self.noise
        return self.delta * sides + _noise(kind, sides, _repeatable(random, count))

    def passed(self, search: Counts, place: Counts, k: Counts, culprit: Counts) -> NDArray[np.bool_]:
        """Return whether the k-th probes of places pass."""
        wrong = uniform(self.seed, search, place, k) < self.error
        passed: NDArray[np.bool_] = (place < culprit) ^ wrong
        return passed
