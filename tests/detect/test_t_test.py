from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from knickpoint.detect import find_steps, t_test
from knickpoint.detect.methods.t_test.method import t_statistic, weighted_sample
from knickpoint.model.errors import InputError
from knickpoint.model.step import Movement


def _series(seed: int = 3, *, at: int = 40, size: float = 6.0, length: int = 80) -> NDArray[np.float64]:
    values = 100 + np.random.default_rng(seed).normal(0, 1, length)
    values[at:] += size
    return values


def _indices(values: NDArray[np.float64], **parameters: Any) -> list[int]:
    return [step.index for step in t_test(values, **parameters).steps]


def _in_plain_loops(values: NDArray[np.float64]) -> list[int]:
    """Find changes as Perfherder describes its method, one value at a time."""

    def describe(window: list[float]) -> tuple[float, float]:
        weights = [(len(window) - place) / len(window) for place in range(len(window))]
        mean = sum(weight * value for weight, value in zip(weights, window, strict=True)) / sum(weights)
        squares = sum((value - mean) ** 2 for value in window)
        return mean, squares / (len(window) - 1) / len(window) if len(window) > 1 else 0.0

    series, strength, calm = values.tolist(), [0.0], 0
    for place in range(1, len(series)):
        back = min(max(calm, 12), 24)
        (before, noise), (after, other) = (
            describe(window) for window in (series[max(0, place - back) : place][::-1], series[place : place + 12])
        )
        strength.append(abs(after - before) / (noise + other) ** 0.5 if noise + other else 0.0)
        calm = 0 if strength[-1] > 7 else calm + 1
    padded = [*strength, 0.0]
    return [
        place
        for place in range(12, len(series) - 11)
        if strength[place] > 7 and strength[place] > padded[place - 1] and strength[place] > padded[place + 1]
    ]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.0, 3.0, 6.0, 20.0]), gap=st.integers(5, 40))
def test_the_answer_is_that_of_plain_loops(seed: int, size: float, gap: int) -> None:
    values = _series(seed, size=size, length=120)
    values[40 + gap :] -= 1.5 * size
    assert _indices(values) == _in_plain_loops(values)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.0, 3.0, 20.0]), plain=st.booleans())
def test_commits_of_one_value_each_are_judged_as_without_saying_so(seed: int, size: float, plain: bool) -> None:  # noqa: FBT001
    values = _series(seed, size=size)
    values[[5, 60]] = np.nan
    weights = "uniform" if plain else "triangular"
    with_commits, without = (
        t_test(values, weights=weights, commits=commits) for commits in (tuple(range(10**30, 10**30 + 80)), ())
    )
    assert [step.index for step in with_commits.steps] == [step.index for step in without.steps]
    for one, other in zip(with_commits.candidates, without.candidates, strict=True):
        assert [check.value for check in one.checks] == pytest.approx([check.value for check in other.checks], rel=1e-9)


def test_all_samples_of_a_commit_show_a_change_that_one_of_them_hides() -> None:
    samples = 100 + np.random.default_rng(7).normal(0, 2, (40, 6))
    samples[20:] += 3.0
    commits = tuple(np.repeat(np.arange(40), 6).tolist())
    assert _indices(samples.ravel(), fore=72, back=72, longest_back=72, commits=commits) == [20 * 6]
    assert _indices(samples[:, 0]) == []


def test_a_commit_begins_at_its_first_measured_value() -> None:
    values = np.repeat([10.0, 20.0], 30)
    values[30] = np.nan
    (step,) = t_test(values, commits=tuple(np.repeat(np.arange(20), 3).tolist())).steps
    assert (step.previous, step.index) == (29, 31)


@pytest.mark.parametrize(
    ("commits", "says"), [((0, 1), "2 commits for 80 values"), ((1,) * 79 + (0,), "the commits are not in order")]
)
def test_commits_that_do_not_fit_are_refused(commits: tuple[int, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        t_test(_series(), commits=commits)


def test_uniform_weights_give_the_t_of_welch() -> None:
    rng = np.random.default_rng(8)
    before, after = rng.normal(10, 1, 12), rng.normal(12, 2, 15)
    samples = (weighted_sample(each[None, :], np.array([each.size]), "uniform") for each in (before, after))
    expected = stats.ttest_ind(after, before, equal_var=False).statistic
    assert t_statistic(*samples)[0] == pytest.approx(expected)


def test_one_missing_value_changes_nothing_else() -> None:
    values = np.insert(_series(), 20, np.nan)
    assert _indices(values) == [41]
    assert _indices(np.r_[np.full(20, 3.0), np.nan, np.full(20, 3.0)]) == []


def test_an_infinite_t_is_certain_not_zero() -> None:
    values = np.r_[np.full(20, 344.0), np.full(20, 359.0)]
    (step,) = find_steps(values, method="t_test")
    assert (step.index, step.score) == (20, np.inf)


def test_equal_values_of_t_make_one_step() -> None:
    values = np.r_[np.full(20, 5.0), [6.0], np.full(20, 7.0)]
    assert len(t_test(values).steps) == 1


@pytest.mark.parametrize(("level", "size"), [(0.0, 6.0), (-50.0, 20.0), (-3.0, 6.0)])
def test_levels_of_zero_and_below_have_steps_like_any_other(level: float, size: float) -> None:
    values = _series(size=0.0) - 100 + level
    values[40:] += size
    (step,) = find_steps(values, method="t_test", minimum_effect=0.02)
    assert (step.index, step.movement) == (40, Movement.UP)


def test_a_step_down_is_found_like_a_step_up() -> None:
    (step,) = find_steps(_series(size=-6.0), method="t_test")
    assert (step.index, step.movement) == (40, Movement.DOWN)


def test_a_spike_is_no_step() -> None:
    values = _series(size=0.0)
    values[40] += 100
    assert _indices(values) == []


def test_the_plain_form_blames_the_first_above_its_threshold() -> None:
    values = _series(size=40.0)
    (first, *_) = _indices(values, preset="graphs")
    assert first <= 40
    assert _indices(values) == [40]


def test_rounding_is_not_a_change() -> None:
    values = np.r_[np.full(20, 0.1 + 0.2), np.full(20, 0.3)]
    assert _indices(values) == []


def test_every_place_says_why_it_is_none() -> None:
    detection = t_test(_series())
    reasons = {candidate.index: candidate.reason for candidate in detection.candidates}
    assert reasons[40] == ""
    assert reasons[41] == "t is larger at a neighbour"
    assert "values before is 5, not >= 12" in reasons[5]
    assert "t is" in reasons[20]


@pytest.mark.parametrize("values", [[], [1.0], [np.nan] * 40, [3.0] * 40])
def test_series_without_a_change_have_no_steps(values: list[float]) -> None:
    assert _indices(np.array(values)) == []


def test_impossible_windows_are_refused() -> None:
    with pytest.raises(InputError, match="longest_back=5"):
        t_test(_series(), longest_back=5)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), scale=st.sampled_from([2.0**-30, 2.0**20]), shift=st.sampled_from([-64.0, 0.0, 1024.0])
)
def test_shift_and_scale_change_nothing(seed: int, scale: float, shift: float) -> None:
    values = _series(seed)
    assert _indices(values) == _indices(values * scale + shift * scale)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_with_windows_of_one_length_the_mirrored_series_has_the_mirrored_steps(seed: int) -> None:
    values = _series(seed)
    back = [values.size - index for index in _indices(values[::-1].copy(), longest_back=12)]
    assert _indices(values, longest_back=12) == sorted(back)
