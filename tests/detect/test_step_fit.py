from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from knickpoint.detect import find_steps, find_steps_many, step_fit
from knickpoint.detect.window_fits.fit import KINDS, Kind
from knickpoint.detect.window_fits.mann_whitney import mann_whitney_rows, mann_whitney_u
from knickpoint.detect.window_fits.rules import SimpleRule, read_rule, write_rule
from knickpoint.model.errors import InputError
from knickpoint.model.step import Movement

_SCALE_FREE: tuple[Kind, ...] = ("original", "percent", "percent_median", "cohen", "mann_whitney_u", "stepiness")
_SYMMETRIC: tuple[Kind, ...] = ("original", "cohen", "mann_whitney_u", "stepiness")


def _series(seed: int = 1, *, at: int = 40, size: float = 8.0, length: int = 80) -> NDArray[np.float64]:
    values = 100 + np.random.default_rng(seed).normal(0, 1, length)
    values[at:] += size
    return values


@pytest.mark.parametrize("kind", _SCALE_FREE)
def test_a_clear_step_is_found_where_it_is(kind: Kind) -> None:
    (step,) = find_steps(_series(size=15.0), method="step_fit", kind=kind)
    assert (step.index, step.previous, step.movement) == (40, 39, Movement.UP)


def test_an_absolute_change_is_measured_in_the_unit_of_the_series() -> None:
    (step,) = find_steps(_series(size=-8.0), method="step_fit", kind="absolute", threshold=5)
    assert (step.index, step.movement) == (40, Movement.DOWN)
    assert step.score == pytest.approx(8, abs=1)


@pytest.mark.parametrize("kind", ["absolute", "const"])
def test_kinds_in_the_unit_of_the_series_ask_for_a_threshold(kind: str) -> None:
    with pytest.raises(InputError, match="Give threshold"):
        step_fit(_series(), kind=kind)


def test_const_reports_a_value_above_its_limit_as_upwards() -> None:
    values = np.r_[np.zeros(20), 5.0, np.zeros(20)]
    detection = step_fit(values, kind="const", threshold=4, refiner="each", direction="up")
    assert [step.index for step in detection.steps] == [20]


def test_percent_of_a_negative_level_keeps_the_direction() -> None:
    values = np.r_[np.full(20, -10.0), np.full(20, -20.0)]
    (step,) = find_steps(values, method="step_fit", kind="percent", threshold=0.5)
    assert (step.index, step.movement) == (20, Movement.DOWN)


def test_leaves_of_a_rule_have_to_agree_in_direction() -> None:
    values = np.r_[np.full(20, -10.0), np.full(20, -30.0)]
    rule = "absolute >= 5 and const >= 1"
    assert [step.index for step in step_fit(values, rule=rule).steps] == [20]
    values = np.r_[np.full(20, 30.0), np.full(20, 10.0)]
    assert not step_fit(values, rule=rule).steps
    assert step_fit(values, rule=rule, compatible=True).steps


def test_one_step_is_one_finding_with_bounds_and_each_window_a_finding_without() -> None:
    joined = step_fit(_series(), kind="cohen")
    each = step_fit(_series(), kind="cohen", refiner="each")
    assert len(joined.steps) == 1
    assert len(each.steps) > 1
    assert {check.name for check in joined.steps[0].evidence} >= {"cohen", "earliest index", "latest index"}


@pytest.mark.parametrize("kind", ["absolute", "percent", "cohen", "original"])
def test_a_level_ends_where_an_unwanted_step_begins(kind: Kind) -> None:
    values = 100 + np.random.default_rng(2).normal(0, 0.1, 100)
    values[40:60] += 20
    parameters = {"kind": kind, "threshold": 5 if kind == "absolute" else None}
    (up,) = step_fit(values, direction="up", **parameters).steps
    both, _ = step_fit(values, **parameters).steps
    assert up == both
    assert (up.after.first, up.after.last) == (40, 59)


def test_a_window_whose_neighbour_is_stronger_says_so() -> None:
    detection = step_fit(_series(), kind="cohen")
    reasons = {candidate.index: candidate.reason for candidate in detection.candidates}
    assert reasons[40] == ""
    assert "index 40" in reasons[41]
    assert reasons[20] == "the rule does not hold"


def test_a_step_too_near_to_the_end_waits_for_more_data() -> None:
    values = _series(at=40, length=46)
    detection = step_fit(values, kind="cohen")
    assert not detection.steps
    assert any("more data" in candidate.reason for candidate in detection.candidates)
    assert [step.index for step in step_fit(_series(at=40, length=50), kind="cohen").steps] == [40]


