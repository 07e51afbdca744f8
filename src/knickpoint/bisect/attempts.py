"""Judge a session of attempts to make something faster, so that the luckiest of many does not count.

Each attempt is *screened*: measured in turns with the base. One that looks faster is *confirmed* on fresh measurements,
and only they decide. The confirmation number j may be wrong in a share ``error / (j (j + 1))`` of cases, whatever came
before; these shares add up to ``error``, so that at most this share of sessions in which nothing is faster ends with a
claim, however many attempts they make and whenever they stop. A claim gets its *size* from a third set of measurements,
which had no part in choosing it, so that its interval holds for winners, too. The whole is alpha spending (Lan and
DeMets 1983) over confirmations instead of attempts: those that do not look faster cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatch
from typing import Final

from knickpoint.bisect.comparison.judgement import ComparisonRules, RoundsJudge
from knickpoint.bisect.comparison.paired_values import MeasuredValue, fewest_rounds
from knickpoint.model.errors import InputError, KnickpointError
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import percent_text
from knickpoint.model.step import Verdict
from knickpoint.model.unit import read_unit
from knickpoint.model.unit_names import Better

_FEWEST_CONSTANT: Final = 3
"""Values that have to be equal before a benchmark counts as one that does nothing."""

_VARYING: Final = frozenset({"time", "frequency", "J", "W"})
"""Dimensions that no machine measures twice alike; rates and units that are not known vary as well."""

_SUSPICIOUS: Final = 0.9
"""Share of a level from which on a gain is stated with a request to look what it is."""


class Stage(Enum):
    """What a set of measurements is for."""

    SCREEN = "screen"
    CONFIRM = "confirm"
    SIZE = "size"


class AttemptVerdict(Enum):
    """What is said of an attempt."""

    CONFIRMED = "confirmed faster"
    NOT_FASTER = "not faster"
    UNDECIDED = "not decided within the budget"
    WORSE = "something is worse"
    TESTS = "tests fail"
    OUTPUT = "changed results"
    CHANGED = "changed measurement"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SessionRules:
    """What a session may get wrong, and what it may cost.

    Attributes:
        error: the share of sessions in which nothing is faster that may end with a confirmed attempt.
        screen: the share of attempts that are not faster and are confirmed in vain; they cost time only.
        find: a benchmark needs no more rounds when a change of this relative size would have been found.
        minimum_effect: smaller changes do not count.
        most_rounds: rounds of each stage at most; the size takes all of them.
    """

    error: float = 0.01
    screen: float = 0.02
    find: float = 0.03
    minimum_effect: float = 0.0
    most_rounds: int = 20

    def __post_init__(self) -> None:
        """Raise InputError where no attempt could ever be confirmed."""
        if fewest_rounds(self.most_rounds, min(self.screen, confirmation_error(self.error, 1))) is None:
            raise InputError(
                f"{self.most_rounds} rounds cannot confirm anything at an error of {percent_text(self.error)}",
                where="--most-rounds, --error",
                remedy="Allow more rounds, 20 for an error of 1 %.",
            )

    def of_stage(self, stage: Stage, confirmation: int, seed: int) -> ComparisonRules:
        """Return the rules of the comparison that makes a stage."""
        rate = confirmation_error(self.error, confirmation) if stage is Stage.CONFIRM else self.screen
        least = self.most_rounds if stage is Stage.SIZE else min(2, self.most_rounds)
        return ComparisonRules(rate, self.find, self.minimum_effect, 0.5, least, self.most_rounds, seed)


def confirmation_error(error: float, number: int) -> float:
    """Return the share of false claims that the confirmation ``number``, counted from 1, may make."""
    return error / (number * (number + 1))


@dataclass(frozen=True, slots=True)
class StageResult:
    """A set of measurements, the rules that judged it, and what came out for each benchmark; none where a run failed.

    ``expected`` are the rounds that the time allowed in all, before each of them; empty where it allowed all.
    ``planned_end`` is true where it ended them.
    """

    stage: Stage
    rules: ComparisonRules
    benchmarks: tuple[JudgedBenchmark, ...]
    expected: tuple[int, ...] = ()
    planned_end: bool = False

    def traces(self, verdict: Verdict) -> frozenset[str]:
        """Return the keys of the benchmarks with a verdict."""
        return frozenset(each.trace for each in self.benchmarks if each.verdict is verdict)


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """The verdict on an attempt, why, and the stages that it rests on; ``claims`` have the sizes of what is confirmed."""

    verdict: AttemptVerdict
    reason: str
    stages: tuple[StageResult, ...] = ()
    claims: tuple[JudgedBenchmark, ...] = ()


class OutOfTimeError(KnickpointError):
    """The time of an attempt is used up before a stage begins."""


class AttemptFailedError(KnickpointError):
    """The attempt cannot be built, or a run of it gives no values."""


Refusal = tuple[AttemptVerdict, str]
"""A verdict that no speed-up makes up for, and why."""

Measure = Callable[[Stage, ComparisonRules], Sequence[JudgedBenchmark]]
"""Makes a comparison by some rules from measurements that nothing else uses."""

CheckAttempt = Callable[[StageResult, frozenset[str]], Refusal | None]
"""Tests an attempt that looks faster in the benchmarks of some keys, before it is confirmed."""


def judge_attempt(
    measure: Measure,
    rules: SessionRules,
    *,
    confirmations: int,
    seed: int,
    check: CheckAttempt = lambda _result, _faster: None,
) -> AttemptEnd:
    """Measure and judge one attempt in a session that made ``confirmations`` confirmations before."""
    judging = _Judging(measure, rules, confirmations, seed)
    try:
        return judging.screen(check)
    except OutOfTimeError as late:
        return judging.end(AttemptVerdict.UNDECIDED, late.message)
    except AttemptFailedError as failed:
        return judging.end(AttemptVerdict.FAILED, failed.message)


@dataclass
class _Judging:
    """An attempt that is being judged, with the stages that it has passed."""

    measure: Measure
    rules: SessionRules
    confirmations: int
    seed: int
    stages: list[StageResult] = field(default_factory=list)

    def end(self, verdict: AttemptVerdict, reason: str, claims: Sequence[JudgedBenchmark] = ()) -> AttemptEnd:
        return AttemptEnd(verdict, reason, tuple(self.stages), tuple(claims))

    def screen(self, check: CheckAttempt) -> AttemptEnd:
        screened = self._make(Stage.SCREEN)
        if refused := _refusal(screened):
            return self.end(*refused)
        faster = screened.traces(Verdict.IMPROVED)
        if not faster:
            return self._not_faster(screened, _not_faster(screened))
        if refused := check(screened, faster):
            return self.end(*refused)
        return self._confirm(faster)

    def _confirm(self, faster: frozenset[str]) -> AttemptEnd:
        rules, made = self.rules, self.confirmations
        if fewest_rounds(rules.most_rounds, confirmation_error(rules.error, made + 1)) is None:
            used = f"{counted(made, 'confirmation')} used up the error of the session"
            return self.end(AttemptVerdict.UNDECIDED, f"{used}: start another one, or allow more rounds")
        confirmed = self._make(Stage.CONFIRM)
        if refused := _refusal(confirmed):
            return self.end(*refused)
        faster &= confirmed.traces(Verdict.IMPROVED)
        if not faster:
            return self._not_faster(confirmed, "it looked faster, and fresh measurements do not confirm it")
        return self._size(faster)

    def _not_faster(self, result: StageResult, reason: str) -> AttemptEnd:
        if any(each.verdict is Verdict.NO_DATA and not each.settled for each in result.benchmarks):
            return self.end(AttemptVerdict.UNDECIDED, "its time was used up after too few rounds")
        return self.end(AttemptVerdict.NOT_FASTER, reason)

    def _size(self, faster: frozenset[str]) -> AttemptEnd:
        sized = self._make(Stage.SIZE)
        if refused := _refusal(sized):
            return self.end(*refused)
        claims = [each for each in sized.benchmarks if each.trace in faster and _excludes_zero(each)]
        if not claims:
            return self.end(AttemptVerdict.UNDECIDED, "it is faster by too little for the size to be known")
        reason = "; ".join(claim_text(each) for each in claims)
        if any(max(abs(each.low), abs(each.high)) > _SUSPICIOUS for each in claims):
            reason += "; look whether it still does what it did"
        return self.end(AttemptVerdict.CONFIRMED, reason, claims)

    def _make(self, stage: Stage) -> StageResult:
        # The seeds of the stages differ, so that no order of measurements is repeated.
        chosen = self.rules.of_stage(stage, self.confirmations + 1, 3 * self.seed + len(self.stages))
        try:
            benchmarks = tuple(self.measure(stage, chosen))
        except AttemptFailedError:
            self.stages.append(StageResult(stage, chosen, ()))  # a confirmation that failed counts
            raise
        self.stages.append(StageResult(stage, chosen, benchmarks))
        return self.stages[-1]


def claim_text(claim: JudgedBenchmark) -> str:
    """Return the size of a claim in words: ``,benchmark=parse,: 9.1 % to 10.4 % less``."""
    near, far = sorted((abs(claim.low), abs(claim.high)))
    return f"{claim.trace}: {percent_text(near)} to {percent_text(far)} {'less' if claim.low < 0 else 'more'}"


def _excludes_zero(claim: JudgedBenchmark) -> bool:
    """Return True if the 95 % interval lies on the better side."""
    if not (math.isfinite(claim.low) and math.isfinite(claim.high)):
        return False
    return claim.low > 0 if claim.better is Better.HIGHER else claim.high < 0


def _refusal(result: StageResult) -> Refusal | None:
    """Return the verdict on an attempt that no speed-up makes up for: one that is worse, or measures nothing."""
    idle = [each.trace for each in result.benchmarks if _does_nothing(each)]
    if idle:
        return AttemptVerdict.CHANGED, f"measures nothing any more: {_names(idle)}"
    gone = [each.trace for each in result.benchmarks if each.vanished or each.failed]
    if gone:
        return AttemptVerdict.CHANGED, f"without results: {_names(gone)}"
    partial = [each.trace for each in result.benchmarks if len(each.new) < len(each.past)]
    if partial:
        return AttemptVerdict.CHANGED, f"without results in some rounds: {_names(partial)}"
    worse = sorted(result.traces(Verdict.REGRESSED))
    return (AttemptVerdict.WORSE, f"regressed: {_names(worse)}") if worse else None


def _does_nothing(each: JudgedBenchmark) -> bool:
    """Return True if the attempt measures 0, or always the same, where the base has a value that varies."""
    if len(each.new) < _FEWEST_CONSTANT or len(set(each.new)) > 1:
        return False
    dimension = read_unit(each.unit).dimension
    noisy = dimension in _VARYING or dimension.startswith("?") or "/" in dimension
    varied = len(set(each.past)) >= _FEWEST_CONSTANT
    return (noisy or varied) and 0 not in each.past if each.new[0] == 0 else noisy and varied


def _not_faster(result: StageResult) -> str:
    seen = [each.detectable for each in result.benchmarks if math.isfinite(each.detectable)]
    return f"a change of {percent_text(max(seen))} would have been found" if seen else "nothing improved"


def _names(keys: Sequence[str]) -> str:
    return ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")


def protected_files(changed: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the paths of ``changed`` that match one of ``patterns``, whatever their case."""
    return [path for path in changed if any(fnmatch(path.lower(), pattern.lower()) for pattern in patterns)]


