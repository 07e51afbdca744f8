"""The Mann-Whitney U test: exact for small samples, ties included, and the usual approximation above."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = ["RankTest", "mann_whitney_rows", "mann_whitney_slid", "mann_whitney_u"]

_EXACT_UP_TO: Final = 50
"""Samples up to this size each get the exact law when no value is tied."""

_EXACT_WITH_TIES_UP_TO: Final = 25
"""The same when values are tied; the law then has to be counted for each pattern of ties."""

_LISTED: Final = 10_000
"""Up to so many ways to draw the first sample they are listed, which is quicker than counting them."""


@dataclass(frozen=True, slots=True)
class RankTest:
    """Hold the outcome of the test: ``u`` counts pairs (first > second), ties as half; ``p_value`` is two-sided.

    ``p_value`` is ``nan`` where the samples say nothing: one of them is empty, or all values are equal.
    """

    u: float
    p_value: float


@lru_cache(maxsize=16)
def _draws(first: int, total: int) -> NDArray[np.int64]:
    """Return every way to draw ``first`` of ``total`` places, a row each."""
    return np.array(list(combinations(range(total), first)), dtype=np.int64)


def _counted(first: int, ties: tuple[int, ...]) -> NDArray[np.float64]:
    """Count the ways to each 2U, group of equal values by group. Runs in O(first^2 * total * groups) at worst."""
    total = sum(ties)
    top = 2 * first * (total - first)
    counts: NDArray[np.float64] = np.zeros((first + 1, top + 1))
    counts[0, 0] = 1.0
    below = 0
    for size in ties:
        grown: NDArray[np.float64] = np.zeros_like(counts)
        for taken in range(min(size, first) + 1):
            ways = float(math.comb(size, taken))
            for had in range(min(below, first - taken) + 1):
                rest_below = below - had
                gain = 2 * taken * rest_below + taken * (size - taken)
                if gain <= top:
                    grown[had + taken, gain:] += ways * counts[had, : top + 1 - gain]
        counts = grown
        below += size
    found: NDArray[np.float64] = counts[first]
    return found


@lru_cache(maxsize=512)
def _p_values(first: int, ties: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the two-sided p of each 2U for ``first`` values drawn from groups of equal ones, ``ties`` their sizes.

    The groups are ascending in value. p is twice the smaller tail, 1 at most.
    """
    total = sum(ties)
    top = 2 * first * (total - first)
    if math.comb(total, first) <= _LISTED:
        ends = np.cumsum(ties)
        doubled = np.repeat(2 * ends - np.array(ties) + 1, ties)
        sums = doubled[_draws(first, total)].sum(axis=1) - first * (first + 1)
        ways = np.bincount(sums, minlength=top + 1).astype(np.float64)
    else:
        ways = _counted(first, ties)
    whole = ways.sum()
    low, high = np.cumsum(ways) / whole, np.cumsum(ways[::-1])[::-1] / whole
    place = np.arange(top + 1)
    tail = np.where(2 * place < top, low, np.where(2 * place > top, high, 0.5))
    return np.minimum(2.0 * tail, 1.0)


def _normal_tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def _approximate(u: float, first: int, second: int, ties: NDArray[np.int64]) -> float:
    total = first + second
    tied = float((ties.astype(np.float64) ** 3 - ties).sum()) / (total * (total - 1))
    deviation = math.sqrt(first * second / 12.0 * (total + 1 - tied))
    if deviation == 0:
        return math.nan
    distance = max(abs(u - first * second / 2.0) - 0.5, 0.0)
    return min(1.0, 2.0 * _normal_tail(distance / deviation))


def mann_whitney_u(first: NDArray[np.floating], second: NDArray[np.floating]) -> RankTest:
    """Test whether values of ``first`` tend to be larger or smaller than those of ``second``.

    Both are 1-D without missing values. The law of U is exact up to 50 values each without ties and up to
    25 with ties; above, it is the normal approximation with corrections for ties and continuity. The exact
    p-value is twice the smaller tail, 1 at most.
    """
    n, m = first.size, second.size
    if not n or not m:
        return RankTest(math.nan, math.nan)
    values, inverse, counts = np.unique(np.concatenate([first, second]), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = ends - (counts - 1) / 2.0
    u = float(ranks[inverse[:n]].sum()) - n * (n + 1) / 2.0
    if values.size == 1:
        return RankTest(u, math.nan)
    tied = values.size < n + m
    if max(n, m) > (_EXACT_WITH_TIES_UP_TO if tied else _EXACT_UP_TO):
        return RankTest(u, _approximate(u, n, m, counts.astype(np.int64)))
    return RankTest(u, float(_p_values(n, tuple(counts.tolist()))[round(2 * u)]))


@lru_cache(maxsize=8192)
def _p_values_of(first: int, total: int, pattern: bytes) -> NDArray[np.float64]:
    """Return the p of each 2U for sorted values whose bit of ``pattern`` is set where one differs from the one before."""
    new = np.unpackbits(np.frombuffer(pattern, np.uint8), count=total - 1)
    sizes = np.diff(np.flatnonzero(np.r_[1, new, 1]))
    if sizes.size < 2:
        return np.full(2 * first * (total - first) + 1, np.nan)
    return _p_values(first, tuple(sizes.tolist()))


def mann_whitney_rows(
    first: NDArray[np.floating], second: NDArray[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Test each row of ``first`` against that of ``second``, matrices without missing values; return U and p.

    The answers are those of :func:`mann_whitney_u`; rows without ties share one law.
    """
    n, m = first.shape[1], second.shape[1]
    u, p_values = np.full(len(first), np.nan), np.full(len(first), np.nan)
    both = np.sort(np.concatenate([first, second], axis=1), axis=1)
    new = both[:, 1:] != both[:, :-1]
    tied = ~new.all(axis=1)
    exact = np.where(tied, max(n, m) <= _EXACT_WITH_TIES_UP_TO, max(n, m) <= _EXACT_UP_TO) & (min(n, m) > 0)
    rows = np.flatnonzero(exact)
    if rows.size:
        left, right = first[rows, :, None], second[rows, None, :]
        doubled = 2 * (left > right).sum(axis=(1, 2)) + (left == right).sum(axis=(1, 2))
        u[rows] = doubled / 2
        patterns, of_row = np.unique(np.packbits(new[rows], axis=1), axis=0, return_inverse=True)
        members = np.split(np.argsort(of_row, axis=None, kind="stable"), np.cumsum(np.bincount(of_row.ravel()))[:-1])
        for pattern, own in zip(patterns, members, strict=True):
            p_values[rows[own]] = _p_values_of(n, n + m, pattern.tobytes())[doubled[own]]
    for row in np.flatnonzero(~exact):
        test = mann_whitney_u(first[row], second[row])
        u[row], p_values[row] = test.u, test.p_value
    return u, p_values


def mann_whitney_slid(values: NDArray[np.float64], radius: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Test every run of ``radius`` consecutive ``values`` against the run after it; return U and p."""
    runs = sliding_window_view(values, radius)
    return mann_whitney_rows(runs[:-radius], runs[radius:])
