"""One decision over many benchmarks; the rates over thousands of pull requests are those of ``make bench-gate``."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.detect.family import FamilyJudgement, judge_family
from knickpoint.detect.family.levels import find_levels
from knickpoint.detect.family.limits import find_bar
from knickpoint.detect.family.scale import estimate_scales
from knickpoint.detect.family.serial import from_normal_score, normal_score, side_correlation
from knickpoint.model.errors import InputError
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better

Array = NDArray[np.float64]
COUNT = 40


def suite(seed: int, commits: int = 30, samples: int = 3, *, heavy: bool = False) -> tuple[Array, Array]:
    """Return unchanged histories and samples of 40 benchmarks at 2 % noise, of levels from 1 to 1000."""
    rng = np.random.default_rng(seed)
    shape = (COUNT, commits + samples)
    noise = rng.standard_t(2, shape) if heavy else rng.standard_normal(shape)
    values = (1 + 0.02 * noise) * np.geomspace(1, 1000, COUNT)[:, None]
    return values[:, :commits], values[:, commits:]


def verdicts(found: FamilyJudgement) -> set[Verdict]:
    return {judgement.verdict for judgement in found.judgements}


@pytest.mark.parametrize("heavy", [False, True], ids=["normal", "heavy"])
def test_unchanged_commits_pass(*, heavy: bool) -> None:
    for seed in range(8):
        histories, samples = suite(seed, heavy=heavy)
        found = judge_family(histories, list(samples), better=Better.LOWER)
        assert Verdict.REGRESSED not in verdicts(found)


@pytest.mark.parametrize("better", [Better.LOWER, Better.HIGHER])
def test_one_benchmark_that_is_a_tenth_worse_is_found(better: Better) -> None:
    histories, samples = suite(1)
    samples[7] *= 1.1 if better is Better.LOWER else 0.9
    found = judge_family(histories, list(samples), better=better).judgements
    assert [place for place, row in enumerate(found) if row.verdict is Verdict.REGRESSED] == [7]
    assert found[7].p_value < 0.01
    assert found[7].low < found[7].centre < found[7].high
    assert found[7].detectable_relative < 0.1


def test_a_change_for_the_better_is_an_improvement() -> None:
    histories, samples = suite(1)
    samples[7] *= 0.85
    assert judge_family(histories, list(samples), better=Better.LOWER).judgements[7].verdict is Verdict.IMPROVED


def test_a_change_of_unknown_direction_is_a_regression_that_says_so() -> None:
    histories, samples = suite(1)
    samples[7] *= 0.8
    found = judge_family(histories, list(samples)).judgements[7]
    assert found.verdict is Verdict.REGRESSED
    assert "direction is unknown" in found.reason


def test_the_verdict_does_not_depend_on_the_unit() -> None:
    histories, samples = suite(1)
    samples[7] *= 1.1
    for scale in (1e-200, 1e200):
        found = judge_family(histories * scale, list(samples * scale), better=Better.LOWER)
        assert found.judgements[7].verdict is Verdict.REGRESSED
        assert found.judgements[7].centre == pytest.approx(float(np.median(histories[7])) * scale)


def test_more_benchmarks_raise_the_bar() -> None:
    histories, samples = suite(1)
    few = judge_family(histories[:4], list(samples[:4]), better=Better.LOWER).judgements
    many = judge_family(histories, list(samples), better=Better.LOWER).judgements
    assert sum(row.detectable_relative for row in few) < sum(row.detectable_relative for row in many[:4])


def test_samples_of_one_machine_at_one_time_do_not_lower_the_bar() -> None:
    histories, samples = suite(1)
    repeated = np.repeat(samples[:, :1], 3, axis=1) * (1 + 0.001 * np.random.default_rng(2).standard_normal((COUNT, 3)))
    apart, together, single = (
        judge_family(histories, list(new), better=Better.LOWER) for new in (samples, repeated, samples[:, :1])
    )
    assert apart.side_correlation < 0.5 < together.side_correlation
    assert (
        apart.judgements[0].detectable < together.judgements[0].detectable <= single.judgements[0].detectable * 1.0001
    )


def test_a_short_history_gives_no_data_but_catches_the_enormous() -> None:
    histories, samples = suite(1, commits=3)
    assert verdicts(judge_family(histories, list(samples), better=Better.LOWER)) == {Verdict.NO_DATA}
    samples[7] *= 6
    found = judge_family(histories, list(samples), better=Better.LOWER).judgements[7]
    assert found.verdict is Verdict.REGRESSED
    assert "times worse" in found.reason


def test_an_enormous_change_is_found_with_five_values() -> None:
    histories, samples = suite(1, commits=5)
    samples[7] *= 10
    assert judge_family(histories, list(samples), better=Better.LOWER).judgements[7].verdict is Verdict.REGRESSED


def test_an_enormous_change_is_found_whatever_the_noise_of_the_history() -> None:
    histories, samples = suite(1, commits=14)
    histories[7, 3] *= 5
    found = judge_family(histories[7:8], [samples[7, :1] * 8], better=Better.LOWER).judgements[0]
    assert found.verdict is Verdict.UNSTABLE
    found = judge_family(histories[7:8], [samples[7, :1] * 30], better=Better.LOWER).judgements[0]
    assert found.verdict is Verdict.REGRESSED
    assert "times worse than each of the 14 values" in found.reason


def test_what_three_samples_agree_on_is_found_beyond_an_outlier_of_the_history() -> None:
    histories, samples = suite(1, commits=14)
    histories[7, 3] *= 5
    assert (
        judge_family(histories, [*samples[:7], samples[7] * 8, *samples[8:]]).judgements[7].verdict is Verdict.REGRESSED
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_any_number_of_samples_is_judged(count: int) -> None:
    histories, samples = suite(2, commits=70, samples=count)
    samples[7] *= 1.2
    found = judge_family(histories, list(samples), better=Better.LOWER).judgements
    assert [place for place, each in enumerate(found) if each.verdict is Verdict.REGRESSED] == [7]
    assert found[7].conditional is (count == 1)


def test_two_outliers_of_three_samples_are_no_change() -> None:
    histories, samples = suite(1)
    samples[7, :2] *= 1.5
    found = judge_family(histories, list(samples), better=Better.LOWER).judgements[7]
    assert found.verdict is Verdict.UNCHANGED
    assert found.relative_size > 0.4
    samples[7] = samples[7, 0]
    assert judge_family(histories, list(samples), better=Better.LOWER).judgements[7].verdict is Verdict.REGRESSED


@pytest.mark.long
def test_heavy_tails_that_all_samples_of_a_session_share_stay_below_the_bar() -> None:
    failed = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        noise = 1 + 0.02 / math.sqrt(3) * random.standard_t(3, (50, 31))
        session = noise[:, 30:] * (1 + 0.0005 * random.standard_normal((50, 3)))
        found = judge_family(noise[:, :30], list(session), better=Better.LOWER)
        failed += any(each.verdict is Verdict.REGRESSED for each in found.judgements)
    assert failed <= 2


def test_noise_that_hides_everything_is_not_stated_as_a_size() -> None:
    histories, samples = suite(1, commits=14)
    histories[7, 3] *= 50
    found = judge_family(histories[7:8], [samples[7]], better=Better.LOWER).judgements[0]
    assert (found.verdict, found.reason) == (Verdict.UNSTABLE, "too few runs, or too much noise, to find any change")


@pytest.mark.parametrize("better", [Better.LOWER, Better.HIGHER, Better.UNKNOWN])
def test_the_reason_of_an_unstable_verdict_does_not_contradict_its_numbers(better: Better) -> None:
    reasons = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        histories = np.exp(rng.normal(0, rng.choice([0.05, 0.15, 0.25]), (6, 20)))
        samples = [np.exp(rng.normal(rng.choice([0.0, 0.5, -0.7]), 0.4, rng.choice([1, 2, 3, 5]))) for _ in histories]
        for found in judge_family(histories, samples, better=better).judgements:
            stated = re.search(r"only (?:changes|improvements) from ([\d.e+]+) % are reliably", found.reason)
            if stated:
                assert abs(found.relative_size) * 100 < float(stated[1]) * 1.005
            if found.verdict is Verdict.UNSTABLE and abs(found.relative_size) >= found.detectable_relative:
                assert re.search("improvements|agree on|moved|no further", found.reason)
                reasons.add(re.sub(r"[\d.]+", "#", found.reason.partition(";")[0]))
    assert {each for each in reasons if "agree" in each}


def test_a_base_that_moved_already_is_not_blamed_on_the_new_values() -> None:
    histories, samples = suite(1)
    histories[7, -1:] *= 1.5
    samples[7] *= 1.5
    found = judge_family(histories, list(samples), better=Better.LOWER).judgements[7]
    assert found.verdict is Verdict.UNSTABLE
    assert "the base moved" in found.reason


def test_values_are_compared_with_the_level_after_the_last_step() -> None:
    histories, samples = suite(1)
    histories[:, :15] *= 2
    assert judge_family(histories, list(samples), better=Better.LOWER).judgements[7].centre < histories[7, 0] * 0.6
    samples[7] *= 2
    assert judge_family(histories, list(samples), better=Better.LOWER).judgements[7].verdict is Verdict.REGRESSED


def test_a_level_that_was_left_and_visited_again_is_no_regression() -> None:
    histories, samples = suite(1)
    histories[7, 10:20] *= 1.3
    samples[7] *= 1.3
    assert judge_family(histories, list(samples), better=Better.LOWER).judgements[7].verdict is not Verdict.REGRESSED
    assert [row.bounds for row in find_levels(histories)][7] == (0, 30)


def test_leaving_a_level_that_has_just_begun_is_not_blamed_on_the_new_values() -> None:
    histories, samples = suite(3)
    histories[5, -3:] *= 0.6  # better for three commits, which may have been an excursion
    found = judge_family(histories, list(samples), better=Better.LOWER).judgements[5]
    assert (found.verdict, "too short to be trusted" in found.reason) == (Verdict.UNSTABLE, True)
    samples[5] *= 1.3  # worse than both levels
    assert judge_family(histories, list(samples), better=Better.LOWER).judgements[5].verdict is Verdict.REGRESSED
    samples[5] /= 1.3
    histories[5, -8:-3] *= 0.6  # better for long enough
    assert judge_family(histories, list(samples), better=Better.LOWER).judgements[5].verdict is Verdict.REGRESSED


def test_missing_values_take_no_part() -> None:
    histories, samples = suite(1)
    histories[np.random.default_rng(3).random(histories.shape) < 0.3] = math.nan
    samples[7] *= 1.25
    found = judge_family(histories, list(samples), better=Better.LOWER).judgements
    assert [place for place, row in enumerate(found) if row.verdict is Verdict.REGRESSED] == [7]


def test_values_that_never_varied_regress_by_any_change() -> None:
    histories, samples = suite(1)
    histories[7], samples[7] = 5.0, 5.01
    rest = judge_family(
        histories, list(samples), better=Better.LOWER, kinds=["size" if row == 7 else "" for row in range(COUNT)]
    )
    assert rest.judgements[7].verdict is Verdict.REGRESSED


def test_a_change_below_the_minimum_effect_passes() -> None:
    histories, samples = suite(1)
    samples[7] *= 1.1
    found = judge_family(histories, list(samples), better=Better.LOWER, minimum_effect=0.2).judgements[7]
    assert found.verdict is Verdict.UNCHANGED


@pytest.mark.parametrize("share", [0.0, 0.5, -1.0, math.nan])
def test_a_rate_that_cannot_be_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="false_positives"):
        judge_family([[1.0] * 9], [[1.0]], false_positives=share)


def test_as_many_samples_as_histories_are_needed() -> None:
    with pytest.raises(InputError, match="1 histories and 0"):
        judge_family([[1.0] * 9], [])


def test_variances_that_agree_are_shared_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    alike = find_levels(100 + rng.standard_normal((50, 10)))
    apart = find_levels(100 + rng.standard_normal((50, 10)) * np.geomspace(0.01, 10, 50)[:, None])
    assert estimate_scales(alike, [""] * 50).priors[0].freedom > 50
    assert estimate_scales(apart, [""] * 50).priors[0].freedom < 2


def test_scores_have_the_tail_of_student_and_come_back() -> None:
    # P(t > 3.747) with 4 degrees of freedom is 1 %, and so is P(z > 2.326).
    assert float(normal_score(np.array([3.747]), 4.0)[0]) == pytest.approx(2.326, rel=0.01)
    assert float(from_normal_score(1.96, np.array([7.0]))[0]) == pytest.approx(2.365, rel=0.01)


def test_no_bar_is_set_below_what_the_past_reached() -> None:
    deviations = np.random.default_rng(0).standard_normal((20, 30))
    deviations[3, 4] = 50.0
    bar = find_bar(deviations, 20, 0.01, 1.0)
    assert bar is not None
    assert bar.score >= 50


def test_the_spread_of_samples_shows_what_they_share() -> None:
    rng = np.random.default_rng(0)
    past = list(rng.standard_normal((60, 40)))
    assert side_correlation(past, list(rng.standard_normal((60, 3))), 3) < 0.3
    assert side_correlation(past, list(0.3 * rng.standard_normal((60, 3))), 3) > 0.7


def test_the_interval_of_samples_that_scatter_more_than_the_history_holds_the_change() -> None:
    held = []
    for seed in range(6):
        histories, _ = suite(seed)
        rng = np.random.default_rng(100 + seed)
        noisy = (1 + 0.2 * rng.standard_normal((COUNT, 3))) * np.geomspace(1, 1000, COUNT)[:, None]
        found = judge_family(histories, list(noisy), better=Better.LOWER)
        pairs = zip(found.judgements, found.margins, strict=True)
        held += [abs(row.level / row.centre - 1) <= margin / row.centre for row, margin in pairs]
        assert any("times as far as the history" in row.reason for row in found.judgements)
    assert np.mean(held) > 0.9


def test_samples_as_quiet_as_the_history_are_not_called_noisy() -> None:
    for seed in range(6):
        histories, samples = suite(seed)
        found = judge_family(histories, list(samples), better=Better.LOWER)
        assert sum("the new samples scatter" in row.reason for row in found.judgements) <= 2


def test_one_slow_sample_of_two_is_no_regression_where_the_history_explains_no_such_difference() -> None:
    histories = 30 * (1 + 0.01 * np.random.default_rng(3).standard_normal((4, 12)))
    samples = [[30.0, 30.1], [30.0, 36.8], [36.8, 39.0], [30.1, 29.9]]
    found = judge_family(histories, samples, better=Better.LOWER).judgements
    assert [row.verdict for row in found] == [
        Verdict.UNCHANGED,
        Verdict.UNCHANGED,
        Verdict.REGRESSED,
        Verdict.UNCHANGED,
    ]
    assert ["times as far as the history" in row.reason for row in found] == [False, True, True, False]


def test_a_value_of_any_size_is_judged_without_a_warning() -> None:
    histories, samples = suite(1, samples=1)
    samples[7] = 1e300
    assert judge_family(histories, list(samples), better=Better.LOWER).judgements[7].verdict is Verdict.REGRESSED


def counts(seed: int) -> Array:
    """Return exact histories of 40 benchmarks, each of which a commit in ten changes by up to a half."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random((COUNT, 30)) < 0.1, rng.uniform(0.8, 1.5, (COUNT, 30)), 1.0)
    jitter: Array = 1 + 1e-5 * rng.standard_normal((COUNT, 30))
    return np.asarray(np.geomspace(1e3, 1e6, COUNT)[:, None] * np.cumprod(steps, axis=1) * jitter)


def test_the_steps_of_exact_histories_are_no_noise() -> None:
    histories = counts(1)
    samples = histories[:, -1:].copy()
    samples[7] *= 1.1
    found = judge_family(histories, list(samples), better=Better.LOWER).judgements
    assert [place for place, row in enumerate(found) if row.verdict is Verdict.REGRESSED] == [7]


def test_unchanged_counts_pass_whatever_their_past_commits_did() -> None:
    for seed in range(5):
        histories = counts(seed)
        samples = histories[:, -1:] * (1 + 1e-5 * np.random.default_rng(seed + 100).standard_normal((COUNT, 1)))
        assert Verdict.REGRESSED not in verdicts(judge_family(histories, list(samples), better=Better.LOWER))


def test_an_exact_history_that_returns_has_modes() -> None:
    history = np.tile([100.0, 100.0, 100.0, 130.0, 130.0], 6)[None, :]
    (levels,) = find_levels(history)
    assert levels.current.size == history.size - 3, "back to its first visit"
