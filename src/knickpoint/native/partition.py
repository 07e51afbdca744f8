"""Divide sorted numbers into groups with the least squared error, one group more at a time.

``partition.c`` explains the search.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib


def extend_partition_in_numpy(
    former: NDArray[np.float64], weight: NDArray[np.float64], value: NDArray[np.float64], square: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return for each prefix of sorted numbers the least cost with one group more than ``former``, and where it begins.

    There are two numbers or more. ``weight``, ``value`` and ``square`` are sums over prefixes, one longer than
    ``former``. Cost is the sum of squared distances to the mean of the group; a prefix of one number has an
    infinite one. Takes O(n log n) time: the best beginning never falls as the prefix grows, so the middle prefix
    halves the search of all others; all halves of one depth are searched together.
    """
    size = former.size
    cost = np.full(size, np.inf)
    begin = np.zeros(size, dtype=np.int64)
    low, high = np.array([1]), np.array([size - 1])
    least, most = np.array([1]), np.array([size - 1])
    while low.size:
        # All beginnings of the middle prefix of each part, side by side
        middle = (low + high) // 2
        width = np.minimum(middle, most) - least + 1
        ends = np.cumsum(width)
        starts = ends - width
        place = np.arange(int(ends[-1])) - np.repeat(starts - least, width)
        last = np.repeat(middle, width)
        held, total, squares = (sums[last + 1] - sums[place] for sums in (weight, value, square))
        inside = np.where(place == last, 0.0, np.maximum(squares - total * total / held, 0.0))
        found = former[place - 1] + inside
        lowest = np.minimum.reduceat(found, starts)
        hits = np.flatnonzero(found == np.repeat(lowest, width))
        best = place[hits[np.searchsorted(hits, starts)]]
        cost[middle], begin[middle] = lowest, best

        # Shorter prefixes begin their last group no later, longer ones no earlier
        low, high = np.r_[low, middle + 1], np.r_[middle - 1, high]
        least, most = np.r_[least, best], np.r_[best, most]
        keep = low <= high
        low, high, least, most = low[keep], high[keep], least[keep], most[keep]
    return cost, begin


def extend_partition_in_c(
    former: NDArray[np.float64], weight: NDArray[np.float64], value: NDArray[np.float64], square: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return cost and beginning of the last group of every prefix; see the reference."""
    cost = np.full(former.size, np.inf)
    begin = np.zeros(former.size, np.int64)
    lib.kp_layer(
        former,
        weight,
        value,
        square,
        former.size,
        cost,
        begin,
    )
    return cost, begin


extend_partition = choose(extend_partition_in_numpy, extend_partition_in_c)