def test_a_series_shorter_than_a_window_says_so() -> None:
    detection = step_fit(_series(length=12, at=6), radius=7)
    assert detection.steps == ()
    assert detection.facts == {"windows": 0.0, "values": 12.0, "values in a window": 14.0}


def test_missing_values_are_left_out_before_windows_are_cut() -> None:
    values = _series()
    spread = np.full(values.size * 2, np.nan)
    spread[::2] = values
    (step,) = find_steps(spread, method="step_fit", kind="cohen")
    assert (step.index, step.previous) == (80, 78)


def test_a_step_that_the_longer_past_does_not_confirm_is_dropped() -> None:
    values = np.r_[np.zeros(20), np.full(10, 8.0), np.full(10, 11.0)] + np.tile([0.0, 1.0], 20)
    values[24:28] += 6
    loose = step_fit(values, kind="absolute", threshold=2.5, radius=4)
    strict = step_fit(values, kind="absolute", threshold=2.5, radius=4, refiner="confirmed")
    assert len(strict.steps) < len(loose.steps)
    assert any("do not confirm" in c.reason or "overlap" in c.reason for c in strict.candidates)


@pytest.mark.parametrize("values", [[], [1.0], [np.nan] * 40, [3.0] * 40])
@pytest.mark.parametrize("kind", KINDS)
def test_series_without_a_change_have_no_steps(values: list[float], kind: Kind) -> None:
    assert (
        find_steps(np.array(values), method="step_fit", kind=kind, threshold=3.5 if kind != "mann_whitney_u" else 0.001)
        == []
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(_SCALE_FREE), scale=st.sampled_from([2.0**-20, 2.0**10]))
def test_a_positive_scale_changes_nothing(seed: int, kind: Kind, scale: float) -> None:
    values = _series(seed, size=6.0)
    before, after = (step_fit(each, kind=kind) for each in (values, values * scale))
    assert [step.index for step in before.steps] == [step.index for step in after.steps]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(_SYMMETRIC))
def test_the_mirrored_series_has_the_mirrored_steps(seed: int, kind: Kind) -> None:
    values = _series(seed, size=6.0)
    forth = [step.index for step in step_fit(values, kind=kind, floor=0).steps]
    back = [values.size - step.index for step in step_fit(values[::-1].copy(), kind=kind, floor=0).steps]
    assert forth == sorted(back)


@settings(max_examples=40, deadline=None)
@given(
    first=st.lists(st.integers(0, 400), min_size=1, max_size=12, unique=True),
    second=st.lists(st.integers(401, 900), min_size=1, max_size=12, unique=True),
    swap=st.integers(0, 11),
)
def test_the_exact_rank_test_without_ties_is_that_of_scipy(first: list[int], second: list[int], swap: int) -> None:
    both = first[:swap] + second[swap:], second[:swap] + first[swap:]
    one, other = (np.array(each, dtype=np.float64) for each in both)
    if not one.size or not other.size:
        return
    expected = stats.mannwhitneyu(one, other, method="exact")
    found = mann_whitney_u(one, other)
    assert (found.u, found.p_value) == pytest.approx((expected.statistic, min(1.0, expected.pvalue)))


@pytest.mark.parametrize(("n", "m", "distinct"), [(7, 7, 1000), (5, 9, 8), (60, 60, 10**6), (1, 1, 50)])
def test_rows_are_tested_as_one_by_one(n: int, m: int, distinct: int) -> None:
    rng = np.random.default_rng(1)
    first, second = (rng.integers(0, distinct, (20, size)).astype(np.float64) for size in (n, m))
    u, p_values = mann_whitney_rows(first, second)
    tests = [mann_whitney_u(one, other) for one, other in zip(first, second, strict=True)]
    assert u.tolist() == [test.u for test in tests]
    np.testing.assert_allclose(p_values, [test.p_value for test in tests], rtol=1e-12)


def test_the_rank_test_of_large_samples_is_that_of_scipy() -> None:
    rng = np.random.default_rng(4)
    one, other = rng.integers(0, 20, 80).astype(np.float64), rng.integers(2, 22, 70).astype(np.float64)
    expected = stats.mannwhitneyu(one, other, method="asymptotic")
    assert mann_whitney_u(one, other).p_value == pytest.approx(expected.pvalue)


def test_the_exact_rank_test_with_ties_counts_every_split() -> None:
    one, other = np.array([1.0, 1.0, 2.0, 5.0]), np.array([2.0, 2.0, 3.0, 5.0])
    found = mann_whitney_u(one, other)
    permuted = stats.permutation_test(
        (one, other), lambda a, b: mann_whitney_u(a, b).u, permutation_type="independent", n_resamples=np.inf
    )
    assert found.p_value == pytest.approx(permuted.pvalue)


