"""Make series whose truth is known: seeded noise families, with and without steps.

Every series is determined by its family, its seed and its length. Levels are 100 and the noise has a standard deviation
of 2, so a step of ``size`` is ``size`` deviations of the noise.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAMILIES", "INDEPENDENT", "Known", "autocorrelated", "bump", "flip", "noise", "rare", "step"]

Array = NDArray[np.float64]

LEVEL, DEVIATION = 100.0, 2.0


@dataclass(frozen=True, slots=True)
class Known:
    """Hold values and the first points of the new levels, ascending."""

    values: Array
    places: tuple[int, ...]


def _log_normal(rng: np.random.Generator, n: int) -> Array:
    width = 0.75
    mean, variance = math.exp(width**2 / 2), math.expm1(width**2) * math.exp(width**2)
    return (rng.lognormal(0, width, n) - mean) / math.sqrt(variance)


def autocorrelated(rng: np.random.Generator, n: int, phi: float) -> Array:
    """Return AR(1) noise of unit variance."""
    shocks = rng.standard_normal(n) * np.sqrt(1 - phi * phi)
    values = np.empty(n)
    values[0] = rng.standard_normal()
    for t in range(1, n):
        values[t] = phi * values[t - 1] + shocks[t]
    return values


def _two_modes(rng: np.random.Generator, n: int, second: NDArray[np.bool_], share: float) -> Array:
    gap = 4.0
    variance = 1 + gap * gap * share * (1 - share)
    values: Array = (gap * second + rng.standard_normal(n) - gap * share) / np.sqrt(variance)
    return values


def _sticky(rng: np.random.Generator, n: int) -> Array:
    flips = np.cumsum(rng.random(n) < 0.1) + (rng.random() < 0.5)
    return _two_modes(rng, n, flips % 2 == 1, 0.5)


def _outliers(rng: np.random.Generator, n: int) -> Array:
    values = rng.standard_normal(n)
    values[rng.random(n) < 0.02] += 10
    return values


def _weekly(rng: np.random.Generator, n: int) -> Array:
    wave: Array = np.sin(2 * np.pi * (np.arange(n) / 7 + rng.random()))
    return (rng.standard_normal(n) + wave) / math.sqrt(1.5)


FAMILIES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "log-normal": _log_normal,
    "heavy-tailed": lambda rng, n: rng.standard_t(3, n) / np.sqrt(3.0),
    "outliers": _outliers,
    "quantised": lambda rng, n: np.round(rng.standard_normal(n)),
    "bimodal": lambda rng, n: _two_modes(rng, n, rng.random(n) < 0.3, 0.3),
    "AR(1) 0.5": lambda rng, n: autocorrelated(rng, n, 0.5),
    "AR(1) 0.8": lambda rng, n: autocorrelated(rng, n, 0.8),
    "sticky modes": _sticky,
    "weekly wave": _weekly,
}
"""Families of noise of about unit variance; heavy-tailed is Student's t with 3 degrees of freedom."""

INDEPENDENT = ("normal", "log-normal", "heavy-tailed", "outliers", "quantised", "bimodal")
"""The families whose values do not depend on each other."""


def _rng(*key: object) -> np.random.Generator:
    words = [zlib.crc32(str(part).encode()) for part in key]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


def noise(family: str, seed: int, n: int = 200) -> Known:
    """Return ``n`` values without a change."""
    return Known(LEVEL + DEVIATION * FAMILIES[family](_rng("noise", family, n, seed), n), ())


def step(family: str, size: float, seed: int, n: int = 200) -> Known:
    """Return a series with one step of ``size`` deviations, in its middle three fifths, up or down."""
    rng = _rng("step", family, n, seed)
    values = FAMILIES[family](rng, n)
    place = int(rng.integers(n // 5, 4 * n // 5))
    values[place:] += size * rng.choice([-1.0, 1.0])
    return Known(LEVEL + DEVIATION * values, (place,))


def bump(family: str, size: float, width: int, seed: int, n: int = 200) -> Known:
    """Return a series with a change of ``size`` deviations that is reverted ``width`` points later."""
    rng = _rng("bump", family, n, width, seed)
    values = FAMILIES[family](rng, n)
    place = int(rng.integers(n // 5, 4 * n // 5 - width))
    values[place : place + width] += size * rng.choice([-1.0, 1.0])
    return Known(LEVEL + DEVIATION * values, (place, place + width))


def flip(
    levels: tuple[float, ...], seed: int, n: int = 300, *, shares: tuple[float, ...] = (), shift: float = 0.0
) -> Known:
    """Return a series that flips between ``levels``, with noise of 0.5 %; in its middle all levels shift by ``shift``.

    It stays at its level with a probability of 0.9 in the mean; ``shares`` of the time are equal unless given.
    """
    rng = _rng("flip", levels, shares, n, seed)
    weights = np.array(shares or [1 / len(levels)] * len(levels))
    draws = rng.random(n) < 0.1 / (1 - float(np.square(weights).sum()))
    draws[0] = True
    chosen = rng.choice(len(levels), int(draws.sum()), p=weights)
    values = np.array(levels)[chosen[np.cumsum(draws) - 1]] * (1 + 0.005 * rng.standard_normal(n))
    if not shift:
        return Known(values, ())
    values[n // 2 :] *= 1 + shift
    return Known(values, (n // 2,))


def rare(levels: tuple[float, ...], new: float, share: float, seed: int, n: int = 300) -> Known:
    """Return a series that flips as :func:`flip`, and whose values visit the level ``new`` at random in its second half."""
    values = flip(levels, seed, n).values.copy()
    rng = _rng("rare", levels, new, share, n, seed)
    visits = (np.arange(n) >= n // 2) & (rng.random(n) < share)
    values[visits] = new * (1 + 0.005 * rng.standard_normal(int(visits.sum())))
    return Known(values, (n // 2,))
