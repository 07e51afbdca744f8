from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.detect import find_steps, threshold
from knickpoint.model.errors import InputError
from knickpoint.model.step import Movement


def _indices(values: Sequence[float], **parameters: Any) -> list[int]:
    return [step.index for step in threshold(np.array(values, dtype=np.float64), **parameters).steps]


def test_a_jump_from_one_run_to_the_next_is_found() -> None:
    (step,) = find_steps([100, 100, 106, 106], method="threshold")
    assert (step.index, step.movement) == (2, Movement.UP)
    assert step.score == pytest.approx(0.06)
    assert _indices([100, 100, 104, 104]) == []


def test_a_creep_is_seen_against_a_run_of_some_commits_ago() -> None:
    creep = [100 + place for place in range(12)]
    assert _indices(creep) == []
    assert _indices(creep, previous=False, ago=7) == [7]


def test_no_run_is_longer_ago_than_the_series_is_long() -> None:
    assert _indices([1.0, 2.0, 3.0], previous=False, ago=2**63) == []


def test_a_change_is_reported_once_though_many_commits_see_it() -> None:
    values = [100.0] * 10 + [120.0] * 10
    assert _indices(values, previous=False, ago=7) == [10]
    assert _indices(values, ago=7) == [10]
    detection = threshold(np.array(values), previous=False, ago=7)
    reasons = {candidate.index: candidate.reason for candidate in detection.candidates}
    assert reasons[11] == "the change began at an earlier commit"


def test_every_value_is_compared_with_the_last_release_before_it() -> None:
    values = [100, 103, 106, 109, 109, 112, 115, 118]
    assert _indices(values, previous=False, releases=(0, 4)) == [2, 6]


def test_times_say_which_run_is_a_week_old() -> None:
    times = (0.0, 1.0, 2.0, 8.0, 8.5, 9.5)
    values = [100, 100, 102, 104, 104, 108]
    assert _indices(values, previous=False, times=times, age=7) == [5]


def test_both_bounds_have_to_hold() -> None:
    assert _indices([1.0, 2.0], absolute=5) == []
    assert _indices([1.0, 7.0], absolute=5) == [1]


def test_the_exact_preset_sees_the_smallest_change_of_a_count() -> None:
    assert _indices([1_000_000, 1_000_000, 1_000_001], preset="exact") == [2]


def test_a_change_from_zero_is_infinite_and_found() -> None:
    (step,) = find_steps([0, 0, 3], method="threshold")
    assert (step.index, step.score, step.relative_size) == (2, np.inf, np.inf)


def test_negative_levels_have_changes_like_any_other() -> None:
    (step,) = find_steps([-100, -100, -110], method="threshold")
    assert (step.index, step.movement) == (2, Movement.DOWN)


@pytest.mark.parametrize(("before", "after"), [(19.9, 19.701), (0.7, 0.693), (1.1, 1.111)])
def test_a_change_of_exactly_the_bound_counts_whatever_binary_fractions_make_of_it(before: float, after: float) -> None:
    assert _indices([before, after], change=0.01) == [1]


def test_a_level_is_compared_with_the_median_of_the_runs_before_it() -> None:
    values = [100.0, 130.0, 100, 100, 104, 100, 100, 100, 108, 108, 108]
    assert _indices(values, previous=False, trailing=5) == [8]
    assert _indices(values[:5], previous=False, trailing=5) == []


def _noisy(seed: int = 5) -> list[float]:
    return [float(value) for value in np.random.default_rng(seed).normal(100, 1, 80)]


def test_usual_changes_are_no_steps_and_an_unusual_one_is() -> None:
    values = _noisy()
    assert _indices(values, change=0.01)
    assert _indices(values, change=0.0, deviations=6) == []
    values[40] += 20
    assert _indices(values, change=0.0, deviations=6) == [40, 41]


def test_a_spike_is_not_confirmed_by_the_next_value_and_a_step_is() -> None:
    values = _noisy()
    values[30] += 20
    values[50:] = [value + 10 for value in values[50:]]
    assert _indices(values, preset="mozdetect", confirm=False) == [30, 50]
    assert _indices(values, preset="mozdetect") == [50]
    reasons = {each.index: each.reason for each in threshold(np.array(values), preset="mozdetect").candidates}
    assert reasons[30] == "the next value does not confirm it"
    assert reasons[51] == "the change began at an earlier commit"


def test_the_newest_value_is_not_confirmed_yet() -> None:
    assert _indices([*_noisy(), 130.0], preset="mozdetect") == []
    assert _indices([*_noisy(), 130.0, 131.0], preset="mozdetect") == [80]


def test_what_is_usual_takes_fourteen_changes_to_know() -> None:
    assert _indices([1.0, 2.0] * 7 + [90.0], change=0.0, deviations=6) == [14]
    assert _indices([1.0, 2.0] * 6 + [1.0, 90.0], change=0.0, deviations=6) == []


def test_where_most_changes_are_equal_the_mean_says_what_is_usual() -> None:
    assert _indices([7.0] * 40 + [9.0] * 40, change=0.0, deviations=6) == [40]
    assert _indices([7.0, 7.0, 7.0, 8.0] * 20, change=0.0, deviations=6) == []


def test_missing_values_are_no_change() -> None:
    (step,) = find_steps([100, np.nan, 100, np.nan, 110], method="threshold")
    assert (step.index, step.previous) == (4, 2)


@pytest.mark.parametrize("values", [[], [1.0], [np.nan] * 9, [3.0] * 9])
def test_series_without_a_change_have_no_steps(values: list[float]) -> None:
    assert _indices(values, ago=2) == []


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"change": -0.1}, "0 or more"),
        ({"releases": (9,)}, "releases are 9"),
        ({"times": (1.0,)}, "1 times for 3 values"),
        ({"times": (1.0, 0.0, 2.0)}, "the times are not in order"),
        ({"previous": False}, "nothing to compare with"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        _indices([1, 2, 3], **parameters)


@given(st.lists(st.integers(1, 50), max_size=30), st.sampled_from([0.25, 1024.0]))
def test_a_positive_scale_changes_nothing(numbers: list[int], scale: float) -> None:
    assert _indices([float(each) for each in numbers], ago=3) == _indices([each * scale for each in numbers], ago=3)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=30))
def test_against_the_previous_run_every_large_enough_difference_is_a_step(numbers: list[int]) -> None:
    wanted = [
        place
        for place in range(1, len(numbers))
        if abs(numbers[place] - numbers[place - 1]) / numbers[place - 1] >= 0.3
    ]
    assert _indices([float(each) for each in numbers], change=0.3) == wanted
