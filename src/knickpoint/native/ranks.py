"""Compare many pairs of samples by the Mann-Whitney U test; ``ranks.c`` explains how."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib

LARGEST_TIED: Final = 25
"""Samples up to this size each get an exact tail where values are tied."""

_CELLS: Final = 2**22
"""Pairs of values that are compared at a time."""

Floats = NDArray[np.float64]


@lru_cache(maxsize=512)
def _ways(first: int, ties: tuple[int, ...]) -> Floats:
    """Count the ways to each 2U of ``first`` values drawn from ascending groups of ``ties`` equal ones."""
    total = sum(ties)
    counts = np.zeros((first + 1, 2 * first * (total - first) + 1))
    counts[0, 0] = 1.0
    below = 0
    for size in ties:
        grown = np.zeros_like(counts)
        for had in range(min(below, first) + 1):
            left = below - had
            for taken in range(min(size, first - had) + 1):
                gain = taken * (2 * left + size - taken)
                kept = max(0, counts.shape[1] - gain)
                grown[had + taken, gain:] += math.comb(size, taken) * counts[had, :kept]
        counts = grown
        below += size
    found: Floats = counts[first]
    return found


def _tail(first: int, ties: tuple[int, ...], twice: int) -> float:
    """Count the draws whose 2U is as far from the middle as ``twice``, on the same side."""
    ways = _ways(first, ties)
    part = ways[: twice + 1] if 2 * twice < ways.size else ways[twice:]
    return float(part.sum())


def compare_ranks_in_numpy(values: Floats, rows: int, step: int, n: int, m: int) -> tuple[Floats, Floats, Floats]:
    """Compare ``values[i * step:][:n]`` with the ``m`` values after them, for ``i`` below ``rows``.

    Returns for each 2U (pairs in which the first is larger count 2, ties 1); the sum of t**3 - t over groups of t
    equal values; and how many ways to draw ``n`` of the values have a U as far from the middle on the same side, or
    -1 where no values are tied or a sample is larger than :data:`LARGEST_TIED`.
    """
    item = values.itemsize
    both = as_strided(values, (rows, n + m), (step * item, item), writeable=False)
    twice, tied, tail = np.empty(rows), np.zeros(rows), np.full(rows, -1.0)
    size = max(1, _CELLS // (n * m))
    for start in range(0, rows, size):
        block = both[start : start + size]
        first, second = block[:, :n, None], block[:, None, n:]
        twice[start : start + size] = 2 * (first > second).sum(axis=(1, 2)) + (first == second).sum(axis=(1, 2))
    ordered = np.sort(both, axis=1)
    new = ordered[:, 1:] != ordered[:, :-1]
    for row in np.flatnonzero(~new.all(axis=1)):
        ties = np.diff(np.flatnonzero(np.r_[True, new[row], True]))
        tied[row] = float((ties.astype(np.float64) ** 3 - ties).sum())
        if max(n, m) <= LARGEST_TIED:
            tail[row] = _tail(n, tuple(ties.tolist()), int(twice[row]))
    return twice, tied, tail


def compare_ranks_in_c(values: Floats, rows: int, step: int, n: int, m: int) -> tuple[Floats, Floats, Floats]:
    """Compare pairs of samples; see the reference."""
    found = np.empty((3, rows))
    if lib.kp_ranks(values, rows, step, n, m, *found):
        raise MemoryError
    return found[0], found[1], found[2]


compare_ranks = choose(compare_ranks_in_numpy, compare_ranks_in_c)
