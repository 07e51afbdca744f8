from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import in_the_long_run

from knickpoint.detect import judge
from knickpoint.detect.judgement import may_be_changes
from knickpoint.detect.outliers import find_outliers, find_outliers_of_noise, may_be_outlier, rounding, student_quantile
from knickpoint.model.errors import InputError, SeriesError
from knickpoint.model.step import Verdict

HISTORY = np.random.default_rng(1).normal(100, 2, 80)


def test_samples_far_above_a_lower_is_better_level_regressed() -> None:
    assert judge(HISTORY, [112, 111, 113], better="lower").verdict is Verdict.REGRESSED


def test_samples_far_above_a_higher_is_better_level_improved() -> None:
    assert judge(HISTORY, [112, 111, 113], better="higher").verdict is Verdict.IMPROVED


def test_a_change_of_unknown_direction_counts_as_a_regression_and_says_so() -> None:
    judgement = judge(HISTORY, [88, 89, 87])
    assert judgement.verdict is Verdict.REGRESSED
    assert "the better direction is unknown" in judgement.reason


def test_samples_of_the_same_level_are_unchanged() -> None:
    assert judge(HISTORY, [100.5, 99, 101], better="lower").verdict is Verdict.UNCHANGED


def test_the_reason_of_an_unchanged_level_is_the_number_that_fell_short() -> None:
    reason = judge(HISTORY, [100.5, 100, 99]).reason
    assert reason.startswith("the distance from the level is 0.")
    assert ", not > " in reason
    assert judge(HISTORY, [106, 107, 108], minimum_effect=0.1).reason.startswith("the distance over the level is 0.0")


def test_a_lone_spike_is_never_an_unconditional_finding() -> None:
    judgement = judge(HISTORY, 150, better="lower")
    assert judgement.conditional
    assert "measure again" in judgement.reason


def test_several_samples_are_not_conditional() -> None:
    assert not judge(HISTORY, [112, 111, 113]).conditional


def test_one_spike_among_samples_changes_nothing() -> None:
    assert judge(HISTORY, [100, 150, 99.5]).verdict is Verdict.UNCHANGED


def test_the_region_begins_at_the_last_step() -> None:
    history = np.concatenate((HISTORY, HISTORY[:40] + 30))
    judgement = judge(history, [130, 131, 129], better="lower")
    assert judgement.region is not None
    assert judgement.region.first == 80
    assert judgement.verdict is Verdict.UNCHANGED


@pytest.mark.parametrize("history", [[], [math.nan] * 9, [1.0, 2.0, 3.0, 2.0]])
def test_too_little_history_is_no_data(history: list[float]) -> None:
    assert judge(history, 5.0).verdict is Verdict.NO_DATA


def test_no_new_sample_is_no_data() -> None:
    assert judge(HISTORY, [math.nan]).verdict is Verdict.NO_DATA


def test_noise_that_hides_a_large_effect_is_unstable() -> None:
    wild = np.random.default_rng(2).lognormal(0, 1.0, 40)
    assert judge(wild, 1.0).verdict is Verdict.UNSTABLE


def test_an_effect_below_the_minimum_is_unchanged() -> None:
    assert judge(HISTORY, [112, 111, 113], minimum_effect=0.2).verdict is Verdict.UNCHANGED


