"""The Mann-Whitney U test: exact for small samples, ties included, and the usual approximation above."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["RankTest", "mann_whitney_rows", "mann_whitney_u"]

_EXACT_UP_TO: Final = 50
"""Samples up to this size each get the exact law when no value is tied."""

_EXACT_WITH_TIES_UP_TO: Final = 25
"""The same when values are tied; the law then has to be counted for each pattern of ties."""


@dataclass(frozen=True, slots=True)
class RankTest:
    """Hold the outcome of the test: ``u`` counts pairs (first > second), ties as half; ``p_value`` is two-sided.

    ``p_value`` is ``nan`` where the samples say nothing: one of them is empty, or all values are equal.
    """

    u: float
    p_value: float


@lru_cache(maxsize=512)
def _law(first: int, ties: tuple[int, ...]) -> tuple[float, ...]:
    """Return P(2U = k) for ``first`` values drawn from groups of equal values, ``ties`` being their sizes.

    The groups are ascending in value. Runs in O(first^2 * total * groups) at worst.
    """
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
    law = counts[first]
    return tuple((law / law.sum()).tolist())


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
    smaller = min(u, n * m - u)
    if smaller * 2 == n * m:
        return RankTest(u, 1.0)
    law = _law(n, tuple(counts.tolist()))
    if u > smaller:
        law = law[::-1]
    return RankTest(u, min(1.0, 2.0 * math.fsum(law[: round(2 * smaller) + 1])))


@lru_cache(maxsize=64)
def _untied_p_values(n: int, m: int) -> NDArray[np.float64]:
    """Return the p-value of each U = 0 .. n m of samples without ties."""
    tail = np.cumsum(np.array(_law(n, (1,) * (n + m)))[::2])
    smaller = np.minimum(np.arange(n * m + 1), n * m - np.arange(n * m + 1))
    doubled = np.where(2 * smaller == n * m, 1.0, 2.0 * tail[smaller])
    return np.minimum(doubled, 1.0)


def mann_whitney_rows(
    first: NDArray[np.floating], second: NDArray[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Test each row of ``first`` against that of ``second``, matrices without missing values; return U and p.

    The answers are those of :func:`mann_whitney_u`; rows without ties share one law.
    """
    n, m = first.shape[1], second.shape[1]
    u, p_values = np.full(len(first), np.nan), np.full(len(first), np.nan)
    both = np.sort(np.concatenate([first, second], axis=1), axis=1)
    tied = (both[:, 1:] == both[:, :-1]).any(axis=1)
    if min(n, m) > 0 and max(n, m) <= _EXACT_UP_TO:
        free = np.flatnonzero(~tied)
        u[free] = (first[free, :, None] > second[free, None, :]).sum(axis=(1, 2))
        p_values[free] = _untied_p_values(n, m)[u[free].astype(np.int64)]
    else:
        tied[:] = True
    for row in np.flatnonzero(tied):
        test = mann_whitney_u(first[row], second[row])
        u[row], p_values[row] = test.u, test.p_value
    return u, p_values
