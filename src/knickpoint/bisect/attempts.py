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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatch
from typing import Final

from knickpoint.bisect.comparison.judgement import ComparisonRules, RoundsJudge
from knickpoint.bisect.comparison.paired_values import MeasuredValue, fewest_rounds
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import percent_text
from knickpoint.model.step import Verdict
from knickpoint.model.unit import read_unit
from knickpoint.model.unit_names import Better

PROTECTED: Final = (
    "*bench*", "*perf*", "*fixture*", "*testdata*", "*/data/*", "data/*", "*conftest.py",
    "*Makefile*", "*.mk", "*CMakeLists.txt", "*.cmake", "*meson*", "*BUILD*", "*.bazel*", "*WORKSPACE*",
    "*pyproject.toml", "*setup.py", "*setup.cfg", "*requirements*.txt", "*Cargo.*", "*.cargo/*", "*build.rs",
    "*rust-toolchain*", "*package*.json", "*tsconfig*.json", "*go.mod", "*go.sum", "*pom.xml", "*.gradle*", "*.lock",
    "*Dockerfile*", ".github/*", ".gitlab*", ".gitmodules", "*knickpoint.toml",
)  # fmt: skip
"""Patterns of paths that an attempt must not change: benchmarks, their data, how they are built and run."""

_FEWEST_CONSTANT: Final = 3
"""Values that have to be equal before a benchmark counts as one that does nothing."""


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
        if fewest_rounds(self.most_rounds, confirmation_error(self.error, 1)) is None:
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
    """A set of measurements, the rules that judged it, and what came out for each benchmark."""

    stage: Stage
    rules: ComparisonRules
    benchmarks: tuple[JudgedBenchmark, ...]

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


Measure = Callable[[Stage, ComparisonRules], Sequence[JudgedBenchmark]]
"""Makes a comparison by some rules from measurements that nothing else uses."""


def judge_attempt(  # noqa: PLR0911  # one return a verdict
    measure: Measure, rules: SessionRules, *, confirmations: int, seed: int
) -> AttemptEnd:
    """Measure and judge one attempt in a session that made ``confirmations`` confirmations before."""
    stages: list[StageResult] = []

    def make(stage: Stage) -> StageResult:
        # The seeds of the stages differ, so that no order of measurements is repeated.
        chosen = rules.of_stage(stage, confirmations + 1, 3 * seed + len(stages))
        stages.append(StageResult(stage, chosen, tuple(measure(stage, chosen))))
        return stages[-1]

    def end(verdict: AttemptVerdict, reason: str, claims: Sequence[JudgedBenchmark] = ()) -> AttemptEnd:
        return AttemptEnd(verdict, reason, tuple(stages), tuple(claims))

    screened = make(Stage.SCREEN)
    if refused := _refusal(screened):
        return end(*refused)
    faster = screened.traces(Verdict.IMPROVED)
    if not faster:
        return end(AttemptVerdict.NOT_FASTER, _not_faster(screened))
    if fewest_rounds(rules.most_rounds, confirmation_error(rules.error, confirmations + 1)) is None:
        used = f"{counted(confirmations, 'confirmation')} used up the error of the session"
        return end(AttemptVerdict.UNDECIDED, f"{used}: start another one, or allow more rounds")
    confirmed = make(Stage.CONFIRM)
    if refused := _refusal(confirmed):
        return end(*refused)
    faster &= confirmed.traces(Verdict.IMPROVED)
    if not faster:
        return end(AttemptVerdict.NOT_FASTER, "it looked faster, and fresh measurements do not confirm it")
    sized = make(Stage.SIZE)
    if refused := _refusal(sized):
        return end(*refused)
    claims = [each for each in sized.benchmarks if each.trace in faster and _excludes_zero(each)]
    if not claims:
        return end(AttemptVerdict.UNDECIDED, "it is faster by too little for the size to be known")
    return end(AttemptVerdict.CONFIRMED, "; ".join(claim_text(each) for each in claims), claims)


def claim_text(claim: JudgedBenchmark) -> str:
    """Return the size of a claim in words: ``,benchmark=parse,: 9.1 % to 10.4 % less``."""
    near, far = sorted((abs(claim.low), abs(claim.high)))
    return f"{claim.trace}: {percent_text(near)} to {percent_text(far)} {'less' if claim.low < 0 else 'more'}"


def _excludes_zero(claim: JudgedBenchmark) -> bool:
    """Return True if the 95 % interval lies on the better side."""
    if not (math.isfinite(claim.low) and math.isfinite(claim.high)):
        return False
    return claim.low > 0 if claim.better is Better.HIGHER else claim.high < 0


def _refusal(result: StageResult) -> tuple[AttemptVerdict, str] | None:
    """Return the verdict on an attempt that no speed-up makes up for: one that is worse, or measures nothing."""
    idle = [each.trace for each in result.benchmarks if _does_nothing(each)]
    if idle:
        return AttemptVerdict.CHANGED, f"measures nothing any more: {_names(idle)}"
    gone = [each.trace for each in result.benchmarks if each.vanished or each.failed]
    if gone:
        return AttemptVerdict.CHANGED, f"without results: {_names(gone)}"
    worse = sorted(result.traces(Verdict.REGRESSED))
    return (AttemptVerdict.WORSE, f"regressed: {_names(worse)}") if worse else None


def _does_nothing(each: JudgedBenchmark) -> bool:
    """Return True if the attempt measures 0, or always the same, where the base has a time that varies."""
    if len(each.new) < _FEWEST_CONSTANT or len(set(each.new)) > 1 or len(set(each.past)) < _FEWEST_CONSTANT:
        return False
    return each.new[0] == 0 or read_unit(each.unit).dimension == "time"


def _not_faster(result: StageResult) -> str:
    seen = [each.detectable for each in result.benchmarks if math.isfinite(each.detectable)]
    return f"a change of {percent_text(max(seen))} would have been found" if seen else "nothing improved"


def _names(keys: Sequence[str]) -> str:
    return ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")


def protected_files(changed: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the paths of ``changed`` that match one of ``patterns``, whatever their case."""
    return [path for path in changed if any(fnmatch(path.lower(), pattern.lower()) for pattern in patterns)]


def replay_stage(result: StageResult) -> Mapping[str, Verdict]:
    """Judge the values of a stage anew, and return trace → verdict: the record needs no trust in who wrote it."""
    judge = RoundsJudge(result.rules)
    for number in range(max((len(each.new) for each in result.benchmarks), default=0)):
        base, head = (
            {
                each.trace: MeasuredValue(values[number], each.unit, each.better)
                for each in result.benchmarks
                if number < len(values := each.past if side == "base" else each.new)
            }
            for side in ("base", "head")
        )
        if not number:
            judge.warm_up(base, head)
        judge.add(base, head)
    return {each.trace: each.verdict for each in judge.benchmarks}