def replay_attempt(end: AttemptEnd, rules: SessionRules, *, confirmations: int, seed: int) -> AttemptEnd:
    """Judge the values of an attempt anew: the record needs no trust in who wrote it.

    The rules of each stage follow from those of the session; a stage that is missing leaves the attempt undecided. What
    tests and outputs said is taken from ``end``, which has no values of them.
    """
    stages = list(end.stages)

    def measure(stage: Stage, chosen: ComparisonRules) -> Sequence[JudgedBenchmark]:
        if not stages or stages[0].stage is not stage:
            raise OutOfTimeError("truncated record")
        if not stages[0].benchmarks:
            raise AttemptFailedError(end.reason)
        return _judged_anew(stages.pop(0), chosen)

    told = {AttemptVerdict.TESTS, AttemptVerdict.OUTPUT, AttemptVerdict.CHANGED}
    checked = (end.verdict, end.reason) if len(end.stages) == 1 and end.verdict in told else None
    return judge_attempt(measure, rules, confirmations=confirmations, seed=seed, check=lambda _result, _faster: checked)


def _judged_anew(result: StageResult, rules: ComparisonRules) -> list[JudgedBenchmark]:
    """Judge the rounds of a stage; a benchmark that lacks values in some rounds stays as it is recorded."""
    whole = [each for each in result.benchmarks if each.new and len(each.new) == len(each.past)]
    judge = RoundsJudge(rules)
    for number in range(min(rules.most_rounds, max((len(each.new) for each in whole), default=0))):
        base, head = (
            {
                each.trace: MeasuredValue(values[number], each.unit, each.better)
                for each in whole
                if number < len(values := each.past if side == "base" else each.new)
            }
            for side in ("base", "head")
        )
        if not number:
            judge.warm_up(base, head)
        if number < len(result.expected):
            judge.expect(result.expected[number])
        judge.add(base, head)
    if result.planned_end:
        judge.conclude(planned=True)
    found = {each.trace: each for each in judge.benchmarks}
    return [found.get(each.trace, each) for each in result.benchmarks]
