"""Fit levels, steps and slow changes in NumPy; ``trend.c`` does the same with sums in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.distribution import MAD

Floats = NDArray[np.float64]
Slopes = Sequence[tuple[int, int]]
"""Slow changes, each from the last value before it to its last value."""

SHORTEST: Final = 30
"""Measured values that a slow change takes at least: what takes fewer is a step."""

FARTHEST: Final = 3.0
"""Deviations beyond which a value counts as if it were no further away."""

_ROUNDS: Final = 3
"""How often outliers are set aside and the model is fitted again."""

_MOST_PHI: Final = 0.9
_BLOCKS: Final = 5
_CLEARLY: Final = 2.0

GRID: Final = 40
NEAR: Final = 12
"""Places of the coarse grid, and of the fine one to each side of what the coarse one found."""

_EXPLAINABLE: Final = 1e-9
"""Slopes of which the levels leave a smaller share are set aside."""


class Fit(NamedTuple):
    """The coefficients of a fit (first level, jumps, rates), the fit, its residuals, their noise and its inflation.

    ``clipped`` are the values with outliers brought near, and ``moved`` is how far the slopes move each value.
    """

    coefficients: Floats
    fitted: Floats
    residuals: Floats
    clipped: Floats
    moved: Floats
    noise: float
    inflation: float


def fit_levels_in_numpy(values: Floats, places: Sequence[int], slopes: Slopes) -> Fit:
    """Fit ``values`` (finite, 1-D) by levels that begin at ``places``, ascending, and ``slopes``, at most 8.

    ``inflation`` is by how much more a mean of many residuals varies than one of independent ones.
    """
    size = values.size
    steps = [(np.arange(size) >= place).astype(np.float64) for place in places]
    q, r = np.linalg.qr(np.array([np.ones(size), *steps, *slope_columns(size, slopes)]).T)
    # Fit, bring outliers near, and fit again.
    target = values
    fitted = q @ (q.T @ target)
    for _ in range(_ROUNDS):
        noise = _deviation(values - fitted)
        target = fitted + np.clip(values - fitted, -FARTHEST * noise, FARTHEST * noise)
        fitted = q @ (q.T @ target)
    residuals = values - fitted
    noise = _deviation(residuals)
    clipped = fitted + np.clip(residuals, -FARTHEST * noise, FARTHEST * noise)
    coefficients = np.linalg.solve(r, q.T @ target)
    moved = _moved(size, slopes, coefficients[1 + len(places) :])
    return Fit(coefficients, fitted, residuals, clipped, moved, noise, _inflation(residuals, noise))


def _moved(size: int, slopes: Slopes, rates: Floats) -> Floats:
    """Return the movement of each value by ``slopes`` at their ``rates``."""
    moved = np.zeros(size)
    for rate, column in zip(rates.tolist(), slope_columns(size, slopes), strict=True):
        moved += rate * column
    return moved


def slope_columns(size: int, slopes: Slopes) -> Floats:
    """Return the number of values of each slope up to each value: slopes x values."""
    starts, ends = np.array(slopes, np.float64).reshape(-1, 2, 1).swapaxes(0, 1)
    return np.minimum(np.maximum(np.arange(size, dtype=np.float64), starts), ends) - starts


def _deviation(residuals: Floats) -> float:
    """Return a robust standard deviation; where most residuals are 0 it is the ordinary one, and never 0."""
    robust = MAD * float(np.median(np.abs(residuals)))
    smallest = 1e-12 * float(np.abs(residuals).max(initial=0.0)) + 1e-150
    return max(robust, 1e-6 * float(residuals.std()), smallest)


def _inflation(residuals: Floats, noise: float) -> float:
    """Return the factor by which similar neighbours raise the variance of a mean of many residuals.

    It is the larger one of what the autocorrelation at lag 1 says, and of what the means of blocks say where they vary
    at least twice as much as those of independent values.
    """
    kept = np.clip(residuals, -FARTHEST * noise, FARTHEST * noise)
    total = float(kept @ kept)
    if total <= 0:
        return 1.0
    first = float(kept[1:] @ kept[:-1]) / total
    phi = min(max(first + (1 + 3 * first) / kept.size, 0.0), _MOST_PHI)
    by_lag = (1 + phi) / (1 - phi)
    length = max(8, math.isqrt(kept.size))
    count = kept.size // length
    if count < _BLOCKS:
        return by_lag
    means = kept[: count * length].reshape(count, length).mean(axis=1)
    by_blocks = length * float(means.var(ddof=1)) / (total / kept.size)
    return max(by_lag, min(by_blocks, 3 * by_lag)) if by_blocks > _CLEARLY else by_lag


def explain_slopes_in_numpy(values: Floats, places: Sequence[int], starts: NDArray[np.int64]) -> Floats:
    """Return the part of the sum of squares of ``values`` that the slope between each two of ``starts`` explains.

    The levels that begin at ``places`` are free. The answer is -1 where a slope is too short; starts are ascending. A
    slope is the difference of two ramps without end, less their means on each level.
    """
    firsts, counts = np.array([0, *places]), np.diff([0, *places, values.size])
    ramps = np.maximum(np.arange(values.size) - starts[:, None], 0.0)
    ramps -= np.repeat(np.add.reduceat(ramps, firsts, axis=1) / counts, counts, axis=1)
    products, gram = ramps @ (values - values.mean()), ramps @ ramps.T
    rises = np.diag(gram)
    spread = rises[:, None] + rises[None, :] - 2 * gram
    share = np.square(products[:, None] - products[None, :])
    long_enough = starts[None, :] - starts[:, None] >= SHORTEST
    usable = long_enough & (spread > _EXPLAINABLE * spread.max(initial=0.0))
    return np.where(usable, share / np.where(usable, spread, 1.0), -1.0)


NO_RATES: Final = np.zeros(0)


def best_slope_in_numpy(
    values: Floats, places: Sequence[int], slopes: Slopes = (), rates: Floats = NO_RATES
) -> tuple[int, int, float] | None:
    """Return start and end of the slope that explains most of ``values`` beside free levels, and how much.

    ``values`` are taken less what ``slopes`` move them by, each with one of the ``rates``. None where no slope explains
    anything. A coarse grid of places becomes finer until it has every place.
    """
    size = values.size
    if size <= SHORTEST:
        return None
    values = values - _moved(size, slopes, rates)
    step = max(1, size // GRID)
    best = _best_of(values, places, np.unique(np.linspace(0, size - 1, GRID + 1).round().astype(np.int64)))
    while best[2] > 0:
        offsets = np.linspace(-step, step, 2 * min(step, NEAR) + 1).round().astype(np.int64)
        near = np.unique(np.clip(np.concatenate([best[0] + offsets, best[1] + offsets]), 0, size - 1))
        best = max(best, _best_of(values, places, near), key=lambda found: found[2])
        if step <= NEAR:
            return best
        step = -(-step // NEAR)
    return None


def _best_of(values: Floats, places: Sequence[int], starts: NDArray[np.int64]) -> tuple[int, int, float]:
    explained = explain_slopes_in_numpy(values, places, starts)
    start, end = np.unravel_index(int(np.argmax(explained)), explained.shape)
    return int(starts[start]), int(starts[end]), float(explained[start, end])
