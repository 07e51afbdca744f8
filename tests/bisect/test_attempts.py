"""Sessions of attempts: what is claimed, at what error, and what no speed-up makes up for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from tests.examples import in_the_long_run

from knickpoint.bisect.attempt_record import (
    Attempt,
    AttemptSession,
    differing_attempts,
    read_session,
    write_report,
    write_session,
)
from knickpoint.bisect.attempts import (
    AttemptEnd,
    AttemptFailedError,
    AttemptVerdict,
    Measure,
    SessionRules,
    Stage,
    confirmation_error,
    judge_attempt,
    protected_files,
    replay_attempt,
)
from knickpoint.bisect.comparison import ComparisonRules, MeasuredValue, RoundsJudge
from knickpoint.bisect.settings import PROTECTED, RecipeSettings
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.unit_names import Better

Values = Callable[[np.random.Generator], dict[str, tuple[float, float]]]


def measuring(values: Values, seen: list[tuple[Stage, ComparisonRules]] | None = None, *, seed: int = 1) -> Measure:
    """Return how to measure benchmarks of which ``values`` draws the value of base and attempt."""
    rng = np.random.default_rng(seed)

    def measure(stage: Stage, rules: ComparisonRules) -> Sequence[JudgedBenchmark]:
        if seen is not None:
            seen.append((stage, rules))
        judge = RoundsJudge(rules)

        def drawn() -> tuple[dict[str, MeasuredValue], dict[str, MeasuredValue]]:
            found = values(rng)
            sides = ({key: pair[side] for key, pair in found.items() if not np.isnan(pair[side])} for side in (0, 1))
            base, head = ({key: MeasuredValue(x, "ms", Better.LOWER) for key, x in side.items()} for side in sides)
            return base, head

        judge.warm_up(*drawn())
        while not judge.finished and judge.rounds < rules.most_rounds:
            judge.add(*drawn())
        return judge.benchmarks

    return measure


def noisy(**factors: float) -> Values:
    def draw(rng: np.random.Generator) -> dict[str, tuple[float, float]]:
        return {name: (100 + rng.normal(), factor * (100 + rng.normal())) for name, factor in factors.items()}

    return draw


def judged(values: Values, *, confirmations: int = 0, seed: int = 1) -> AttemptEnd:
    return judge_attempt(measuring(values, seed=seed), SessionRules(), confirmations=confirmations, seed=seed)


def test_the_errors_of_all_confirmations_add_up_to_that_of_the_session() -> None:
    assert sum(confirmation_error(0.01, number) for number in range(1, 100_000)) == pytest.approx(0.01, rel=1e-4)


def test_a_faster_attempt_is_screened_confirmed_and_sized_on_measurements_of_their_own() -> None:
    seen: list[tuple[Stage, ComparisonRules]] = []
    end = judge_attempt(measuring(noisy(parse=0.9, load=1.0), seen), SessionRules(), confirmations=1, seed=3)
    assert end.verdict is AttemptVerdict.CONFIRMED
    assert [stage for stage, _ in seen] == [Stage.SCREEN, Stage.CONFIRM, Stage.SIZE]
    assert len({rules.seed for _, rules in seen}) == 3
    assert seen[1][1].false_positives == pytest.approx(0.01 / 6)
    assert seen[2][1].least_rounds == seen[2][1].most_rounds
    (claim,) = end.claims
    assert claim.trace == "parse"
    assert claim.low < -0.1 < claim.high


@pytest.mark.parametrize("seed", range(20))
def test_an_equal_attempt_is_not_claimed(seed: int) -> None:
    assert judged(noisy(parse=1.0, load=1.0), seed=seed).verdict is not AttemptVerdict.CONFIRMED


def test_a_lucky_screening_is_not_confirmed() -> None:
    lucky, equal = measuring(noisy(parse=0.9)), measuring(noisy(parse=1.0))

    def measure(stage: Stage, rules: ComparisonRules) -> Sequence[JudgedBenchmark]:
        return (lucky if stage is Stage.SCREEN else equal)(stage, rules)

    end = judge_attempt(measure, SessionRules(), confirmations=0, seed=1)
    assert (end.verdict, len(end.stages)) == (AttemptVerdict.NOT_FASTER, 2)
    assert "fresh measurements do not confirm it" in end.reason


def test_a_confirmation_in_which_a_run_fails_counts() -> None:
    lucky = measuring(noisy(parse=0.9))

    def measure(stage: Stage, rules: ComparisonRules) -> Sequence[JudgedBenchmark]:
        if stage is Stage.CONFIRM:
            raise AttemptFailedError("round 3: the head gave no values")
        return lucky(stage, rules)

    end = judge_attempt(measure, SessionRules(), confirmations=0, seed=0)
    assert (end.verdict, end.reason) == (AttemptVerdict.FAILED, "round 3: the head gave no values")
    assert session(end).confirmations == 1
    assert differing_attempts(session(end)) == []


def test_a_benchmark_that_is_worse_counts_against_a_faster_one() -> None:
    end = judged(noisy(parse=0.9, load=1.1))
    assert (end.verdict, end.reason) == (AttemptVerdict.WORSE, "regressed: load")


@pytest.mark.parametrize(
    ("value", "reason"),
    [(0.0, "measures nothing"), (50.0, "measures nothing"), (float("nan"), "without results: parse")],
)
def test_a_benchmark_that_does_nothing_or_is_gone_is_no_speed_up(value: float, reason: str) -> None:
    end = judged(lambda rng: {"parse": (100 + rng.normal(), value), "load": (100 + rng.normal(), 100 + rng.normal())})
    assert end.verdict is AttemptVerdict.CHANGED
    assert reason in end.reason


def test_a_benchmark_that_leaves_rounds_out_is_no_speed_up() -> None:
    def values(rng: np.random.Generator) -> dict[str, tuple[float, float]]:
        slow = 100 + rng.normal()
        return {"parse": (100 + rng.normal(), slow if slow < 101 else float("nan")), "load": (1 + rng.random(), 2.0)}

    end = judged(values)
    assert end.verdict is AttemptVerdict.CHANGED


def test_a_count_that_becomes_constant_is_a_result() -> None:
    def counted(value: float) -> AttemptVerdict:
        drawn = noisy(parse=1.0)

        def measure(stage: Stage, rules: ComparisonRules) -> Sequence[JudgedBenchmark]:
            benchmarks = measuring(drawn)(stage, rules)
            past = tuple(float(5 + number % 3) for number in range(len(benchmarks[0].past)))
            return [replace(benchmarks[0], unit="allocations", past=past, new=(value,) * len(past))]

        return judge_attempt(measure, SessionRules(), confirmations=0, seed=1).verdict

    assert counted(4.0) is AttemptVerdict.NOT_FASTER
    assert counted(0.0) is AttemptVerdict.CHANGED


def test_a_gain_that_is_too_good_is_stated_with_a_request_to_look() -> None:
    end = judged(noisy(parse=0.05))
    assert end.verdict is AttemptVerdict.CONFIRMED
    assert end.reason.endswith("look whether it still does what it did")


def test_a_session_that_used_up_its_error_says_so() -> None:
    end = judged(noisy(parse=0.9), confirmations=500)
    assert (end.verdict, len(end.stages)) == (AttemptVerdict.UNDECIDED, 1)
    assert "500 confirmations used up the error" in end.reason


@pytest.mark.parametrize(
    "path",
    [
        "benchmarks/parse.py",
        "src/Bench_parse.cc",
        "Makefile",
        "lib/CMakeLists.txt",
        "Cargo.toml",
        "tests/data/big.json",
        "lib/sitecustomize.py",
        "time.py",
    ],
)
def test_what_decides_the_measurement_is_protected_by_default(path: str) -> None:
    assert protected_files([path, "src/parser.py", "README.md"], PROTECTED) == [path]


def session(*ends: AttemptEnd) -> AttemptSession:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    attempts = tuple(Attempt(f"{number:040d}", now, 1.5, end) for number, end in enumerate(ends))
    return AttemptSession(
        "/x", "b" * 40, RecipeSettings("quick", measure=("make", "bench")), "lab-1", now, attempts=attempts
    )


def test_verdicts_of_stages_that_the_time_ended_follow_from_their_values() -> None:
    judges: dict[Stage, RoundsJudge] = {}

    def measure(stage: Stage, rules: ComparisonRules) -> Sequence[JudgedBenchmark]:
        rounds = 14 if stage is Stage.SCREEN else 11
        judge = judges[stage] = RoundsJudge(rules)
        judge.warm_up(*drawn())
        while judge.rounds < rounds and not judge.finished:
            judge.expect(rounds)
            judge.add(*drawn())
        judge.conclude(planned=not judge.finished)
        return judge.benchmarks

    def drawn() -> Sequence[dict[str, MeasuredValue]]:
        values = 100 + 8 * rng.normal(), 90 + 7 * rng.normal()
        return [{"parse": MeasuredValue(value, "ms", Better.LOWER)} for value in values]

    followed = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        end = judge_attempt(measure, SessionRules(), confirmations=0, seed=0)
        limited = [
            replace(each, expected=tuple(judges[each.stage].expected), planned_end=judges[each.stage].is_last_look)
            for each in end.stages
        ]
        followed.append(differing_attempts(session(replace(end, stages=tuple(limited)))) == [])
    assert all(followed)


def test_a_confirmation_without_enough_rounds_decides_nothing() -> None:
    lucky = measuring(noisy(parse=0.9))

    def measure(stage: Stage, rules: ComparisonRules) -> Sequence[JudgedBenchmark]:
        if stage is Stage.SCREEN:
            return lucky(stage, rules)
        judge = RoundsJudge(rules)
        values = [{"parse": MeasuredValue(value, "ms", Better.LOWER)} for value in (100.0, 90.0)]
        judge.warm_up(*values)
        judge.add(*values)
        judge.conclude(planned=True)
        return judge.benchmarks

    assert judge_attempt(measure, SessionRules(), confirmations=0, seed=1).verdict is AttemptVerdict.UNDECIDED


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = session(judged(noisy(parse=0.9, load=1.0)), judged(noisy(parse=1.0)))
    write_session(tmp_path / "a.json", made)
    read = read_session(tmp_path / "a.json")
    write_session(tmp_path / "b.json", read)
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    assert (read.base, read.recipe, read.rules, read.confirmations) == (made.base, made.recipe, made.rules, 1)
    assert [each.end.verdict for each in read.attempts if each.end] == [
        AttemptVerdict.CONFIRMED,
        AttemptVerdict.NOT_FASTER,
    ]


@pytest.mark.parametrize("seed", [0, *in_the_long_run(*range(1, 5))])
def test_the_verdicts_follow_from_the_values_in_the_record(seed: int) -> None:
    end = judged(noisy(parse=0.93, load=1.0, print=1.0), seed=seed)
    assert replay_attempt(end, SessionRules(), confirmations=0, seed=seed) == end
    assert differing_attempts(session(end)) == []


def test_the_report_cannot_be_broken_by_a_name() -> None:
    end = AttemptEnd(AttemptVerdict.WORSE, "regressed: a|b`c\n| 9 | **confirmed faster** |")
    text = write_report(session(end))
    assert "| `regressed: a/b'c / 9 / **confirmed faster** /` |" in text