@pytest.mark.parametrize("minimum", [0.05, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("samples", [[100.5], [100.5, 99, 101], [103.0, 103.5, 102.5]])
def test_a_minimum_effect_beyond_the_noise_leaves_a_level_unchanged(minimum: float, samples: list[float]) -> None:
    assert judge(HISTORY, samples, minimum_effect=minimum).verdict is Verdict.UNCHANGED


def test_a_change_beyond_a_large_minimum_effect_counts() -> None:
    assert judge(HISTORY, [170, 171, 169], minimum_effect=0.5, better="lower").verdict is Verdict.REGRESSED
    assert judge(HISTORY, [140, 141, 139], minimum_effect=0.5, better="lower").verdict is Verdict.UNCHANGED


def test_noise_that_hides_the_minimum_effect_is_unstable() -> None:
    wild = np.random.default_rng(2).lognormal(0, 1.0, 40)
    assert judge(wild, 1.0, minimum_effect=0.5).verdict is Verdict.UNSTABLE


@given(
    st.integers(0, 2**32),
    st.floats(0.001, 0.8),
    st.sampled_from([1.0, 1.1, 1.6, 3.0]),
    st.floats(0.001, 3),
    st.floats(0.001, 3),
)
def test_a_larger_minimum_effect_makes_verdicts_unchanged_and_nothing_else(
    seed: int, noise: float, factor: float, first: float, second: float
) -> None:
    rng = np.random.default_rng(seed)
    history = 100 * rng.lognormal(0, noise, 40)
    new = 100 * factor * rng.lognormal(0, noise, int(rng.integers(1, 4)))
    verdicts = [judge(history, new, minimum_effect=effect).verdict for effect in (0.0, *sorted((first, second)))]
    for smaller, larger in itertools.pairwise(verdicts):
        assert larger in {smaller, Verdict.UNCHANGED}


def test_more_samples_see_smaller_effects() -> None:
    seen = [judge(HISTORY, [100.0] * count).detectable for count in (1, 3, 9)]
    assert seen == sorted(seen, reverse=True)


@pytest.mark.parametrize("samples", [3, *in_the_long_run(1, 8)])
@pytest.mark.parametrize("family", ["normal", "lognormal", "two modes", "outliers"])
def test_the_detectable_effect_is_seen_in_four_cases_of_five(samples: int, family: str) -> None:
    rng = np.random.default_rng(7)
    families: dict[str, Callable[[int], NDArray[np.float64]]] = {
        "normal": lambda count: rng.normal(0, 1, count),
        "lognormal": lambda count: rng.lognormal(0, 0.75, count),
        "two modes": lambda count: 4 * (rng.random(count) < 0.3) + rng.normal(0, 1, count),
        "outliers": lambda count: rng.normal(0, 1, count) + 10 * (rng.random(count) < 0.02),
    }
    seen = 0
    for _ in range(100):
        values = 100 + families[family](100 + samples)
        effect = judge(values[:100], values[100:]).detectable
        seen += judge(values[:100], values[100:] + effect, better="lower").verdict is Verdict.REGRESSED
    assert seen >= 72  # of 100; eight in ten promised, less two standard errors


def test_an_effect_that_is_not_wanted_is_not_called_detectable() -> None:
    judgement = judge(HISTORY, [100.0] * 9, minimum_effect=0.1)
    assert judgement.detectable_relative > 0.1


@pytest.mark.parametrize("samples", [1, 3, 8])
def test_alpha_is_the_share_of_false_verdicts_on_normal_noise(samples: int) -> None:
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(400):
        noise = rng.normal(100, 1, 20 + samples)
        found += judge(noise[:20], noise[20:]).verdict is Verdict.REGRESSED
    assert found <= 10  # at 1 %; by the variance of means for what are medians it would be about 12


def test_a_run_of_correlated_samples_is_seldom_a_change() -> None:
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(200):
        noise = rng.normal(0, 1, 38)
        for t in range(1, 38):
            noise[t] += 0.5 * noise[t - 1]
        found += judge(100 + noise[:30], 100 + noise[30:]).verdict is Verdict.REGRESSED
    assert found <= 10


def test_autocorrelated_noise_widens_the_interval() -> None:
    rng = np.random.default_rng(5)
    noise = np.zeros(200)
    for t in range(1, 200):
        noise[t] = 0.6 * noise[t - 1] + rng.normal()
    together, apart = judge(noise + 100, [100.0] * 5), judge(rng.permutation(noise) + 100, [100.0] * 5)
    assert together.high - together.low > 1.2 * (apart.high - apart.low)


def test_a_constant_history_tells_any_other_value() -> None:
    assert judge([7.0] * 10, 8.0, better="lower").verdict is Verdict.REGRESSED
    assert judge([7.0] * 10, 7.0, better="lower").verdict is Verdict.UNCHANGED


def test_of_a_long_region_the_newest_thousand_values_tell_the_noise() -> None:
    history = np.random.default_rng(8).normal(100, 1, 50_000)
    judgement, newest = judge(history, [103.0, 103.2]), judge(history[-1000:], [103.0, 103.2])
    assert judgement.region is not None
    assert judgement.region.count == 50_000
    assert judgement.low == newest.low
    assert judgement.verdict is newest.verdict is Verdict.REGRESSED


def test_missing_values_of_the_history_do_not_count() -> None:
    gaps = np.full(160, np.nan)
    gaps[::2] = HISTORY
    assert judge(gaps, [112, 111, 113]).size == judge(HISTORY, [112, 111, 113]).size


def test_an_infinite_sample_is_refused_with_its_index() -> None:
    with pytest.raises(SeriesError, match="index 1"):
        judge(HISTORY, [1.0, math.inf])


@pytest.mark.parametrize("new", [[[1.0, 2.0], [3.0]], np.ones((2, 2)), "quick", np.array([1j])])
def test_samples_that_are_no_list_of_numbers_are_refused(new: Any) -> None:
    with pytest.raises(SeriesError):
        judge(HISTORY, new)


@pytest.mark.parametrize(
    "new", [101, np.float32(101), np.array(101.0), [101], (101.0,), np.ma.array([101, 7], mask=[False, True])]
)
def test_one_sample_may_come_in_any_form(new: Any) -> None:
    assert (judge(HISTORY, new).samples, judge(HISTORY, new).level) == (1, 101)


def test_an_unknown_direction_is_refused() -> None:
    with pytest.raises(InputError, match="lower, higher or unknown"):
        judge(HISTORY, 1.0, better="smaller")


@pytest.mark.parametrize(("samples", "bearable"), [(1, 0.03), (3, 0.04)])
def test_false_verdicts_on_unchanged_noise_are_rare(samples: int, bearable: float) -> None:
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(300):
        noise = rng.standard_t(4, 60 + samples) + 50
        found += judge(noise[:60], noise[60:]).verdict is Verdict.REGRESSED
    assert found / 300 <= bearable


@settings(max_examples=30, deadline=None)
@given(st.floats(-100, 100), st.floats(0.01, 100))
def test_a_verdict_does_not_depend_on_scale(sample: float, scale: float) -> None:
    plain = judge(HISTORY, sample, better="lower", largest_effect=1e9)
    scaled = judge(HISTORY * scale, sample * scale, better="lower", largest_effect=1e9)
    assert plain.verdict is scaled.verdict


@given(st.permutations([float(value) for value in range(30)]), st.booleans())
def test_the_order_of_samples_without_order_says_nothing(base: list[float], worse: bool) -> None:  # noqa: FBT001
    new = [60.0, 61.0, 63.0] if worse else [14.0, 15.0, 16.0]
    assert judge(base, new, ordered=False) == judge(sorted(base), new[::-1], ordered=False)


def test_samples_that_a_tool_sorted_have_steps_only_where_they_are_in_order() -> None:
    base = sorted(np.random.default_rng(2).normal(100, 1, 60))
    assert judge(base, [100.0, 100.2, 99.9], ordered=False).verdict is Verdict.UNCHANGED
    region = judge(base, [100.0, 100.2, 99.9]).region
    assert region is not None
    assert region.count < 60


def test_the_quantile_of_student_is_the_tabled_one() -> None:
    assert student_quantile(0.975, 10) == pytest.approx(2.2281388519649385, rel=1e-9)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e300])
