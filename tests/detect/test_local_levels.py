from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.detect.local_levels import NEAR, LocalChange, estimate_sizes, local_changes
from knickpoint.detect.steps import build_steps

WAVE = np.tile([0.0, 1.0, 0.0, -1.0], 10)


def change(values: Sequence[float] | NDArray[np.float64], *places: int) -> LocalChange:
    """Measure the first of the steps at ``places``."""
    row = np.asarray(values, dtype=np.float64)
    return local_changes(row, build_steps(row, places, method="m"))[0]


def test_a_level_is_the_median_next_to_the_step() -> None:
    found = change([10, 10, 11, 9, 10, 20, 20, 21, 19, 20], 5)
    assert (found.before.median, found.after.median, found.size, found.relative_size) == (10, 20, 10, 1)


def test_drift_far_away_does_not_count() -> None:
    falling = np.concatenate([np.linspace(300, 100, 2000), np.full(NEAR, 100.0), np.full(40, 110.0)])
    found = change(falling, 2000 + NEAR)
    assert (found.size, found.relative_size) == (10, 0.1)
    assert build_steps(falling, [2000 + NEAR], method="m")[0].size < 0


def test_outliers_do_not_move_the_level_and_hardly_its_deviation() -> None:
    values = np.concatenate([100 + WAVE, 110 + WAVE])
    values[[30, 45]] = 1e6
    found = change(values, 40)
    assert found.size == 10
    assert found.deviation < 2


def test_the_level_behind_the_next_step_does_not_count() -> None:
    assert change([10] * 5 + [20] * 5 + [90] * 30, 5, 10).size == 10


def test_commits_without_a_value_are_passed_over() -> None:
    values = np.full(200, math.nan)
    values[::5] = [10.0] * 20 + [12.0] * 20
    assert change(values, 100).size == 2


def test_equal_levels_have_no_size_whatever_their_means_are() -> None:
    assert change([10, 10, 10, 10, 10, 10, 10, 19], 4).size == 0
    assert change([0.1 + 0.2] * 4 + [0.3] * 4, 4).size == 0


def test_a_change_from_nothing_is_infinite() -> None:
    assert change([0, 0, 0, 5, 5, 5], 3).relative_size == math.inf
    assert change([0, 0, 0, -5, -5, -5], 3).relative_size == -math.inf
    assert change([0, 0, 0, 0, 0, 0], 3).relative_size == 0


def test_values_of_which_most_are_equal_still_have_a_deviation() -> None:
    assert 0 < change([10] * 9 + [13] + [20] * 10, 10).deviation < 1
    assert change([10] * 10 + [20] * 10, 10).deviation == 0


def test_huge_values_have_levels_too() -> None:
    assert change([1.5e308] * 4 + [1.7e308] * 4, 4).before.median == 1.5e308


@given(st.lists(st.integers(-1000, 1000), min_size=4, max_size=60), st.data())
def test_a_series_turned_round_changes_by_as_much_the_other_way(values: list[int], data: st.DataObject) -> None:
    place = data.draw(st.integers(1, len(values) - 1))
    there, back = change([float(value) for value in values], place), change(values[::-1], len(values) - place)
    assert (there.size, there.deviation) == (-back.size, back.deviation)


@given(st.lists(st.integers(-1000, 1000), min_size=4, max_size=60), st.integers(-1000, 1000), st.data())
def test_a_shift_of_all_values_leaves_the_size(values: list[int], shift: int, data: st.DataObject) -> None:
    place = data.draw(st.integers(1, len(values) - 1))
    measured, other = change(values, place), change([value + shift for value in values], place)
    assert (measured.size, measured.deviation) == (other.size, other.deviation)


def noisy(seed: int, size: float, phi: float = 0.0) -> NDArray[np.float64]:
    """Return 80 values with a step of ``size`` in the middle, in noise of deviation 1, of which ``phi`` carries over."""
    shocks = np.random.default_rng(seed).standard_normal(80) * math.sqrt(1 - phi * phi)
    values = np.zeros(80)
    for place in range(80):
        values[place] = phi * values[place - 1] + shocks[place]
    values[40:] += size
    return 100 + values


def test_the_interval_holds_the_true_size_nearly_always() -> None:
    found = [change(noisy(seed, 2.0), 40) for seed in range(200)]
    assert 186 <= sum(each.low <= 2 <= each.high for each in found) <= 198


def test_the_interval_is_wider_where_neighbours_resemble_each_other() -> None:
    found = [change(noisy(seed, 2.0, phi=0.5), 40) for seed in range(200)]
    assert sum(each.low <= 2 <= each.high for each in found) >= 180


def test_the_sign_is_as_certain_as_the_noise_allows() -> None:
    assert change(noisy(0, 4.0), 40).sign > 0.9999
    assert all(change(noisy(seed, 0.0), 40).sign >= 0.5 for seed in range(20))


def test_too_few_values_give_no_interval() -> None:
    found = change([10, 11, 20], 2)
    assert all(math.isnan(number) for number in (found.low, found.high, found.sign))


def test_a_change_between_values_without_noise_is_exact() -> None:
    found = change([10] * 5 + [12] * 5, 5)
    assert (found.low, found.high, found.sign) == (2, 2, 1)


def test_the_interval_of_huge_values_is_finite_or_unknown() -> None:
    found = change(np.concatenate([1e300 + WAVE * 1e298, 1.5e300 + WAVE * 1e298]), 40)
    assert found.low < found.size < found.high


def test_an_estimate_of_a_step_is_measured_by_the_values_next_to_it() -> None:
    values = noisy(1, 3.0)
    (estimate,) = estimate_sizes(values, build_steps(values, [40], method="m"))
    found = change(values, 40)
    assert (estimate.before, estimate.after) == (found.before.median, found.after.median)
    assert (estimate.low, estimate.high, estimate.sign) == (found.low, found.high, found.sign)


@given(st.floats(0.001, 1000), st.floats(-1e4, 1e4))
def test_the_interval_scales_and_shifts_with_the_values(scale: float, shift: float) -> None:
    plain, moved = change(noisy(2, 3.0), 40), change(noisy(2, 3.0) * scale + shift, 40)
    assert math.isclose(moved.high - moved.low, (plain.high - plain.low) * scale, rel_tol=1e-6)
    assert math.isclose(moved.sign, plain.sign, rel_tol=1e-6)
