"""Windows that slide over a trace: cut them, describe their halves, leave out the empty ones, join those that agree."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = ["Area", "Peaks", "Runs", "areas", "find_peaks", "slide", "too_much_missing"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Area:
    """Neighbouring windows of one movement, ``first`` to ``last``, both inclusive."""

    first: int
    last: int
    movement: int


@dataclass(frozen=True, slots=True)
class Peaks:
    """Places in a row of strengths: the leftmost and rightmost local peak, and the highest one."""

    left: int
    highest: int
    right: int


def slide(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return every window of ``width`` consecutive values: a view of shape (values - width + 1, width), or none."""
    if values.size < width:
        return np.empty((0, 0))
    return sliding_window_view(values, width)


@dataclass(frozen=True)
class Runs:
    """Every run of ``radius`` consecutive values; of a window, one run is before its middle and one after it.

    ``values`` is 1-D without missing values and holds at least one run. ``uneven`` is true where their magnitudes
    differ so much that no one unit keeps the squares of all within floats. Sums go from left to right, which gives
    one answer whatever the machine.
    """

    values: Floats
    radius: int
    uneven: bool = False

    @cached_property
    def _count(self) -> int:
        return self.values.size - self.radius + 1

    @cached_property
    def _unit(self) -> Floats | None:
        """A power of two for each run, by which its values are near 1."""
        if not self.uneven:
            return None
        largest = np.abs(sliding_window_view(self.values, self.radius)).max(axis=1)
        return np.asarray(np.ldexp(1.0, np.frexp(largest)[1]))

    def _places(self) -> Iterator[Floats]:
        """Iterate over the first value of every run, the second of every run, and so on, in the unit of the run."""
        for place in range(self.radius):
            values = self.values[place : place + self._count]
            yield values if self._unit is None else values / self._unit

    @cached_property
    def _total(self) -> Floats:
        total = np.zeros(self._count)
        for values in self._places():
            total += values
        return total

    @cached_property
    def mean(self) -> Floats:
        """Mean of each run."""
        middle = self._total / self.radius
        return middle if self._unit is None else middle * self._unit

    @cached_property
    def step(self) -> Floats:
        """Mean of the later run less that of the earlier one, for each window."""
        if self._unit is None:
            return (self._total[self.radius :] - self._total[: -self.radius]) / self.radius
        return self.mean[self.radius :] - self.mean[: -self.radius]

    @cached_property
    def _squares(self) -> Floats:
        squares, middle = np.zeros(self._count), self._total / self.radius
        for values in self._places():
            distance = values - middle
            distance *= distance
            squares += distance
        return squares

    @cached_property
    def spread(self) -> Floats:
        """Population standard deviation of each run."""
        spread: Floats = np.sqrt(self._squares / self.radius)
        return spread if self._unit is None else spread * self._unit

    @cached_property
    def spread_within(self) -> Floats:
        """Population standard deviation of each window, every value counted from the mean of its own run."""
        before, after = slice(None, -self.radius), slice(self.radius, None)
        if self._unit is None:
            return np.asarray(np.sqrt((self._squares[before] + self._squares[after]) / (2 * self.radius)))
        return np.asarray(np.hypot(self.spread[before], self.spread[after]) / np.sqrt(2.0))

    @cached_property
    def median(self) -> Floats:
        """Median of each run."""
        ordered = np.sort(sliding_window_view(self.values, self.radius), axis=1)
        low, high = ordered[:, (self.radius - 1) // 2], ordered[:, self.radius // 2]
        return np.asarray(low / 2 + high / 2)


def too_much_missing(windows: NDArray[np.floating], *, compatible: bool = False) -> NDArray[np.bool_]:
    """Say of each row whether its middle is missing, or more than half of one of its sides.

    The middle value of an odd window is on neither side. Skia rounds the percentage down, so it keeps a
    side of which 50.9 % is missing.
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


def _alike(values: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Iterate over the runs of equal ``values``: the first place of each and the last."""
    changes = np.flatnonzero(values[1:] != values[:-1]).tolist()
    yield from zip([0, *(place + 1 for place in changes)], [*changes, values.size - 1], strict=True)


def _runs(movement: NDArray[np.int8]) -> list[Area]:
    if not movement.any():
        return []
    return [Area(first, last, int(movement[first])) for first, last in _alike(movement) if movement[first]]


def areas(movement: NDArray[np.int8], longest: int, *, compatible: bool = False) -> list[Area]:
    """Join neighbouring windows that move the same way, into areas of at most ``longest`` windows.

    ``movement`` is +1, -1 or 0 for every window. With ``compatible``, areas at either end of the data are
    left out until more of it arrives; when that leaves nothing and every window moves, each is an area.
    """
    runs = _runs(movement)
    if compatible:
        runs = [run for run in runs if run.first > 0 and run.last < movement.size - 1]
        if not runs and movement.size and movement.all():
            return [Area(place, place, int(way)) for place, way in enumerate(movement)]
    return [
        Area(first, min(first + longest - 1, run.last), run.movement)
        for run in runs
        for first in range(run.first, run.last + 1, longest)
    ]


def find_peaks(strengths: NDArray[np.float64]) -> Peaks:
    """Find the local peaks of ``strengths``; equal neighbours are one peak.

    ``left`` is where the leftmost begins, ``right`` where the rightmost ends, and ``highest`` the middle of
    the first of the highest, rounded up. The ends of the row count as peaks. An empty row has all three at 0.
    """
    if not strengths.size:
        return Peaks(0, 0, 0)
    plateaus = list(_alike(strengths))
    heights = [-math.inf, *(float(strengths[first]) for first, _ in plateaus), -math.inf]
    peaks = [place for place in range(len(plateaus)) if heights[place] <= heights[place + 1] >= heights[place + 2]]
    top = max(peaks, key=lambda place: heights[place + 1])
    return Peaks(plateaus[peaks[0]][0], (sum(plateaus[top]) + 1) // 2, plateaus[peaks[-1]][1])
