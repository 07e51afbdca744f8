"""Slow changes are one finding; steps beside them keep their place and get the size of their jump."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accuracy_drift import COMMITS, counter, ramp, step_on_drift
from knickpoint.detect import explain, find_steps, find_steps_many, judge
from knickpoint.detect.patterns.drift.trend import fit_trend
from knickpoint.model.errors import InputError
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Step, Verdict

_SEEDS = range(1000, 1003)


def drifts(found: Sequence[Step]) -> list[Step]:
    return [step for step in found if step.kind is FindingKind.DRIFT]


def noise(seed: int, count: int) -> NDArray[np.float64]:
    return np.random.default_rng([9, seed]).normal(size=count)


@pytest.mark.parametrize("slope", [0.0002, 0.0005, 0.001, 0.002])
def test_a_ramp_is_one_finding(slope: float) -> None:
    for seed in _SEEDS:
        (found,) = find_steps(ramp(slope, 0.005, seed))
        assert found.kind is FindingKind.DRIFT


def test_a_drift_states_where_it_begins_and_ends_and_its_sum() -> None:
    (found,) = find_steps(ramp(0.001, 0.005, 1000, before=100, after=100))
    assert abs(found.previous - 100) <= 10
    assert abs(found.after.last - 400) <= 10
    assert found.size == pytest.approx(30, abs=1)
    assert found.estimate
    assert found.estimate.slope == pytest.approx(0.1, rel=0.05)


def test_the_interval_of_a_drift_holds_its_sum_in_nearly_all_cases() -> None:
    held = 0
    for seed in range(1000, 1012):
        (found,) = find_steps(ramp(0.001, 0.01, seed, before=100, after=100))
        assert found.estimate
        held += found.estimate.low <= 30 <= found.estimate.high
    assert held >= 10


@pytest.mark.parametrize("slope", [0.0005, 0.001])
def test_a_step_on_a_drift_has_its_place_and_the_size_of_its_jump(slope: float) -> None:
    for seed in _SEEDS:
        found = [step for step in find_steps(step_on_drift(slope, 0.005, 4.0, seed)) if step.kind is FindingKind.STEP]
        (step,) = found
        assert abs(step.index - COMMITS // 2) <= 2
        assert step.size == pytest.approx(2.0, rel=0.25)


def test_what_goes_up_and_down_again_is_two_drifts() -> None:
    shape = np.minimum(np.arange(400), 400 - np.arange(400))
    up, down = drifts(find_steps(100 + 0.1 * shape + 0.5 * noise(1, 400)))
    assert up.size > 15
    assert down.size < -15


def test_steps_of_one_direction_stay_steps() -> None:
    levels = np.searchsorted([60, 150, 220], np.arange(300), "right")
    for seed in _SEEDS:
        found = find_steps(100 + 4.0 * levels + noise(seed, 300))
        assert [step.kind for step in found] == [FindingKind.STEP] * 3


def test_noise_that_wanders_is_no_drift() -> None:
    for seed in _SEEDS:
        shocks = noise(seed, 500)
        values = np.convolve(shocks, 0.8 ** np.arange(40))[:400]
        assert not drifts(find_steps(100 + values))


def test_a_drift_below_the_effect_is_not_reported_and_makes_no_steps() -> None:
    values = ramp(0.0002, 0.002, 1000)
    assert find_steps(values, drift_effect=0.1) == []
    assert len(find_steps(values, drift_effect=0.05)) == 1


def test_without_drift_a_ramp_is_a_staircase() -> None:
    assert len(find_steps(ramp(0.001, 0.005, 1000), drift=False)) > 3


def test_shift_scale_and_gaps_change_no_drift() -> None:
    values = ramp(0.001, 0.005, 1001, before=60)
    (found,) = find_steps(values)
    (scaled,) = find_steps(values * 1e-120)
    assert (scaled.index, scaled.after.last) == (found.index, found.after.last)
    gaps = np.full(2 * values.size, math.nan)
    gaps[::2] = values
    (sparse,) = find_steps(gaps)
    assert (sparse.index, sparse.after.last) == (2 * found.index, 2 * found.after.last)


def test_outliers_bend_no_drift() -> None:
    values = ramp(0.001, 0.005, 1002)
    values[::29] *= 3
    (found,) = drifts(find_steps(values))
    assert found.size == pytest.approx(30, rel=0.1)


def test_many_series_are_judged_as_each_by_itself() -> None:
    frame = np.array([ramp(0.001, 0.005, 1003), step_on_drift(0.001, 0.005, 4.0, 1003), counter(1e5, 3.0, 1003, 300)])
    assert find_steps_many(frame, threads=2) == [find_steps(values) for values in frame]


def test_the_steps_that_a_drift_explains_are_rejected_for_that_reason() -> None:
    detection = explain(ramp(0.001, 0.005, 1004))
    rejected = [each for each in detection.candidates if "part of a drift" in each.reason]
    assert rejected
    assert [each.index for each in detection.candidates if each.accepted] == [each.index for each in detection.steps]


def test_the_evidence_of_a_drift_has_its_slope_and_what_it_is_better_by() -> None:
    (found,) = find_steps(ramp(0.001, 0.005, 1005))
    names = {check.name: check for check in found.evidence}
    assert names["twice the log-odds of a slope against steps alone"].passed
    assert names["slope a commit"].value == pytest.approx(0.1, rel=0.05)
    assert "interval of location" in names


@pytest.mark.parametrize("usual", [0.3, 3.0])
def test_an_exact_counter_that_grows_less_than_the_effect_has_no_findings(usual: float) -> None:
    for seed in _SEEDS:
        assert find_steps(counter(1e6, usual, seed)) == []


def test_what_an_exact_counter_grew_by_is_one_drift_of_that_sum() -> None:
    values = counter(1e5, 3.0, 1006)
    (found,) = find_steps(values)
    assert found.kind is FindingKind.DRIFT
    assert found.size == values[-1] - values[found.previous]


def test_an_unusual_change_of_an_exact_counter_is_a_step_of_that_size() -> None:
    values = counter(1e6, 3.0, 1007)
    values[600:] += 500
    (step,) = find_steps(values)
    assert (step.kind, step.index) == (FindingKind.STEP, 600)
    assert step.size == values[600] - values[599]


def test_a_count_that_is_halved_again_and_again_has_a_step_each_time() -> None:
    small = [300, 0, 0, 75, 0, 0, 44, 0, 0, 120]
    values = np.cumsum([320_000, *small, -160_000, *small, -90_000, *small, -50_000, *small])
    assert [step.index for step in find_steps(values)] == [11, 22, 33]


def test_whole_numbers_with_noise_are_not_exact() -> None:
    values = np.rint(1000 + 10 * noise(3, 300))
    values[150:] += 40
    (step,) = find_steps(values)
    assert abs(step.index - 150) <= 2
    assert "exact values: changes" not in explain(values).facts


def share_found(shared: float, count: int, rest: float) -> float:
    """Return how often a step of 6 deviations is found 8 values before the end of noise in whole numbers, plus ``rest``.

    ``shared`` is the autocorrelation of the noise.
    """
    found = 0
    for seed in range(40):
        fresh = noise(seed, count + 50)
        wandering = fresh.copy()
        for place in range(1, wandering.size):
            wandering[place] = shared * wandering[place - 1] + math.sqrt(1 - shared**2) * fresh[place]
        values = wandering[50:]
        values[-8:] += 6
        steps = find_steps(np.rint(1e6 + 1e4 * values) + rest)
        found += any(abs(step.index - (count - 8)) <= 1 for step in steps)
    return found / 40


@pytest.mark.parametrize("shared", [0.0, 0.5])
@pytest.mark.parametrize("count", [16, 24, 40])
def test_noise_in_whole_numbers_hides_no_step_that_fractions_would_show(shared: float, count: int) -> None:
    assert share_found(shared, count, 0.0) >= share_found(shared, count, 0.3) - 0.05


def test_few_changes_of_exact_values_are_steps_as_before() -> None:
    values = np.repeat([100.0, 101.0, 102.0, 104.0], 40)
    assert [step.index for step in find_steps(values)] == [40, 80, 120]


def test_a_new_value_is_judged_by_where_the_drift_has_led() -> None:
    values = ramp(0.001, 0.005, 1008)
    assert judge(values, 130.2).verdict is Verdict.UNCHANGED
    assert judge(values, 127.0).verdict is Verdict.REGRESSED


def test_an_effect_of_nothing_finds_every_drift_of_exact_values() -> None:
    values = np.repeat(np.arange(0, 12_000, 1000.0), 9) + 3 * (np.arange(108) == 50)
    assert [step.index for step in find_steps(values, drift_effect=0.0)] == [9]
    assert [step.index for step in find_steps(np.arange(60.0, 0.0, -1.0), drift_effect=0.0)] == [1]


def test_a_negative_effect_is_refused() -> None:
    with pytest.raises(InputError, match="drift_effect"):
        find_steps([1.0, 2.0], drift_effect=-0.1)


def test_the_evidence_of_a_drift_compares_its_end_with_the_best_level_before_it() -> None:
    shape = np.concatenate([np.full(60, 100.0), np.full(60, 90.0), 90 + 0.1 * np.arange(1, 151)])
    (drift,) = drifts(find_steps(shape + 0.3 * noise(3, shape.size)))
    found = {check.name: check.value for check in drift.evidence}
    assert found["its end over the lowest level before it"] == pytest.approx(15 / 90, abs=0.01)
    assert found["its end over the highest level before it"] == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("spread", [0.1, 0.3])
def test_a_staircase_of_many_steps_is_judged_with_a_bounded_number_of_fits(
    spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[int] = []

    def counted(values: Any, places: Any, slopes: Any) -> Any:
        fitted.append(len(places))
        return fit_trend(values, places, slopes)

    monkeypatch.setattr("knickpoint.detect.patterns.drift.trend_search.fit_trend", counted)
    draw = np.random.default_rng(1)
    values = np.repeat(np.cumsum(draw.normal(0, 5, 100)), 10) + draw.normal(0, spread, 1000)
    assert len(find_steps(values)) > 50
    assert sum(places > 32 for places in fitted) <= 2  # what is old is read by itself
    assert len(fitted) < 250


@pytest.mark.parametrize("seed", range(5))
def test_sizes_that_most_commits_leave_alone_are_exact_however_long_the_history(seed: int) -> None:
    draw = np.random.default_rng(seed)
    changes = np.where(draw.random(400) < 0.25, np.rint(np.exp(draw.normal(4, 1.5, 400))), 0)
    values = 500_000 + np.cumsum(changes * draw.choice([1, 1, -1], 400))
    for size in range(100, 401, 20):
        assert "exact values: changes" in explain(values[:size]).facts


@pytest.mark.parametrize("noise", [0.2, 0.3, 0.4])
def test_rounded_noise_that_rarely_leaves_its_level_is_not_exact(noise: float) -> None:
    for seed in range(10):
        values = np.rint(100 + noise * np.random.default_rng(seed).normal(size=300))
        assert "exact values: changes" not in explain(values).facts
