"""The Mann-Whitney U test: exact for small samples, with ties too, and the normal approximation above.

U counts the pairs in which the value of the first sample is larger, ties as half. The kernel ``ranks`` counts U and,
for tied samples, the arrangements whose U is as extreme. Without ties the distribution of U depends on the sizes alone;
the recurrence of Mann and Whitney (1947) counts it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.ranks import LARGEST_TIED, compare_ranks

_EXACT_UP_TO: Final = 50
"""Samples up to this size each get the exact distribution when no value is tied."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankTest:
    """The result of the test: ``u`` counts pairs (first > second), ties as half; ``p_value`` is two-sided.

    ``p_value`` is ``nan`` where the test has no answer: a sample is empty, or all values are equal.
    """

    u: float
    p_value: float


@lru_cache(maxsize=64)
def _untied(n: int, m: int) -> Floats:
    """Return the two-sided p of each U of samples of ``n`` and ``m`` values without ties.

    In each arrangement of i and j values, the largest value is either one of the i, which adds j to U, or one of the j,
    which adds nothing.
    """
    # ways[j, u]: arrangements of j values and as many of the others as the loop has counted, by their U.
    ways = np.zeros((m + 1, n * m + 1))
    ways[:, 0] = 1.0
    for _ in range(n):
        for j in range(1, m + 1):
            ways[j, j:] = ways[j, :-j].copy()
            ways[j, :j] = 0.0
            ways[j] += ways[j - 1]
    low = np.cumsum(ways[m])
    return np.asarray(np.minimum(2.0 * np.minimum(low, low[::-1]) / low[-1], 1.0))


def _normal(u: Floats, n: int, m: int, tied: Floats) -> Floats:
    """Return the two-sided p of each U by the normal approximation, with corrections for ties and for continuity."""
    total = n + m
    deviation = np.sqrt(n * m / 12.0 * (total + 1 - tied / (total * (total - 1))))
    distance = np.maximum(np.abs(u - n * m / 2.0) - 0.5, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = distance / deviation / math.sqrt(2.0)
    return np.array([math.erfc(deviations) for deviations in z])


def _test(values: Floats, rows: int, step: int, n: int, m: int) -> tuple[Floats, Floats]:
    """Return U and p of each pair of samples.

    The arguments are those of :func:`knickpoint.native.ranks.compare_ranks`.
    """
    if not min(n, m, rows):
        return np.full(rows, np.nan), np.full(rows, np.nan)
    twice, tied, tail = compare_ranks(values, rows, step, n, m)
    u = twice / 2
    total = n + m
    # Small samples have the exact distribution, ties included; larger ones the normal approximation.
    # Small samples have the exact distribution, ties included; larger ones the normal approximation.
    if max(n, m) <= LARGEST_TIED:
        p_values = np.minimum(2.0 * tail / math.comb(total, n), 1.0)
        p_values[twice == n * m] = 1.0
    else:
        p_values = _normal(u, n, m, tied)
    # Without ties the distribution is exact up to a larger size.
    # Without ties the distribution is exact up to a larger size.
    if max(n, m) <= _EXACT_UP_TO:
        apart = tied == 0
        p_values[apart] = _untied(n, m)[u[apart].astype(np.int64)]
    # Where all values are equal there is no answer.
    # Where all values are equal there is no answer.
    p_values[tied == float(total) ** 3 - total] = np.nan
    return u, p_values


def mann_whitney_u(first: NDArray[np.floating], second: NDArray[np.floating]) -> RankTest:
    """Test whether values of ``first`` tend to be larger or smaller than those of ``second``.

    Both are 1-D without missing values. The distribution of U is exact up to 50 values each without ties, and
    up to 25 with ties; above, it is the normal approximation with corrections for ties and continuity. The exact
    p-value is twice the smaller tail, 1 at most.
    """
    u, p_values = mann_whitney_rows(first[None, :], second[None, :])
    return RankTest(float(u[0]), float(p_values[0]))


def mann_whitney_rows(first: NDArray[np.floating], second: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Test each row of ``first`` against that of ``second``, matrices without missing values; return U and p."""
    rows, n = first.shape
    both = np.concatenate([first, second], axis=1, dtype=np.float64)
    return _test(both.ravel(), rows, both.shape[1], n, second.shape[1])


def mann_whitney_slid(values: Floats, radius: int) -> tuple[Floats, Floats]:
    """Test every run of ``radius`` consecutive ``values`` against the run after it; return U and p."""
    return _test(np.ascontiguousarray(values), values.size - 2 * radius + 1, 1, radius, radius)
