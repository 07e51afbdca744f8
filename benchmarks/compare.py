"""Measure what ``knick compare`` gets wrong and what it finds, by rounds from a seed (``make bench-compare``).

Each comparison measures benchmarks in turns until every one is decided, on a machine whose speed drifts by 10 % from
round to round, with the default rules: 1 % of false positives, +5 % to be found, at most 20 rounds. Each is made twice:
with a head that is equal to the base, and with one whose first benchmark is 5 % slower. The rows are printed as they
come.

The part ``find`` measures how many rounds a plan takes to find or exclude 0.1 % at a noise of 1, 0.3 and 0.1 %, as a
multiple of 2 ((z_α + z_β) σ / f)², and both kinds of errors. Rounds are counted for each benchmark until it is decided.
Then 1 % is looked for in a real program.
The part ``minutes`` compares how many benchmarks are decided in ten minutes, with and without dividing the time.
The part ``calibrate`` checks out of sample what ``knick calibrate`` states, and ``join`` what it states of several
machines.

``python benchmarks/compare.py [--comparisons N] [PART ...]`` makes fewer comparisons, or some parts, and leaves the file
alone.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_noise import FAMILIES
from compare_calibrated import calibration_rows, joined_rows, real_find_rows
from knickpoint.bisect.comparison import (
    MOST_ROUNDS,
    Comparison,
    ComparisonRequest,
    ComparisonRules,
    MeasuredValue,
    RoundsJudge,
)
from knickpoint.bisect.job import BENCHMARKS
from knickpoint.bisect.runner import Workspace
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.model.bisection import Measured, ProbeOutcome, ProbeResult, Target
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better
from table import Reach, Row, finish, one_line

_COMPARISONS: Final = 1_000
_FEWER: Final = 10
"""Comparisons of many benchmarks are a tenth."""

_NOISE: Final = 0.02
_CHANGE: Final = 0.05
_DRIFT: Final = 0.10
_CASES: Final = (("normal", 1), ("heavy-tailed", 1), ("bimodal", 1), ("normal", 100))
"""Kinds of noise, and benchmarks."""

Array = NDArray[np.float64]


_FIND: Final = 0.001
_NOISES: Final = ((0.001, 1), (0.001, 10), (0.003, 1), (0.003, 10), (0.01, 1))
"""Noise of one run, and benchmarks."""

_FIND_FEWER: Final = {0.001: 2, 0.003: 5, 0.01: 20}
"""Long plans are simulated less often."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Whether any benchmark regressed, whether the changed one did, and how many rounds that took.

    ``decided`` is the mean of the rounds after which each benchmark was decided.
    """

    regressed: bool
    found: bool
    rounds: int
    decided: float


def _compare(
    kind: str, benchmarks: int, factor: float, seed: int, *, noise: float = _NOISE, rules: ComparisonRules | None = None
) -> _Outcome:
    """Measure in turns until every benchmark is decided; the head of the first one is ``factor`` times the base."""
    rng = np.random.default_rng([seed, benchmarks, round(10_000 * factor)])
    judge = RoundsJudge(replace(rules or ComparisonRules(), seed=seed))
    change = np.ones(benchmarks)
    change[0] = factor

    def side(speed: float, times: Array) -> dict[str, MeasuredValue]:
        values = speed * times * (1 + noise * FAMILIES[kind](rng, benchmarks))
        return {
            f",benchmark=b{place},": MeasuredValue(value, "ms", Better.LOWER)
            for place, value in enumerate(values.tolist())
        }

    def measured() -> tuple[dict[str, MeasuredValue], dict[str, MeasuredValue]]:
        speed = 10 * float(np.exp(_DRIFT * rng.standard_normal()))
        return side(speed, np.ones(benchmarks)), side(speed, change)

    judge.warm_up(*measured())
    decided: dict[str, int] = {}
    while not judge.finished and judge.rounds < judge.rules.most_rounds:
        judge.add(*measured())
        for each in judge.benchmarks:
            if each.settled:
                decided.setdefault(each.trace, judge.rounds)
    worse = [each.verdict is Verdict.REGRESSED for each in judge.benchmarks]
    rounds = [decided.get(each.trace, judge.rounds) for each in judge.benchmarks]
    return _Outcome(any(worse), worse[0], judge.rounds, float(np.mean(rounds)))


def _rows(pool: ProcessPoolExecutor, comparisons: int) -> Iterator[Row]:
    for kind, benchmarks in _CASES:
        count = comparisons if benchmarks == 1 else max(10, comparisons // _FEWER)
        label = f"{kind}, {benchmarks} benchmark{'s' if benchmarks > 1 else ''}"
        equal = list(pool.map(partial(_compare, kind, benchmarks, 1.0), range(count), chunksize=10))
        slower = list(pool.map(partial(_compare, kind, benchmarks, 1 + _CHANGE), range(count), chunksize=10))
        failed = 100 * float(np.mean([each.regressed for each in equal]))
        found = 100 * float(np.mean([each.found for each in slower]))
        yield Row(f"{label}: equal commits that fail", "%", failed, reach=Reach.AT_MOST, bound=1.0)
        yield Row(f"{label}: +5 % found", "%", found, reach=Reach.AT_LEAST, bound=95.0)
        for name, outcomes in (("equal", equal), ("slower", slower)):
            yield Row(f"{label}: rounds, {name}", "", float(np.mean([each.rounds for each in outcomes])))


def _find_rows(pool: ProcessPoolExecutor, comparisons: int) -> Iterator[Row]:
    rules, score = ComparisonRules(find=_FIND, most_rounds=MOST_ROUNDS), NormalDist().inv_cdf
    for noise, benchmarks in _NOISES:
        count = max(10, comparisons // _FIND_FEWER[noise] // benchmarks)
        error = rules.false_positives / benchmarks
        bound = 2 * ((score(1 - error) + score(rules.power)) * noise / _FIND) ** 2
        label = f"0.1 % at a noise of {100 * noise:g} %, {benchmarks} benchmark{'s' if benchmarks > 1 else ''}"
        compare = partial(_compare, "normal", benchmarks, noise=noise, rules=rules)
        equal = list(pool.map(compare, [1.0] * count, range(count)))
        slower = list(pool.map(compare, [1 + _FIND] * count, range(count)))
        ratio = float(np.mean([each.decided for each in equal])) / bound
        yield Row(f"{label}: rounds, of {bound:.0f}", "times", ratio, reach=Reach.AT_MOST, bound=1.2)
        worst = float(np.quantile([each.rounds for each in equal], 0.95)) / bound
        yield Row(f"{label}: rounds of all, 95th percentile", "times", worst)
        early = float(np.mean([each.decided for each in slower])) / bound
        yield Row(f"{label}: rounds, slower", "times", early)
        failed = 100 * float(np.mean([each.regressed for each in equal]))
        found = 100 * float(np.mean([each.found for each in slower]))
        yield Row(f"{label}: equal commits that fail, of {count}", "%", failed, reach=Reach.AT_MOST, bound=1.0)
        yield Row(f"{label}: +0.1 % found, of {count}", "%", found, reach=Reach.AT_LEAST, bound=100 * rules.power)
    yield from real_find_rows(max(3, comparisons // 50))


_MINUTES: Final = 10.0
_SUITE: Final = 20
_RUN_SECONDS: Final = 0.3


class _Simulated(Comparison):
    """A comparison of generated benchmarks, each of which takes 0.3 s for a run, by a clock of its own.

    Their noise is from 0.3 to 8 %; the head of every fourth one is 5 % slower where ``slower``.
    """

    def __init__(self, seed: int, *, filtered: bool, history: bool, slower: bool) -> None:
        self.now, self._draw = 0.0, np.random.default_rng([seed, slower])
        self.keys = [f",benchmark=b{number}," for number in range(_SUITE)]
        self.deviations = np.exp(self._draw.uniform(np.log(0.003), np.log(0.08), _SUITE))
        self.slower = np.array([slower and number % 4 == 0 for number in range(_SUITE)])
        measure = ("bench", BENCHMARKS) if filtered else ("bench",)
        known = dict(zip(self.keys, self.deviations.tolist(), strict=True)) if history else {}
        super().__init__(
            ComparisonRequest(
                "",
                "a" * 40,
                "b" * 40,
                RecipeSettings("simulated", measure=measure, results=("out.json",)),
                ComparisonRules(seed=seed, most_rounds=MOST_ROUNDS),
                _MINUTES,
            ),
            Workspace(Path()),
            "",
            noise=lambda _: known,
            clock=lambda: self.now,
        )

    @contextmanager
    def _slot(self) -> Iterator[None]:
        yield

    def _measure(
        self,
        side: str,
        chosen: Sequence[str] = (),
        recipe: RecipeSettings | None = None,  # noqa: ARG002
    ) -> ProbeResult:
        levels = 10 * (1 + _CHANGE * self.slower * (side == "head"))
        values = levels * (1 + self.deviations * self._draw.standard_normal(_SUITE))
        measured = {
            key: Measured(value, (value,), "ms")
            for key, value in zip(self.keys, values.tolist(), strict=True)
            if not chosen or key in chosen
        }
        self.now += _RUN_SECONDS * len(measured)
        better = dict.fromkeys(measured, Better.LOWER)
        outcome, target = ProbeOutcome.MEASURED, Target("a" * 40)
        return ProbeResult("", target, "", outcome, datetime.now(UTC), 1.0, measured=measured, better=better)


def _run_simulated(seed: int, *, filtered: bool, history: bool, slower: bool) -> tuple[float, float, float, float]:
    """Return the shares of benchmarks that are decided, found, and wrongly regressed, and the minutes."""
    made = _Simulated(seed, filtered=filtered, history=history, slower=slower)
    judged = made.run().benchmarks
    worse = np.array([each.verdict is Verdict.REGRESSED for each in judged])
    found = float(worse[made.slower].mean()) if slower else 0.0
    alarm = float(worse[~made.slower].any())
    return float(np.mean([each.settled for each in judged])), found, alarm, made.now / 60


def _minutes_rows(pool: ProcessPoolExecutor, comparisons: int) -> Iterator[Row]:
    count = max(10, comparisons // 20)
    ways = (("all in each round", False, False), ("divided", True, False), ("divided, with a history", True, True))
    for name, filtered, history in ways:
        label = f"{_SUITE} benchmarks in {_MINUTES:g} minutes, {name}"
        run = partial(_run_simulated, filtered=filtered, history=history)
        equal = np.mean(list(pool.map(partial(run, slower=False), range(count))), axis=0)
        slower = np.mean(list(pool.map(partial(run, slower=True), range(count))), axis=0)
        yield Row(f"{label}: decided", "%", 100 * float(equal[0]))
        yield Row(f"{label}: +5 % found", "%", 100 * float(slower[1]), reach=Reach.AT_LEAST, bound=80.0)
        alarms = 100 * float(equal[2])
        yield Row(f"{label}: equal commits that fail, of {count}", "%", alarms, reach=Reach.AT_MOST, bound=1.0)
        yield Row(f"{label}: duration", "min", float(equal[3]))


_PARTS: Final[Mapping[str, Callable[[ProcessPoolExecutor, int], Iterator[Row]]]] = {
    "rounds": _rows,
    "find": _find_rows,
    "minutes": _minutes_rows,
    "calibrate": calibration_rows,
    "join": lambda pool, comparisons: joined_rows(pool, max(10, comparisons // 5)),
}


def main() -> None:
    """Make the comparisons, print the rows as they come, and write the file of a whole run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--comparisons", type=int, default=_COMPARISONS)
    parser.add_argument("parts", nargs="*", choices=[*_PARTS, []], metavar="PART", help=", ".join(_PARTS))
    given = parser.parse_args()
    rows: list[Row] = []
    with ProcessPoolExecutor() as pool:
        for part in given.parts or _PARTS:
            for row in _PARTS[part](pool, given.comparisons):
                rows.append(row)
                print(one_line(row), flush=True)
    only = [f"{given.comparisons} comparisons"] if given.comparisons != _COMPARISONS else []
    finish("compare", rows, only=[*only, *given.parts])


if __name__ == "__main__":
    main()
