"""Whether what ``knick calibrate`` states holds out of sample, for the part ``calibrate`` of ``compare.py``.

Thirty suites of six benchmarks are generated: normal noise, heavy tails, two modes, a machine that drifts from run to
run, and noise that is shared and lasts. Each is calibrated by twelve rounds. Then fresh comparisons of twenty rounds
are made with the smallest changes that the calibration states, and without any. A statement about a benchmark fails
where the share that was found is significantly too small (binomial, 5 %). Real programs on this machine follow, which
time themselves and get more work to do.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from accuracy_noise import FAMILIES
from gate_machines import MachinePull, judge
from gate_noise import PullRequest
from knickpoint.bisect.comparison import (
    BenchmarkState,
    CalibratedBenchmark,
    Calibration,
    ComparisonRules,
    MeasuredValue,
    RoundsJudge,
)
from knickpoint.bisect.comparison.calibration import join_machines
from knickpoint.bisect.comparison.effect import clipped_noise
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better
from table import Reach, Row

_KINDS: Final = ("normal", "heavy-tailed", "bimodal", "drift", "correlated")
_SUITES: Final = 6
"""Suites of each kind."""

_BENCHMARKS: Final = 6
_CALIBRATED: Final = 12
_ROUNDS: Final = 20
_SURE: Final = 0.05
_STEP: Final = 0.01
"""How far a drifting machine goes from run to run."""

_REAL_FIND: Final = 0.01
_MOST_REAL: Final = 1_500

_PROGRAMS: Final[Mapping[str, tuple[str, str]]] = {
    "hash": ("import hashlib; data = bytes(100_000)", "hashlib.sha256(data).digest()"),
    "sort": ("import random; data = [random.random() for _ in range(3000)]", "sorted(data)"),
    "loop": ("", "sum(i * i for i in range(3000))"),
    "json": ("import json; data = {str(i): i for i in range(600)}", "json.loads(json.dumps(data))"),
    "start": ("import subprocess", "subprocess.run(['true'])"),
}
_REPEATS: Final = {"hash": 100, "sort": 60, "loop": 100, "json": 80, "start": 12}

Array = NDArray[np.float64]
Side = dict[str, MeasuredValue]
Measure = Callable[[Array], Side]
"""Run a suite once whose benchmarks take so many times longer."""


class _Suite:
    """A generated suite on a machine: each call is one run."""

    def __init__(self, kind: str, seed: int) -> None:
        self.names = [f",benchmark=b{number}," for number in range(_BENCHMARKS)]
        self._kind = kind
        self._rng = np.random.default_rng([seed, _KINDS.index(kind)])
        self._noise = np.exp(self._rng.uniform(np.log(0.003), np.log(0.05), _BENCHMARKS))
        self._drift = 0.0
        self._shared = np.zeros(_BENCHMARKS)

    def measure(self, factors: Array) -> Side:
        rng = self._rng
        if self._kind == "drift":
            self._drift += _STEP * rng.standard_normal()
        family = self._kind if self._kind in FAMILIES else "normal"
        shocks = FAMILIES[family](rng, _BENCHMARKS)
        if self._kind == "correlated":
            shocks = 0.8 * rng.standard_normal() + 0.6 * shocks
            self._shared = shocks = 0.6 * self._shared + 0.8 * shocks
        values = 10 * factors * np.exp(self._drift) * (1 + self._noise * shocks)
        return {
            name: MeasuredValue(float(value), "ms", Better.LOWER)
            for name, value in zip(self.names, values, strict=True)
        }


class _Program:
    """A real program on this machine that times itself; more work is planted by more repetitions."""

    def __init__(self, name: str, clock: str = "perf_counter") -> None:
        self._clock = clock
        self.names = [f",benchmark={name},"]
        self._setup, self._work = _PROGRAMS[name]
        self._repeats = _REPEATS[name]

    def measure(self, factors: Array) -> Side:
        count = round(10 * self._repeats * factors[0]) // 10
        text = (
            f"import time\n{self._setup}\nstart = time.{self._clock}()\nfor _ in range({count}):\n    {self._work}\n"
            f"print(time.{self._clock}() - start)"
        )
        printed = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True).stdout
        return {self.names[0]: MeasuredValue(1000 * json.loads(printed), "ms", Better.LOWER)}


@dataclass(frozen=True, slots=True)
class _Checked:
    """What was stated of a benchmark, and in which share of fresh comparisons it was so."""

    stated_80: float
    found_80: float
    found_95: float
    alarms: float


def _compare(measure: Measure, factors: Array, seed: int) -> Mapping[str, Verdict]:
    judge = RoundsJudge(ComparisonRules(find=1e-9, least_rounds=_ROUNDS, most_rounds=_ROUNDS, seed=seed))
    plain, order = np.ones_like(factors), np.random.default_rng(seed)
    for _ in range(_ROUNDS):
        if order.random() < 0.5:
            base = measure(plain)
            head = measure(factors)
        else:
            head = measure(factors)
            base = measure(plain)
        judge.add(base, head)
    return {each.trace: each.verdict for each in judge.benchmarks}


def _check(names: Sequence[str], measure: Measure, count: int, seed: int) -> list[_Checked]:
    """Calibrate a suite, and make so many comparisons with what was stated."""
    rng, plain = np.random.default_rng(seed), np.ones(len(names))
    calibration = Calibration(ComparisonRules(most_rounds=_ROUNDS), rounds=_ROUNDS)
    for _ in range(_CALIBRATED):
        ways = {
            name: 1.05 if name == "planted" else 1.0
            for name in rng.permutation(["base", "again", "environment", "build 2", "build 3", "planted"]).tolist()
        }
        calibration.add({name: measure(plain * factor) for name, factor in ways.items()})
    stated = {each.trace: each for each in calibration.benchmarks if each.state is not BenchmarkState.UNKNOWN}
    shares = {}
    for field, comparisons in (("found_80", count), ("found_95", count), ("", count)):
        factors = np.array([1 + (getattr(stated[name], field) if field else 0.0) for name in names])
        worse = dict.fromkeys(names, 0)
        for number in range(comparisons):
            for trace, verdict in _compare(measure, factors, seed + number).items():
                worse[trace] += verdict is Verdict.REGRESSED
        shares[field] = {trace: each / comparisons for trace, each in worse.items()}
    return [
        _Checked(stated[name].found_80, shares["found_80"][name], shares["found_95"][name], shares[""][name])
        for name in names
    ]


def _check_generated(kind: str, count: int, seed: int) -> list[_Checked]:
    suite = _Suite(kind, seed)
    return _check(suite.names, suite.measure, count, seed)


def calibration_rows(pool: ProcessPoolExecutor, comparisons: int) -> Iterator[Row]:
    """Yield the rows of the generated suites by kind, of all of them, and of the real programs."""
    count = max(10, comparisons // 25)
    everything: list[_Checked] = []
    running = {
        kind: pool.map(partial(_check_generated, kind, count), [1000 * each for each in range(_SUITES)])
        for kind in _KINDS
    }
    for kind, suites in running.items():
        checked = [each for suite in suites for each in suite]
        everything += checked
        yield from _rows(f"{kind}, {len(checked)} benchmarks", checked, count, Reach.SHOWN)
    yield from _rows(f"all {len(everything)} generated benchmarks", everything, count, Reach.AT_LEAST)
    fewer = max(5, count // 3)
    real = []
    for name in _PROGRAMS:
        program = _Program(name)
        real += _check(program.names, program.measure, fewer, 0)
    yield from _rows(f"{len(real)} real programs", real, fewer, Reach.SHOWN)


def real_find_rows(comparisons: int) -> Iterator[Row]:
    """Yield the rows of a real program whose processor time is to show 1 %."""
    program, rules = _Program("loop", "process_time"), ComparisonRules(find=_REAL_FIND, most_rounds=_MOST_REAL)
    score, ratios, worse = NormalDist().inv_cdf, [], {1.0: 0, 1 + _REAL_FIND: 0}
    for factor in worse:
        for seed in range(comparisons):
            judge, differences = RoundsJudge(replace(rules, seed=seed)), []
            order = np.random.default_rng(seed)
            while not judge.finished and judge.rounds < rules.most_rounds:
                sides: dict[int, Side] = {}
                for side in order.permutation(2).tolist():
                    sides[side] = program.measure(np.array([factor if side else 1.0]))
                judge.add(sides[0], sides[1])
                values = [each[program.names[0]].value for each in (sides[0], sides[1])]
                differences.append(float(np.log(values[1] / values[0])))
            judge.conclude()
            worse[factor] += judge.benchmarks[0].verdict is Verdict.REGRESSED
            noise = clipped_noise(np.array(differences) - np.median(differences))
            bound = ((score(1 - rules.false_positives) + score(rules.power)) * noise / _REAL_FIND) ** 2
            if factor == 1.0:
                ratios.append(judge.rounds / max(bound, 1.0))
    label = f"1 % of a real processor time, {comparisons} comparisons"
    yield Row(f"{label}: rounds, of the bound by their noise", "times", float(np.mean(ratios)))
    yield Row(f"{label}: equal ones that fail", "", float(worse[1.0]))
    yield Row(f"{label}: +1 % found", "%", 100 * worse[1 + _REAL_FIND] / comparisons)


def _rows(label: str, checked: Sequence[_Checked], count: int, reach: Reach) -> Iterator[Row]:
    def holds(shares: Sequence[float], power: float) -> float:
        return 100 * float(np.mean([binom.cdf(round(share * count), count, power) > _SURE for share in shares]))

    for field, power in (("found_80", 0.8), ("found_95", 0.95)):
        shares = [getattr(each, field) for each in checked]
        name = f"{label}: stated for {100 * power:.0f} %"
        yield Row(f"{name}, holds in", "% of benchmarks", holds(shares, power), reach=reach, bound=95.0)
        yield Row(f"{name}, found of {count}", "%", 100 * float(np.mean(shares)))
    alarms = [each.alarms for each in checked]
    held = 100 * float(np.mean([binom.sf(round(share * count) - 1, count, 0.01) > _SURE for share in alarms]))
    yield Row(f"{label}: stated false alarms, hold in", "% of benchmarks", held, reach=reach, bound=95.0)
    yield Row(f"{label}: false alarms of a benchmark", "%", 100 * float(np.mean(alarms)))
    yield Row(
        f"{label}: median of what is stated for 80 %", "%", 100 * float(np.median([e.stated_80 for e in checked]))
    )


_BETWEEN: Final = 0.04
"""Standard deviation of the logarithm of what machines do to a benchmark beside their common factor."""

_JOINED_NOISE: Final = 0.01
_SUITE: Final = 20
_COMMITS: Final = 30


@dataclass(frozen=True, slots=True)
class _Joined:
    """What joined calibrations state for 80 %, and what a check of one run on a machine not among them says."""

    stated: float
    failed: bool
    found: bool


def _join(family: str, machines: int, seed: int) -> _Joined:
    rng = np.random.default_rng([seed, machines, list(FAMILIES).index(family)])
    own = np.exp(_BETWEEN * np.stack([FAMILIES[family](rng, _SUITE) for _ in range(machines + 1)]))
    levels = own * np.exp(rng.normal(0, 0.25, machines + 1))[:, None]
    names = [f",benchmark=b{number}," for number in range(_SUITE)]
    calibrations = [
        {
            name: CalibratedBenchmark(name, BenchmarkState.USEFUL, between=_JOINED_NOISE, level=float(level), unit="ms")
            for name, level in zip(names, machine, strict=True)
        }
        for machine in levels[:-1]
    ]
    joined = join_machines(calibrations, false_positives=0.01, limit=0.1).benchmarks
    places = np.concatenate([np.arange(machines), rng.integers(0, machines, _COMMITS - machines)])

    def measured(factors: Array) -> Array:
        return np.asarray(factors * (1 + _JOINED_NOISE * rng.standard_normal(factors.shape)))

    pull = PullRequest(measured(levels[places].T), measured(levels[-1][:, None]))
    made = MachinePull(pull, np.ones(_COMMITS, dtype=bool), machines)
    at = seed % _SUITE
    changed = judge(made.with_change(at, joined[at].found_80))
    stated = float(np.median([each.found_80 for each in joined]))
    return _Joined(stated, bool(judge(made).worse.any()), bool(changed.worse[at]))


def joined_rows(pool: ProcessPoolExecutor, comparisons: int) -> Iterator[Row]:
    """Yield the rows of calibrations of several machines, and of checks on one that is not among them."""
    for family in ("normal", "heavy-tailed"):
        for machines in (3, 8):
            made = list(pool.map(partial(_join, family, machines), range(comparisons), chunksize=10))
            label = f"{machines} machines that differ by 4 %, {family}"
            yield Row(f"{label}: stated for 80 %, median", "%", 100 * float(np.median([each.stated for each in made])))
            found = 100 * float(np.mean([each.found for each in made]))
            yield Row(f"{label}: found of {comparisons} on another machine", "%", found)
            failed = 100 * float(np.mean([each.failed for each in made]))
            yield Row(f"{label}: unchanged that fail there", "%", failed, reach=Reach.AT_MOST, bound=1.0)
