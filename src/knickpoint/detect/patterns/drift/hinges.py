"""Where a slope begins and ends: the best of all pairs of places on a grid, all compared at once.

A slope between two places is the difference of two ramps, one that begins at each. With the levels between the steps taken
out, what a slope explains follows from the products of the ramps with each other and with the values, so a grid of k places
costs O(k n + k^2) and not O(k^2 n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.patterns.drift.trend import SHORTEST, Slope

__all__ = ["best_slope", "start_interval"]

Floats = NDArray[np.float64]

_GRID: Final = 40
_NEAR: Final = 12
"""Places of the coarse grid, and of the fine one to each side of what the coarse one found."""

_PART: Final = 80
"""Values that are multiplied at a time."""

_EXPLAINABLE: Final = 1e-9
"""Slopes of which the levels leave a smaller share are set aside."""


@dataclass(frozen=True, slots=True)
class _Ramps:
    """Ramps from each place of a grid on, less the levels between the steps: what pairs of them explain."""

    starts: NDArray[np.int64]
    products: Floats
    gram: Floats

    def explained(self) -> Floats:
        """Return how much of the sum of squares the slope from each place to each other explains, -1 for too short ones."""
        rises = np.diag(self.gram)
        spread = rises[:, None] + rises[None, :] - 2 * self.gram
        share = np.square(self.products[:, None] - self.products[None, :])
        long_enough = self.starts[None, :] - self.starts[:, None] >= SHORTEST
        usable = long_enough & (spread > _EXPLAINABLE * spread.max(initial=0.0))
        return np.where(usable, share / np.where(usable, spread, 1.0), -1.0)


def _ramps(values: Floats, places: tuple[int, ...], starts: NDArray[np.int64]) -> _Ramps:
    firsts = np.array([0, *places])
    counts = np.diff(np.array([0, *places, values.size]))
    ramps = np.maximum(np.arange(values.size) - starts[:, None], 0.0)
    ramps -= np.repeat(np.add.reduceat(ramps, firsts, axis=1) / counts, counts, axis=1)
    # The ramps have no mean on any level, so the values need not be free of levels, only of a large offset.
    products = _products(np.vstack([ramps, values - values.mean()]))
    return _Ramps(starts, products[-1, :-1], products[:-1, :-1])


def _products(rows: Floats) -> Floats:
    """Return the products of all pairs of ``rows``, from parts so small that a linear algebra library starts no threads.

    Its threads wait for each other actively, which costs many times the work where other processes keep the cores busy.
    """
    parts = (rows[:, first : first + _PART] for first in range(0, rows.shape[1], _PART))
    return np.asarray(sum((part @ part.T for part in parts), np.zeros((len(rows), len(rows)))))


def _best_on(values: Floats, places: tuple[int, ...], starts: NDArray[np.int64]) -> tuple[Slope, float]:
    ramps = _ramps(values, places, starts)
    explained = ramps.explained()
    start, end = np.unravel_index(int(np.argmax(explained)), explained.shape)
    return Slope(int(starts[start]), int(starts[end])), float(explained[start, end])


def _around(slope: Slope, reach: int, size: int) -> NDArray[np.int64]:
    offsets = np.linspace(-reach, reach, 2 * min(reach, _NEAR) + 1).round().astype(np.int64)
    return np.unique(np.clip(np.concatenate([slope.start + offsets, slope.end + offsets]), 0, size - 1))


def best_slope(values: Floats, places: tuple[int, ...]) -> tuple[Slope, float] | None:
    """Return the slope that explains most of ``values`` beside free levels between ``places``, and how much.

    None where no slope fits. ``values`` are finite, 1-D; how much is a sum of squares.
    """
    size = values.size
    if size <= SHORTEST:
        return None
    step = max(1, size // _GRID)
    slope, explained = _best_on(values, places, np.unique(np.linspace(0, size - 1, _GRID + 1).round().astype(np.int64)))
    # The grid becomes finer until it has every place.
    while explained > 0:
        slope, explained = max(
            (slope, explained), _best_on(values, places, _around(slope, step, size)), key=lambda each: each[1]
        )
        if step <= _NEAR:
            return slope, explained
        step = -(-step // _NEAR)
    return None


def start_interval(values: Floats, places: tuple[int, ...], slope: Slope, worth: float) -> int:
    """Return how many values the start of ``slope`` may be off: the farthest one that explains less by at most ``worth``."""
    reach = max(0, slope.end - SHORTEST)
    starts = np.unique(np.append(np.linspace(0, reach, 2 * _GRID).round().astype(np.int64), (slope.start, slope.end)))
    explained = _ramps(values, places, starts).explained()[:, np.searchsorted(starts, slope.end)]
    likely = starts[explained >= explained.max() - worth]
    return int(np.abs(likely - slope.start).max(initial=0))
