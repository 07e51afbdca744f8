from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from knickpoint.native.ranks import compare_ranks, compare_ranks_in_numpy


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 9),
    m=st.integers(1, 9),
    step=st.integers(1, 18),
    distinct=st.sampled_from([1, 2, 4, 12, 10**6]),
    seed=st.integers(0, 10**6),
)
def test_the_kernel_says_what_numpy_says(n: int, m: int, step: int, distinct: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, distinct, 5 * step + n + m).astype(np.float64)
    for found, expected in zip(
        compare_ranks(values, 6, step, n, m), compare_ranks_in_numpy(values, 6, step, n, m), strict=True
    ):
        assert found.tolist() == expected.tolist()


def _draws(values: np.ndarray[tuple[int], np.dtype[np.float64]], n: int) -> Counter[int]:
    """Count the draws of ``n`` values by the sum of their doubled ranks, value by value."""
    doubled = (2 * stats.rankdata(values)).astype(int).tolist()
    ways: list[Counter[int]] = [Counter({0: 1})] + [Counter() for _ in range(n)]
    for rank in doubled:
        for taken in range(n, 0, -1):
            for total, count in ways[taken - 1].items():
                ways[taken][total + rank] += count
    return ways[n]


@pytest.mark.parametrize(("n", "m", "distinct"), [(20, 20, 6), (25, 25, 40), (4, 25, 5), (25, 4, 3)])
def test_tails_of_tied_samples_count_every_draw(n: int, m: int, distinct: int) -> None:
    rng = np.random.default_rng(5)
    for shift in (-2, 0, 2):
        values = np.r_[rng.integers(0, distinct, n) + shift, rng.integers(0, distinct, m)].astype(np.float64)
        twice, tied, tail = compare_ranks(values, 1, n + m, n, m)
        sizes = Counter(values.tolist()).values()
        assert tied[0] == sum(size**3 - size for size in sizes)
        law = {total - n * (n + 1): ways for total, ways in _draws(values, n).items()}
        far = [ways for u, ways in law.items() if (u <= twice[0] if twice[0] <= n * m else u >= twice[0])]
        assert tail[0] == sum(far)


def test_large_samples_and_samples_without_ties_have_no_tail() -> None:
    values = np.arange(60.0)
    assert compare_ranks(values, 1, 1, 10, 10)[2].tolist() == [-1]
    assert compare_ranks(np.zeros(60), 1, 1, 26, 26)[2].tolist() == [-1]
