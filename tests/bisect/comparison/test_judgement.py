"""What a comparison says of a benchmark, and when it needs no more rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import NormalDist

import numpy as np
import pytest

from knickpoint.bisect.comparison import ComparisonRules, MeasuredValue, RoundsJudge
from knickpoint.bisect.comparison.shapes import SampleShape
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better

KEY = ",benchmark=render,"


def _play(
    factor: float, noise: float, *, better: Better = Better.LOWER, known: float = math.nan, **rules: float
) -> RoundsJudge:
    """Measure a benchmark of 10 ms in turns until it is decided, on a machine that gets slower all the time.

    A history knows that noise of it.
    """
    judge = RoundsJudge(ComparisonRules(**rules))  # type: ignore[arg-type]
    judge.noise = {KEY: known}
    rng = np.random.default_rng(judge.rules.seed or 5)

    def values() -> tuple[Mapping[str, MeasuredValue], Mapping[str, MeasuredValue]]:
        drift = 10.0 * 1.1**judge.rounds
        base, head = drift * np.exp(rng.normal(size=2) * noise) * np.array([1.0, factor])
        return {KEY: MeasuredValue(base, "ms", better)}, {KEY: MeasuredValue(head, "ms", better)}

    judge.warm_up(*values())
    while not judge.finished and judge.rounds < judge.rules.most_rounds:
        judge.add(*values())
    return judge


def _only(judge: RoundsJudge) -> JudgedBenchmark:
    (only,) = judge.benchmarks
    return only


def test_a_change_is_found_with_its_interval_although_the_machine_drifts() -> None:
    judge = _play(1.1, 0.01)
    found = _only(judge)
    assert (found.verdict, judge.finished) == (Verdict.REGRESSED, True)
    assert judge.rounds < 12
    assert found.low < 0.1 < found.high
    assert found.after / found.before == pytest.approx(1.1, rel=0.02)


def test_a_change_for_the_better_is_improved() -> None:
    assert _only(_play(1.1, 0.01, better=Better.HIGHER)).verdict is Verdict.IMPROVED


def test_the_noise_of_a_history_ends_the_rounds_earlier_where_nothing_changed() -> None:
    rounds = {known: _play(1.0, 0.01, known=known).rounds for known in (math.nan, 0.01, 0.04)}
    assert rounds[0.01] == 4
    assert rounds[0.01] < rounds[math.nan] <= rounds[0.04]  # a noisier history is no reason to stop


@pytest.mark.parametrize("known", [0.001, 0.01])
def test_the_noise_of_a_history_neither_hides_a_change_nor_makes_one(known: float) -> None:
    assert {_only(_play(1.06, 0.01, known=known, seed=seed)).verdict for seed in (1, 2, 3)} == {Verdict.REGRESSED}
    assert {_only(_play(1.0, 0.02, known=known, seed=seed)).verdict for seed in (1, 2, 3)} == {Verdict.UNCHANGED}


def test_no_change_ends_early_and_says_what_it_would_have_found() -> None:
    judge = _play(1.0, 0.01)
    found = _only(judge)
    assert (found.verdict, judge.finished) == (Verdict.UNCHANGED, True)
    assert judge.rounds < 20
    assert found.detectable <= 0.05
    assert found.reason.startswith("a change of ")


def _judged(differences: Iterable[float], **rules: float) -> JudgedBenchmark:
    """Judge rounds whose heads differ from a base of 10 ms by these logarithms."""
    judge = RoundsJudge(ComparisonRules(**rules))  # type: ignore[arg-type]
    for each in differences:
        judge.add(
            {KEY: MeasuredValue(10.0, "ms", Better.LOWER)},
            {KEY: MeasuredValue(10.0 * math.exp(each), "ms", Better.LOWER)},
        )
    judge.conclude()
    return _only(judge)


def test_the_reason_of_a_change_that_the_rounds_do_not_agree_on_names_no_smaller_one() -> None:
    found = _judged([0.1, 0.151, 0.033, 0.124, 0.095, 0.098, -0.55, 0.074], most_rounds=8)
    assert found.verdict is Verdict.UNCHANGED
    assert abs(found.relative_size) > found.detectable
    assert found.reason == "the rounds do not agree on a change"


def test_a_second_mode_of_some_runs_is_not_unstable_and_is_named_where_it_appears() -> None:
    rng = np.random.default_rng(4)
    rounds = rng.normal(size=60) * 0.01
    both = rounds.copy()
    both[[3, 20, 41]] += 0.7
    both[[11, 30, 50]] -= 0.7
    same = _judged(both.tolist(), most_rounds=60)
    assert same.verdict is Verdict.UNCHANGED
    assert same.detectable < 0.01
    assert same.reason.endswith("; 6 rounds have its sides in different modes")
    rounds[::5] += math.log(2)
    found = _judged(rounds.tolist(), most_rounds=60)
    assert found.verdict is Verdict.REGRESSED
    assert abs(found.relative_size) < 0.01
    assert found.reason == (
        "the level is the same, but a second mode appears at about +100 %: the base alone is there in 0 of 60 rounds, "
        "the head alone in 12"
    )


def test_a_step_of_every_run_is_not_taken_for_a_second_mode() -> None:
    found = _judged((np.random.default_rng(4).normal(size=20) * 0.001 + math.log(2)).tolist())
    assert found.relative_size == pytest.approx(1.0, abs=0.01)
    assert found.reason == "beyond what exchanged sides do"


def test_a_second_mode_of_the_samples_within_each_run_is_named() -> None:
    judge = RoundsJudge(ComparisonRules())
    rng = np.random.default_rng(2)
    for _ in range(20):
        sides = []
        for share in (0, 10):
            samples = 10 * (1 + 0.01 * rng.standard_normal(100))
            samples[:share] *= 2
            sides.append({KEY: MeasuredValue(10.0, "ms", Better.LOWER, SampleShape.of(samples.tolist()))})
        judge.add(*sides)
    found = _only(judge)
    assert found.verdict is Verdict.REGRESSED
    assert found.reason == "the level is the same, but a second mode of 10 % of the samples appears, at about +100 %"


def test_a_large_change_ends_a_long_plan_early() -> None:
    judge = RoundsJudge(ComparisonRules(find=0.001, most_rounds=10_000))
    rng = np.random.default_rng(2)
    while not judge.finished:
        base, head = 10 * (1 + 0.01 * rng.standard_normal(2)) * np.array([1.0, 1.1])
        judge.add({KEY: MeasuredValue(base, "ms", Better.LOWER)}, {KEY: MeasuredValue(head, "ms", Better.LOWER)})
    assert _only(judge).verdict is Verdict.REGRESSED
    assert judge.rounds < 25
    assert judge.planned[KEY] > 2000


def _play_long(seed: int, factor: float) -> RoundsJudge:
    """Look for 0.1 % at a noise of 0.2 %, until it is found or excluded."""
    judge = RoundsJudge(ComparisonRules(find=0.001, most_rounds=1_000, seed=seed))
    rng = np.random.default_rng(seed)
    while not judge.finished and judge.rounds < 1_000:
        base, head = 10 * (1 + 0.002 * rng.standard_normal(2)) * np.array([1.0, factor])
        judge.add({KEY: MeasuredValue(base, "ms", Better.LOWER)}, {KEY: MeasuredValue(head, "ms", Better.LOWER)})
    return judge


def test_a_change_that_the_rest_of_a_long_plan_would_hardly_find_is_excluded_before_its_end() -> None:
    ended = [_play_long(seed, 1.0) for seed in range(4)]
    assert sum(judge.rounds for judge in ended) < 0.9 * sum(judge.planned[KEY] for judge in ended)
    assert {(_only(judge).verdict, _only(judge).settled) for judge in ended} == {(Verdict.UNCHANGED, True)}
    assert all(_only(judge).detectable <= 0.001 + 1e-9 for judge in ended)
    assert all("would have been found" in _only(judge).reason for judge in ended)


def test_a_change_of_the_size_to_find_is_not_excluded_early() -> None:
    assert {_only(_play_long(seed, 1.001)).verdict for seed in range(4)} == {Verdict.REGRESSED}


@pytest.mark.parametrize("seed", range(6))
def test_a_plan_ends_where_nothing_changed(seed: int) -> None:
    judge = RoundsJudge(ComparisonRules(find=0.001, most_rounds=400, seed=seed))
    rng = np.random.default_rng(seed)
    while not judge.finished and judge.rounds < 400:
        base, head = 10 * (1 + 0.001 * rng.standard_normal(2))
        judge.add({KEY: MeasuredValue(base, "ms", Better.LOWER)}, {KEY: MeasuredValue(head, "ms", Better.LOWER)})
    assert _only(judge).verdict is Verdict.UNCHANGED
    assert judge.rounds < 70


def test_a_plan_by_known_noise_stands_before_the_first_round() -> None:
    judge = RoundsJudge(ComparisonRules(find=0.001, most_rounds=10_000))
    judge.noise = {KEY: 0.01}
    value = {KEY: MeasuredValue(10.0, "ms", Better.LOWER)}
    judge.warm_up(value, value)
    normal = NormalDist()
    bound = 2 * ((normal.inv_cdf(0.99) + normal.inv_cdf(0.95)) * 0.01 / 0.001) ** 2
    assert bound < judge.planned[KEY] < 1.12 * bound


def test_a_benchmark_that_is_all_noise_is_unstable() -> None:
    judge = _play(1.0, 2.0)
    assert (_only(judge).verdict, judge.finished) == (Verdict.UNSTABLE, False)


def test_a_change_below_the_minimum_effect_is_unchanged() -> None:
    assert _only(_play(1.03, 0.001, minimum_effect=0.05)).verdict is Verdict.UNCHANGED


@pytest.mark.parametrize(
    ("after", "rounds", "verdict"),
    [(1000, 2, Verdict.UNCHANGED), (1001, 3, Verdict.REGRESSED), (999, 3, Verdict.IMPROVED)],
)
def test_an_exact_value_needs_few_rounds(after: int, rounds: int, verdict: Verdict) -> None:
    judge = RoundsJudge(ComparisonRules())
    sides = [{KEY: MeasuredValue(value, "instructions", Better.LOWER)} for value in (1000.0, float(after))]
    judge.warm_up(*sides)
    while not judge.finished:
        judge.add(*sides)
    assert (judge.rounds, _only(judge).verdict) == (rounds, verdict)


def test_equal_times_are_not_taken_for_exact_values() -> None:
    judge = RoundsJudge(ComparisonRules())
    for _ in range(4):
        judge.add({KEY: MeasuredValue(12.0, "ms")}, {KEY: MeasuredValue(13.0, "ms")})
    assert not judge.finished


def test_a_vanished_benchmark_is_regressed_and_a_new_one_is_named() -> None:
    judge = RoundsJudge(ComparisonRules())
    for _ in range(2):
        judge.add({",benchmark=old,": MeasuredValue(1.0, "ms")}, {",benchmark=new,": MeasuredValue(1.0, "ms")})
    old, new = judge.benchmarks
    assert (old.verdict, old.vanished, old.reason) == (
        Verdict.REGRESSED,
        True,
        "vanished: the base has it, and the head does not",
    )
    assert (new.verdict, new.reason) == (Verdict.NO_DATA, "new: only the head has it")
    assert judge.finished


@pytest.mark.parametrize(
    ("base", "head", "verdict", "reason"),
    [
        (False, True, Verdict.REGRESSED, "failed: out of memory"),
        (True, True, Verdict.NO_DATA, "failed on both sides: out of memory"),
        (True, False, Verdict.NO_DATA, "failed at the base: out of memory"),
    ],
)
def test_a_benchmark_that_failed_says_so(*, base: bool, head: bool, verdict: Verdict, reason: str) -> None:
    judge = RoundsJudge(ComparisonRules())
    value, failure = {KEY: MeasuredValue(10.0, "ms")}, {KEY: "out of memory"}
    for take in (judge.warm_up, judge.add):
        judge.note_failures(failure if base else {}, failure if head else {})
        take({} if base else value, {} if head else value)
    found = _only(judge)
    assert (found.verdict, found.reason, found.settled) == (verdict, reason, True)
    assert found.failed is (verdict is Verdict.REGRESSED)


def test_units_that_convert_are_compared_and_others_are_regressed() -> None:
    judge = RoundsJudge(ComparisonRules())
    for _ in range(2):
        judge.add({KEY: MeasuredValue(1.0, "ms")}, {KEY: MeasuredValue(1500.0, "us")})
    assert _only(judge).relative_size == pytest.approx(0.5)
    other = RoundsJudge(ComparisonRules())
    other.add({KEY: MeasuredValue(1.0, "ms")}, {KEY: MeasuredValue(1.0, "B")})
    assert (_only(other).verdict, _only(other).reason) == (Verdict.REGRESSED, "the unit changed from ms to B")


def test_after_too_few_rounds_there_is_no_verdict() -> None:
    found = _only(_play(1.1, 0.01, most_rounds=6))
    assert (found.verdict, found.reason) == (Verdict.NO_DATA, "6 rounds are too few for this false-positive rate")


def test_values_around_zero_are_compared_without_a_relative_change() -> None:
    judge = RoundsJudge(ComparisonRules())
    for value in (0.0, 0.0, 0.0):
        judge.add({KEY: MeasuredValue(value, "ms")}, {KEY: MeasuredValue(value + 1, "ms")})
    assert math.isnan(_only(judge).relative_size)


def test_rules_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="5 to 3 rounds"):
        ComparisonRules(least_rounds=5, most_rounds=3)
