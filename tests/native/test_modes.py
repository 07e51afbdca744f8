from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knickpoint.native import COMPILED
from knickpoint.native.modes import (
    MOST_LEVELS,
    VisitChances,
    divide_visits,
    divide_visits_in_numpy,
    medians_of_modes,
    medians_of_modes_in_numpy,
    sort_into_modes,
    sort_into_modes_in_numpy,
)

pytestmark = pytest.mark.skipif(not COMPILED, reason="the kernels were not built")


@given(st.integers(0, 10**6), st.integers(1, 200), st.integers(1, MOST_LEVELS))
def test_compiled_and_python_find_the_same_modes(seed: int, size: int, count: int) -> None:
    draw = np.random.default_rng(seed)
    levels = np.sort(draw.integers(0, 100, count)).astype(np.float64)
    values = levels[np.repeat(draw.integers(0, count, size), 4)[:size]] + draw.normal(size=size)
    for rounds in (1, 2):
        (labels, medians), (expected, others) = (
            find(values, levels, 1.0, 4.5, 3.0, rounds) for find in (sort_into_modes, sort_into_modes_in_numpy)
        )
        assert labels.tolist() == expected.tolist()
        assert medians.tolist() == others.tolist()


def test_a_mode_without_values_has_no_median() -> None:
    values, labels = np.array([3.0, 1.0, 2.0, 8.0, 9.0]), np.array([0, 0, 0, 2, 2])
    for find in (medians_of_modes, medians_of_modes_in_numpy):
        assert np.array_equal(find(values, labels, 3), [2.0, np.nan, 8.5], equal_nan=True)


def test_a_lone_spike_is_not_a_visit_and_two_values_are() -> None:
    spike, visit = (np.array([0.0] * 9 + [10.0] * length + [0.0] * 9) for length in (1, 2))
    levels = np.array([0.0, 10.0])
    assert sort_into_modes(spike, levels, 1.0, 4.5, 3.0, 1)[0].sum() == 0
    assert np.flatnonzero(sort_into_modes(visit, levels, 1.0, 4.5, 3.0, 1)[0]).tolist() == [9, 10]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(2, 5))
def test_compiled_and_numpy_divide_visits_alike(seed: int, count: int, distinct: int) -> None:
    draw = np.random.default_rng(seed)
    turns = draw.integers(1, distinct, count)
    modes = np.unique(np.cumsum(turns) % distinct, return_inverse=True)[1].astype(np.int64)
    lengths = draw.integers(1, 30, count)
    starts = np.unique(np.append(0, draw.integers(0, count, count)))
    step, change, other = (-6 * draw.random(count) for _ in range(3))
    chances = VisitChances(step, change, other, -2.3, -0.1, -0.5, -0.9)
    (found, total), (expected, other_total) = (
        divide(modes, lengths, starts, chances) for divide in (divide_visits, divide_visits_in_numpy)
    )
    assert found == expected
    assert total == pytest.approx(other_total, rel=1e-9)
