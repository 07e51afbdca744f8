"""Sums of many traces: their change, its interval, and what does not count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.calc import combine_trends, trend_of

COMMITS = 120


def traces(
    noise: np.random.Generator, *, change: float, number: int = 30, scatter: float = 0.02, commits: int = COMMITS
) -> NDArray[np.float64]:
    """Return traces of very different levels that all change by the factor ``1 + change`` in the middle."""
    levels = np.exp(noise.uniform(-10, 10, (number, 1)))
    steps = np.where(np.arange(commits) < commits // 2, 1.0, 1.0 + change)
    return np.asarray(levels * steps * np.exp(noise.normal(0, scatter, (number, commits))))


def test_the_change_is_the_ratio_of_the_geometric_means_whatever_the_levels() -> None:
    found = trend_of(traces(np.random.default_rng(1), change=0.1), np.ones(30), 30)
    assert math.expm1(found.change) == pytest.approx(0.1, abs=0.01)
    assert (found.used, found.population) == (30, 30)


def test_a_trace_for_which_higher_is_better_counts_by_its_inverse() -> None:
    values = traces(np.random.default_rng(2), change=0.1)
    values[15:] = 1 / values[15:]
    found = trend_of(values, np.repeat([1.0, -1.0], 15), 30)
    assert math.expm1(found.change) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(("read", "common"), [(200, 0.0), (200, 0.03), (40, 0.0)])
def test_the_interval_holds_the_truth_as_often_as_it_says(read: int, common: float) -> None:
    """Of 100 intervals of 95 %, fewer than 88 with the truth would come once in 1,000 times."""
    noise = np.random.default_rng(3)
    held = 0
    for _ in range(100):
        values = traces(noise, change=0.0, number=200, commits=60)
        factors = noise.normal(0.05, 0.2, 200)  # each trace has a change of its own
        values[:, 30:] *= np.exp(factors)[:, np.newaxis]
        values *= np.exp(noise.normal(0, common, 60)) if common else 1.0  # what all traces share at a commit
        found = trend_of(values[:read], np.ones(read), 200)
        held += abs(found.change - factors.mean()) < 1.96 * found.deviation
    assert held >= 88


def test_gaps_keep_the_value_before_them_and_traces_of_one_end_do_not_count() -> None:
    values = traces(np.random.default_rng(4), change=0.1)
    values[:10, ::2] = np.nan
    values[10:15, : COMMITS // 2] = np.nan
    found = trend_of(values, np.ones(30), 30)
    assert math.expm1(found.change) == pytest.approx(0.1, abs=0.01)
    assert found.used == 25


@pytest.mark.parametrize(
    "values", [np.empty((0, 30)), np.full((3, 30), np.nan), np.full((3, 30), -1.0), np.ones((3, 2))]
)
def test_without_values_there_is_no_change(values: NDArray[np.float64]) -> None:
    found = trend_of(values, np.ones(len(values)), 3)
    assert math.isnan(found.change)
    assert combine_trends([found]) is None


def test_parts_count_by_how_many_traces_they_have() -> None:
    noise = np.random.default_rng(5)
    small = trend_of(traces(noise, change=0.4, number=10), np.ones(10), 10)
    large = trend_of(traces(noise, change=0.0, number=10), np.ones(10), 90)
    whole = combine_trends([small, large])
    assert whole is not None
    assert whole.change == pytest.approx(0.1 * math.log(1.4), abs=0.01)
    assert (whole.used, whole.population) == (20, 100)
