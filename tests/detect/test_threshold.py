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
        ({"times": (1.0, 0.0, 2.0)}, "the times fall"),
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
