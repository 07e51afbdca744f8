"""Exact k-means of numbers: the best division of sorted values into 1, 2, … groups, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Partition", "best_partitions"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Partition:
    """Hold a division of numbers into groups, ascending.

    ``labels`` gives the group of each number in the order they came, ``means`` and ``counts`` are those of the
    groups, ``squares`` is the sum of squared distances to the mean of the own group.
    """

    labels: NDArray[np.int64]
    means: Floats
    counts: NDArray[np.int64]
    squares: float


@dataclass(frozen=True, slots=True)
class _Sums:
    """Prefix sums over distinct sorted values: weight, weighted value, weighted square; one longer than the values."""

    weight: Floats
    value: Floats
    square: Floats

    @classmethod
    def of(cls, values: Floats, counts: Places) -> _Sums:
        weight = counts.astype(np.float64)
        return cls(*(np.r_[0.0, np.cumsum(each)] for each in (weight, weight * values, weight * values**2)))

    def cost(self, first: Places, last: Places) -> Floats:
        """Sum of squares of the groups ``first`` to ``last``, inclusive, around their means; 0 for one value."""
        weight = self.weight[last + 1] - self.weight[first]
        value = self.value[last + 1] - self.value[first]
        square = self.square[last + 1] - self.square[first]
        squares: Floats = np.where(first == last, 0.0, np.maximum(square - value * value / weight, 0.0))
        return squares


def _layer(former: Floats, sums: _Sums) -> tuple[Floats, Places]:
    """Return for each prefix the least cost with one more group than ``former``, and where that group begins.

    The best beginning never falls as the prefix grows, so the middle prefix halves the search of all others;
    all halves of one depth are searched together.
    """
    size = former.size
    cost = np.full(size, np.inf)
    begin: Places = np.zeros(size, dtype=np.int64)
    low, high = np.array([1]), np.array([size - 1])
    least, most = np.array([1]), np.array([size - 1])
    while low.size:
        middle = (low + high) // 2
        width = np.minimum(middle, most) - least + 1
        ends = np.cumsum(width)
        starts = ends - width
        place = np.arange(int(ends[-1])) - np.repeat(starts - least, width)
        total = former[place - 1] + sums.cost(place, np.repeat(middle, width))
        lowest = np.minimum.reduceat(total, starts)
        hits = np.flatnonzero(total == np.repeat(lowest, width))
        best = place[hits[np.searchsorted(hits, starts)]]
        cost[middle], begin[middle] = lowest, best
        low, high = np.r_[low, middle + 1], np.r_[middle - 1, high]
        least, most = np.r_[least, best], np.r_[best, most]
        keep = low <= high
        low, high, least, most = low[keep], high[keep], least[keep], most[keep]
    return cost, begin


def _walk_back(begins: list[Places], size: int) -> Places:
    """Return where each group begins, ascending, of the division into ``len(begins) + 1`` groups."""
    bounds: list[int] = []
    last = size - 1
    for begin in reversed(begins):
        bounds.append(int(begin[last]))
        last = bounds[-1] - 1
    return np.array([0, *reversed(bounds)], dtype=np.int64)


def best_partitions(values: Floats, most: int) -> list[Partition]:
    """Return the best divisions of ``values`` into 1 to ``most`` groups, at most as many as there are distinct values.

    ``values`` is 1-D, finite, not empty. Takes O(most * n log n) time after sorting.
    """
    distinct, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    centred = distinct - np.median(distinct)
    sums = _Sums.of(centred, counts.astype(np.int64))
    places = np.arange(distinct.size)
    cost = sums.cost(np.zeros(distinct.size, dtype=np.int64), places)
    begins: list[Places] = []
    found: list[Partition] = []
    for groups in range(1, min(most, distinct.size) + 1):
        if groups > 1:
            cost, begin = _layer(cost, sums)
            begins.append(begin)
        bounds = _walk_back(begins, distinct.size)
        members = np.add.reduceat(counts, bounds).astype(np.int64)
        means = np.add.reduceat(centred * counts, bounds) / members + np.median(distinct)
        labels = np.searchsorted(bounds, inverse, side="right").astype(np.int64) - 1
        alone = np.diff(np.r_[bounds, distinct.size]) == 1
        means = np.where(alone, distinct[bounds], means)
        found.append(Partition(labels, means, members, float(cost[-1])))
    return found
