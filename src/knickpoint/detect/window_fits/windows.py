"""Windows that slide over a series: their halves, the areas of windows that move alike, and the peaks inside an area.

A step fit compares the two halves of every window of ``2 * radius`` values. Neighbouring windows share nearly all of
their halves, so mean, spread and median are computed once for each half (:class:`HalfWindows`), not for each window.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Area:
    """Neighbouring windows of one movement, ``first`` to ``last``, both inclusive; +1 is up, -1 down."""

    first: int
    last: int
    movement: int


@dataclass(frozen=True, slots=True)
class Peaks:
    """Indices into a row of strengths: the leftmost and rightmost local peak, and the highest one."""

    left: int
    highest: int
    right: int


def sliding_windows(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return every window of ``width`` consecutive values: a view of shape (values - width + 1, width), or none."""
    if values.size < width:
        return np.empty((0, 0))
    return sliding_window_view(values, width)


@dataclass(frozen=True)
class HalfWindows:
    """Statistics of every half-window, which is ``radius`` consecutive values.

    Window i has the half-windows i and i + ``radius``: the values before its middle and those after it. ``values`` is
    1-D without missing values, and at least ``radius`` long. ``uneven`` is true where the magnitudes of the values
    differ so much that no single unit keeps the squares of all within floats. Sums run from left to right, so that
    every machine gives the same answer.
    """

    values: Floats
    radius: int
    uneven: bool = False

    @cached_property
    def _count(self) -> int:
        return self.values.size - self.radius + 1

    @cached_property
    def _unit(self) -> Floats | None:
        """A power of two for each half-window that brings its values near 1, None where none is needed."""
        if not self.uneven:
            return None
        largest = np.abs(sliding_window_view(self.values, self.radius)).max(axis=1)
        return np.asarray(np.ldexp(1.0, np.frexp(largest)[1]))

    def _columns(self) -> Iterator[Floats]:
        """Yield the first value of every half-window, then the second of every one, and so on, in its unit."""
        for offset in range(self.radius):
            values = self.values[offset : offset + self._count]
            yield values if self._unit is None else values / self._unit

    @cached_property
    def _total(self) -> Floats:
        total = np.zeros(self._count)
        for values in self._columns():
            total += values
        return total

    @cached_property
    def mean(self) -> Floats:
        """Mean of each half-window."""
        level = self._total / self.radius
        return level if self._unit is None else level * self._unit

    @cached_property
    def step(self) -> Floats:
        """Mean after the middle less mean before it, for each window."""
        if self._unit is None:
            return (self._total[self.radius :] - self._total[: -self.radius]) / self.radius
        return self.mean[self.radius :] - self.mean[: -self.radius]

    @cached_property
    def _squares(self) -> Floats:
        squares, level = np.zeros(self._count), self._total / self.radius
        for values in self._columns():
            distance = values - level
            distance *= distance
            squares += distance
        return squares

    @cached_property
    def spread(self) -> Floats:
        """Population standard deviation of each half-window."""
        spread: Floats = np.sqrt(self._squares / self.radius)
        return spread if self._unit is None else spread * self._unit

    @cached_property
    def spread_within(self) -> Floats:
        """Population standard deviation of each window, every value counted from the mean of its half."""
        before, after = slice(None, -self.radius), slice(self.radius, None)
        if self._unit is None:
            return np.asarray(np.sqrt((self._squares[before] + self._squares[after]) / (2 * self.radius)))
        return np.asarray(np.hypot(self.spread[before], self.spread[after]) / np.sqrt(2.0))

    @cached_property
    def median(self) -> Floats:
        """Median of each half-window."""
        ordered = np.sort(sliding_window_view(self.values, self.radius), axis=1)
        low, high = ordered[:, (self.radius - 1) // 2], ordered[:, self.radius // 2]
        return np.asarray(low / 2 + high / 2)


def too_much_missing(windows: NDArray[np.floating], *, compatible: bool = False) -> NDArray[np.bool_]:
    """Return for each row whether its middle value is missing, or more than half of one of its sides.

    The middle value of an odd window is on neither side. ``compatible`` rounds the percentage down as Skia does, which
    keeps a side of which 50.9 % is missing.
    """
    width = windows.shape[1]
    missing = np.isnan(windows)
    if width < 2:
        return np.ones(len(windows), dtype=np.bool_)
    half = width // 2
    sides = missing[:, :half], missing[:, half + width % 2 :]
    percent = [100.0 * side.sum(axis=1) / side.shape[1] for side in sides]
    if compatible:
        percent = [np.floor(share) for share in percent]
    return np.asarray(missing[:, half] | (percent[0] > 50) | (percent[1] > 50))


def _plateaus(values: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last index of each stretch of equal ``values``."""
    changes = np.flatnonzero(values[1:] != values[:-1]).tolist()
    yield from zip([0, *(index + 1 for index in changes)], [*changes, values.size - 1], strict=True)


def _moving_areas(movement: NDArray[np.int8]) -> list[Area]:
    """Join all neighbouring windows that move the same way."""
    if not movement.any():
        return []
    return [Area(first, last, int(movement[first])) for first, last in _plateaus(movement) if movement[first]]


def join_areas(movement: NDArray[np.int8], longest: int, *, compatible: bool = False) -> list[Area]:
    """Join neighbouring windows that move the same way, into areas of at most ``longest`` windows.

    ``movement`` is +1, -1 or 0 for every window. With ``compatible``, areas at either end of the data are
    left out until more data arrive; when that leaves nothing and every window moves, each window is an area.
    """
    joined = _moving_areas(movement)
    if compatible:
        joined = [area for area in joined if area.first > 0 and area.last < movement.size - 1]
        if not joined and movement.size and movement.all():
            return [Area(window, window, int(direction)) for window, direction in enumerate(movement)]
    return [
        Area(first, min(first + longest - 1, area.last), area.movement)
        for area in joined
        for first in range(area.first, area.last + 1, longest)
    ]


def find_peaks(strengths: NDArray[np.float64]) -> Peaks:
    """Find the local peaks of ``strengths``; equal neighbours are one peak.

    ``left`` is where the leftmost peak begins, ``right`` where the rightmost ends, and ``highest`` the middle of
    the first highest peak, rounded up. The ends of the row can be peaks. An empty row has all three at 0.
    """
    if not strengths.size:
        return Peaks(0, 0, 0)
    plateaus = list(_plateaus(strengths))
    heights = [-math.inf, *(float(strengths[first]) for first, _ in plateaus), -math.inf]
    peaks = [number for number in range(len(plateaus)) if heights[number] <= heights[number + 1] >= heights[number + 2]]
    top = max(peaks, key=lambda number: heights[number + 1])
    return Peaks(plateaus[peaks[0]][0], (sum(plateaus[top]) + 1) // 2, plateaus[peaks[-1]][1])