def test_outliers_are_the_same_at_the_ends_of_the_range_of_floats(scale: float, robust: bool) -> None:  # noqa: FBT001
    values = np.append(np.random.default_rng(6).normal(10, 1, 40), [30.0, -20.0])
    expected = find_outliers(values, most=4, robust=robust)
    found = find_outliers(values * scale, most=4, robust=robust)
    assert (found.count, found.indices) == (expected.count, expected.indices)
    assert found.count == 2


def test_an_outlier_whose_square_is_no_float_hides_no_other() -> None:
    values = np.append(np.random.default_rng(6).normal(10, 1, 40), [1.797e308, 25.0])
    assert find_outliers(values, most=4).indices[:2] == (40, 41)
    assert find_outliers(values, most=4).count == 2


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_levels_at_the_ends_of_the_range_of_floats_are_judged_alike(scale: float) -> None:
    history = np.random.default_rng(4).normal(10, 0.1, 40)
    for new in (12.0, 10.02, [12.1, 12.0, 11.9]):
        ours, theirs = judge(history, new), judge(history * scale, np.array(new) * scale)
        assert (ours.verdict, ours.conditional) == (theirs.verdict, theirs.conditional)
        assert theirs.detectable_relative == pytest.approx(ours.detectable_relative)
        assert theirs.size == pytest.approx(ours.size * scale)


