"""The searches that the bisection benchmark compares with, where no data of other projects is needed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from bisection_answers import Answers, normal, uniform
from bisection_pinpoint import Thresholds, Verdict, compare, mann_whitney, search_pinpoint
from bisection_references import optimal_rounds, search_measured, search_pass_fail

_ALWAYS_SAME = Thresholds(low=0.05, high=((0.0,),), first=0.3, step=0.1)


def test_answers_depend_on_seed_search_place_and_number_alone() -> None:
    cells = np.array(list(product(range(9), range(9), range(9))))
    drawn = uniform(3, *cells.T)
    assert len(set(drawn.tolist())) == len(cells)
    assert np.array_equal(drawn[::-1], uniform(3, *cells[::-1].T))
    assert not np.any(drawn == uniform(4, *cells.T))


def test_answers_have_the_level_the_deviation_and_the_error_that_are_stated() -> None:
    search = np.arange(40_000)
    zeros = np.zeros_like(search)
    noise = normal(1, search, zeros + 5, zeros)
    assert (noise.mean(), noise.std()) == pytest.approx((0, 1), abs=0.02)
    values = Answers(1, delta=2.0).values(search, zeros + 5, zeros, np.where(search % 2, 5, 6))
    assert np.allclose(values - noise, np.where(search % 2, 2.0, 0.0))
    passed = Answers(1, error=0.2).passed(search, zeros + 5, zeros, np.where(search % 2, 5, 6))
    assert [passed[search % 2 == 1].mean(), passed[search % 2 == 0].mean()] == pytest.approx([0.2, 0.8], abs=0.01)


def test_searches_without_noise_take_the_optimal_rounds_at_most() -> None:
    culprits = np.arange(1, 65)
    for devices in (1, 3, 7):
        found = search_pass_fail(64, devices, Answers(1, error=1e-9), culprits)
        assert not found.wrong.any()
        assert found.rounds.max() == optimal_rounds(64, devices)


def test_searches_in_blocks_find_what_one_search_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    culprits = np.arange(1, 33)
    whole = search_measured(32, 2, Answers(1, delta=1.5), culprits)
    monkeypatch.setattr("bisection_references._BLOCK", 100)
    parts = search_measured(32, 2, Answers(1, delta=1.5), culprits)
    assert np.array_equal(whole.tests, parts.tests)
    assert np.array_equal(whole.wrong, parts.wrong)


def test_the_u_test_is_that_of_scipy() -> None:
    random = np.random.default_rng(1)
    for size in (3, 10, 40):
        a, b = random.integers(0, 20, size).astype(float), random.integers(3, 23, size + 4).astype(float)
        wanted = mannwhitneyu(a, b, method="asymptotic").pvalue
        assert mann_whitney(a, b) == pytest.approx(wanted)


def test_a_change_in_the_better_direction_is_none_for_pinpoint() -> None:
    a, b = np.arange(10.0), np.arange(20.0, 30.0)
    verdicts = [compare(a, b, 20.0, _ALWAYS_SAME, improvement=sign) for sign in (-1, 0, 1)]
    assert verdicts == [Verdict.DIFFERENT, Verdict.DIFFERENT, Verdict.SAME]


def test_pinpoint_halves_the_range_ten_attempts_at_a_time() -> None:
    found = search_pinpoint(16, Answers(2, delta=50.0), 0, 11, _ALWAYS_SAME)
    assert 11 in found.culprits
    assert found.tests >= 10 * (2 + 4)
    assert found.tests % 10 == 0
