"""Exact k-means of numbers: the best division of sorted values into 1, 2, … groups, by dynamic programming.

The best division of the first n values into k groups ends with one group, before which the best division into k - 1
groups stands. The start of that last group never decreases as n grows, so a layer takes O(n log n) (the kernel
``partition``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.partition import extend_partition

__all__ = ["Partition", "best_partitions"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Partition:
    """A division of numbers into groups, ascending.

    ``labels`` gives the group of each number in the order they came, ``means`` and ``counts`` are those of the
    groups, ``squares`` is the sum of squared distances of the numbers to the means of their groups.
    """

    labels: NDArray[np.int64]
    means: Floats
    counts: NDArray[np.int64]
    squares: float


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
    # Cumulative sums of the distinct values around their median, which keeps their digits.
    middle = np.median(distinct)
    centred = distinct - middle
    weight, value, square = (
        np.r_[0.0, np.cumsum(terms)] for terms in (counts.astype(np.float64), counts * centred, counts * centred**2)
    )
    # One group: the sum of squares around its mean, for the first 1, 2, … values.
    cost = np.maximum(square[1:] - value[1:] ** 2 / weight[1:], 0.0)
    cost[0] = 0.0
    begins: list[Places] = []
    partitions: list[Partition] = []
    for groups in range(1, min(most, distinct.size) + 1):
        # Recursion: one group more.
        if groups > 1:
            cost, begin = extend_partition(cost, weight, value, square)
            begins.append(begin)
        # Backtracking, and the statistics of each group.
        bounds = _walk_back(begins, distinct.size)
        members = np.add.reduceat(counts, bounds).astype(np.int64)
        means = np.add.reduceat(centred * counts, bounds) / members + middle
        labels = np.searchsorted(bounds, inverse, side="right").astype(np.int64) - 1
        alone = np.diff(np.r_[bounds, distinct.size]) == 1
        means = np.where(alone, distinct[bounds], means)
        partitions.append(Partition(labels, means, members, float(cost[-1])))
    return partitions