@pytest.mark.parametrize("scale", [1.0, 1e-300])
def test_a_sample_that_stands_for_a_failure_is_far_off_and_nothing_else(scale: float) -> None:
    history = np.random.default_rng(4).normal(10, 0.1, 40) * scale
    judged = judge(history, 1.797e308)
    assert (judged.verdict, judged.conditional) == (Verdict.REGRESSED, True)
    assert judged.detectable_relative == pytest.approx(judge(history, history[-1]).detectable_relative)


@pytest.mark.parametrize("new", [10.0, 10.4, 13.0, [10.3, 10.2, 10.4], [], [np.nan], -1e300])
def test_every_number_of_a_verdict_compares_as_it_says(new: float | list[float]) -> None:
    compare = {">": operator.gt, ">=": operator.ge, "<=": operator.le}
    for seed in range(5):
        draw = np.random.default_rng(seed)
        for history in (draw.normal(10, 0.1, 40), np.full(20, 10.0), draw.normal(10, 9, 8), np.array([1.0, 2.0])):
            for check in judge(history, new).evidence:
                if check.relation:
                    assert check.bound is not None
                    assert check.passed == compare[check.relation](check.value, check.bound), check
                assert not math.isnan(check.value), check


@given(
    st.integers(0, 2**32 - 1), st.integers(3, 150), st.floats(-12, 12), st.sampled_from(["normal", "rounded", "two"])
)
def test_a_value_that_is_ruled_out_is_no_outlier(seed: int, count: int, value: float, kind: str) -> None:
    noise = np.random.default_rng(seed).normal(0, 1, count)
    values = {"rounded": np.round(noise), "two": noise + 4 * (noise > 0.5)}.get(kind, noise)
    assume(not may_be_outlier(values, value))
    found = find_outliers_of_noise(np.append(values, value), most=(count + 1) // 10 + 1, rounded_to=rounding(values))
    assert count not in found.indices[: found.count]


@given(st.integers(0, 2**32 - 1), st.integers(5, 120), st.floats(-8, 8), st.sampled_from(["normal", "rounded", "step"]))
def test_what_may_be_no_change_is_judged_to_be_none(seed: int, count: int, value: float, kind: str) -> None:
    noise = np.random.default_rng(seed).normal(0, 1, count)
    stepped = noise + 6 * (np.arange(count) >= count // 2)
    history = {"rounded": np.round(noise), "step": stepped}.get(kind, noise)
    assume(not may_be_changes(history[None], np.array([value]))[0])
    assert judge(history, value).verdict not in {Verdict.REGRESSED, Verdict.IMPROVED}


def test_a_value_off_a_flat_level_may_be_a_change() -> None:
    short = np.where(np.arange(20) < 16, np.nan, 10.0)
    assert may_be_changes(np.array([np.full(20, 10.0), short]), np.array([10.5, 10.5])).tolist() == [True, False]


_ROUNDED = [10.0, 10, 11, 10, 9, 10, 10, 11, 10, 10, 9, 10, 10, 10, 11, 10, 9, 10, 10, 10]


def test_a_value_far_off_rounded_ones_is_a_change_though_most_are_equal() -> None:
    assert judge(_ROUNDED, 15.0, better="lower").verdict is Verdict.REGRESSED


@pytest.mark.parametrize("new", [9.0, 10.0, 11.0])
def test_a_level_that_rounded_values_had_before_is_no_change(new: float) -> None:
    assert judge(_ROUNDED, new, better="lower").verdict is Verdict.UNCHANGED


def test_a_level_that_rounded_values_had_once_is_no_change() -> None:
    assert judge([*[10.0] * 9, 11.0], 11.0, better="lower").verdict not in {Verdict.REGRESSED, Verdict.IMPROVED}


def test_an_outlier_among_rounded_values_hides_no_change() -> None:
    assert judge([*_ROUNDED, 100.0], 15.0, better="lower").verdict is Verdict.REGRESSED