def test_samples_with_more_splits_than_are_listed_have_the_same_law() -> None:
    one, other = np.random.default_rng(2).integers(0, 5, (2, 8)).astype(np.float64)
    one[:3] += 2
    both = np.concatenate([one, other])
    ways = np.array(list(itertools.combinations(range(16), 8)))
    ranks = stats.rankdata(both)
    sums = ranks[ways].sum(axis=1)
    own = ranks[:8].sum()
    expected = 2 * min((sums <= own).mean(), (sums >= own).mean())
    assert mann_whitney_u(one, other).p_value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("cohen >= 2 and", 15),
        ("(cohen >= 2", 12),
        ("cohen <= 2", 7),
        ("cohen 2 percent 3", 9),
        ("speed >= 1", 1),
        ("@", 1),
    ],
)
def test_a_broken_rule_is_refused_at_its_column(text: str, column: int) -> None:
    with pytest.raises(InputError, match=f"column {column}:"):
        read_rule(text)


@pytest.mark.parametrize("parameters", [{"threshold": -1.0}, {"threshold": math.inf}, {"rule": "cohen >= -1"}])
def test_a_bound_below_zero_or_without_end_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="0 or more; both directions count"):
        step_fit(np.arange(30.0), kind="cohen", **parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {"kind": "absolute", "threshold": 0},
        {"kind": "mann_whitney_u", "threshold": 1},
        {"kind": "cohen", "threshold": 0.7, "compatible": True},
    ],
    ids=["absolute", "mann_whitney_u", "cohen"],
)
def test_every_check_holds_where_its_numbers_say_so(parameters: dict[str, Any]) -> None:
    values = np.r_[np.zeros(20), 1.0, np.zeros(20), np.tile([0.0, 1.0], 10)]
    for candidate in step_fit(values, refiner="each", **parameters).candidates:
        for check in candidate.checks:
            compare = {">=": operator.ge, "<=": operator.le, ">": operator.gt}[check.relation]
            assert check.bound is not None
            assert check.passed == compare(check.value, check.bound)
        assert candidate.accepted == all(check.passed for check in candidate.checks)


@given(st.floats(0, allow_infinity=False))
def test_a_rule_is_written_with_all_its_digits(bound: float) -> None:
    rule = SimpleRule("cohen", bound)
    assert read_rule(write_rule(rule)) == rule


def test_a_rule_of_endless_depth_is_refused() -> None:
    with pytest.raises(InputError, match="deeper"):
        read_rule("(" * 5000 + "cohen 2")
    with pytest.raises(InputError):
        read_rule('{"complex_rule": {"op": "AND", "rules": [' * 5000)


@pytest.mark.parametrize("kind", ["original", "percent_median", "cohen", "mann_whitney_u", "stepiness"])
def test_the_largest_number_in_place_of_a_missing_one_hides_and_makes_no_step(kind: Kind) -> None:
    values = _series(size=15.0)
    values[[3, 60]] = np.finfo(np.float64).max, -np.finfo(np.float64).max
    assert [step.index for step in step_fit(values, kind=kind).steps] == [40]


@pytest.mark.parametrize("refiner", ["each", "bounds", "confirmed"])
@pytest.mark.parametrize("kind", _SCALE_FREE)
def test_rounding_decides_no_tie_whatever_the_unit(kind: Kind, refiner: str) -> None:
    values = np.round(_series(3, size=2.0))
    there, here = (
        step_fit(each, kind=kind, radius=3, refiner=refiner, threshold=0.5) for each in (values, values * 1e-9)
    )
    assert [step.index for step in there.steps] == [step.index for step in here.steps]


@pytest.mark.parametrize(
    "parameters",
    [{"kind": "cohen"}, {"refiner": "each"}, {"preset": "chrome"}, {"rule": "cohen 2 and absolute 3"}],
    ids=["cohen", "each", "chrome", "rule"],
)
def test_rows_of_a_frame_are_judged_as_if_alone(parameters: dict[str, Any]) -> None:
    frame = np.array([_series(seed, at=20 + seed) for seed in range(40)])
    frame[np.random.default_rng(8).random(frame.shape) < 0.1] = np.nan
    frame[5], frame[6, :70], frame[7] = np.nan, np.nan, frame[7] * 1e300
    many = find_steps_many(frame, method="step_fit", **parameters)
    assert repr(many) == repr([find_steps(row, method="step_fit", **parameters) for row in frame])
