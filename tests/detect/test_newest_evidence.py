"""The newest values prove a change when noise of any law would rarely look like them, at all looks together."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from knickpoint.detect.newest_evidence import BOUND, MOST_BEFORE, rank_chance, weigh_newest


@pytest.mark.parametrize(("before", "newest"), [(2, 2), (3, 3), (5, 2), (2, 4)])
def test_the_chance_by_ranks_is_a_count_of_all_orders(before: int, newest: int) -> None:
    orders = {tuple(sorted(order[:newest])) for order in permutations(range(before + newest))}
    pairs = [sum(new > old for new in order for old in set(range(before + newest)) - set(order)) for order in orders]
    for least in range(before * newest + 1):
        expected = sum(each >= least for each in pairs) / len(pairs)
        assert rank_chance(before, newest, least) == pytest.approx(expected)


@given(st.integers(3, 40), st.integers(3, 24), st.data())
def test_the_chance_by_ranks_is_that_of_mann_and_whitney(before: int, newest: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(before + newest)))
    new, old = np.array(order[:newest], float), np.array(order[newest:], float)
    expected = mannwhitneyu(new, old, alternative="greater", method="exact")
    assert rank_chance(before, newest, int(expected.statistic)) == pytest.approx(expected.pvalue, rel=1e-6)


def test_three_values_half_as_large_again_are_certain_in_one_percent_of_noise() -> None:
    random = np.random.default_rng(1)
    before, newest = 100 + random.standard_normal(20), 150 + random.standard_normal(3)
    assert weigh_newest(before, newest, up=True).certain
    assert not weigh_newest(before, newest[:2], up=True).ranks <= BOUND


def test_a_change_of_little_more_than_the_noise_is_not_certain_after_three_values() -> None:
    random = np.random.default_rng(1)
    before, newest = 100 + random.standard_normal(60), 101.2 + random.standard_normal(3)
    assert not weigh_newest(before, newest, up=True).certain


def test_values_in_the_other_direction_prove_nothing() -> None:
    random = np.random.default_rng(1)
    assert not weigh_newest(100 + random.standard_normal(20), 50 + random.standard_normal(5), up=True).certain


def test_neighbours_that_resemble_each_other_say_less() -> None:
    random = np.random.default_rng(1)
    alone = random.standard_normal(60)
    alike = np.repeat(alone[:20], 3)
    newest = np.full(5, float(np.sort(alone)[-3]))
    weaker, stronger = weigh_newest(alike, newest, up=True), weigh_newest(np.sort(alike), newest, up=True)
    assert weigh_newest(alone, newest, up=True).strength < weaker.strength
    assert stronger.phi == 0.8


def test_a_level_without_noise_is_left_for_certain() -> None:
    assert weigh_newest(np.full(10, 5.0), np.full(3, 5.1), up=True).certain
    assert not weigh_newest(np.full(10, 5.0), np.full(3, 5.0), up=True).certain


@given(st.floats(1e-300, 1e300), st.booleans())
def test_units_and_directions_make_no_difference(unit: float, up: bool) -> None:  # noqa: FBT001
    random = np.random.default_rng(1)
    before, newest = random.uniform(0.5, 1, 30), random.uniform(1, 2, 4)
    sign = 1 if up else -1
    assert weigh_newest(sign * unit * before, sign * unit * newest, up=up).strength == pytest.approx(
        weigh_newest(before, newest, up=True).strength, rel=1e-6
    )


@pytest.mark.long
def test_noise_reaches_the_bound_no_more_often_than_is_promised() -> None:
    """Look at each value of normal and of heavy-tailed noise, with several numbers of newest values."""
    random = np.random.default_rng(1)
    looks = certain = 0
    for noise in (random.standard_normal((10, 100)), random.standard_t(3, (10, 100))):
        for series in noise:
            for end in range(MOST_BEFORE // 2, series.size):
                looks += 1
                certain += any(
                    weigh_newest(series[: end - newest], series[end - newest : end], up=up).certain
                    for newest in (3, 6, 14)
                    for up in (True, False)
                )
    assert looks == 1000
    assert certain == 0
