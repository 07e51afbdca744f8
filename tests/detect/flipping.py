"""Make series that flip between levels, with noise of half a percent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["flip", "visits"]

NOISE = 0.005


def flip(
    seed: int, n: int = 300, *, levels: Sequence[float] = (100, 105), shares: Sequence[float] = (), stay: float = 0.9
) -> NDArray[np.float64]:
    """Return ``n`` values that stay at their level with the mean probability ``stay``, and have it in its share of the time."""
    rng = np.random.default_rng([20261123, seed])
    weights = np.array(shares or [1 / len(levels)] * len(levels))
    draws = rng.random(n) < (1 - stay) / (1 - float(np.square(weights).sum()))
    draws[0] = True
    chosen = rng.choice(len(levels), int(draws.sum()), p=weights)
    values: NDArray[np.float64] = np.array(levels, np.float64)[chosen[np.cumsum(draws) - 1]]
    return values * (1 + NOISE * rng.standard_normal(n))


def visits(seed: int, *lengths_and_levels: tuple[int, float]) -> NDArray[np.float64]:
    """Return so many values at each level in turn."""
    values = np.concatenate([np.full(length, level, np.float64) for length, level in lengths_and_levels])
    return values * (1 + NOISE * np.random.default_rng([20261124, seed]).standard_normal(values.size))
