"""Summarise what comparisons can see, from runs of one commit: the noise, and the smallest changes found.

Calibrations of several machines are joined. A machine changes all speeds by a common factor, which ``knick check``
takes out, and each benchmark by one of its own, which is the noise between machines. Few machines show it badly, so
that of all benchmarks is mixed in (Smyth 2004). A check compares one run on another machine with a history of all of
them, from which it has to learn that noise: what it finds is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.comparison.effect import clipped_noise, estimate_effect, found_size, planned_rounds
from knickpoint.bisect.comparison.judgement import ComparisonRules, RoundsJudge
from knickpoint.bisect.comparison.paired_values import OF_SHAPES, MeasuredValue, PairedValues
from knickpoint.bisect.comparison.shapes import Modes
from knickpoint.detect.family import judge_moves, speed_sign
from knickpoint.detect.family.common_move import FEWEST_TOGETHER, common_moves, share_of
from knickpoint.detect.family.scale import common_variance
from knickpoint.detect.outliers import student_quantile
from knickpoint.model.errors import InputError
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better

BASE: Final = "base"
AGAIN: Final = "again"
ENVIRONMENT: Final = "environment"
PLANTED: Final = "planted"
LARGE: Final = "large"
BUILDS: Final = "build "
"""What another build of the commit is called, before its number."""

LARGE_SHARE: Final = 0.5
"""The planted slow-down that every living benchmark shows."""

_LIVING: Final = 0.5
"""Part of a planted slow-down that a benchmark has to show."""

_CERTAIN: Final = 0.95
_FEWEST: Final = 6
_NORMAL: Final = NormalDist()

Array = NDArray[np.float64]
Side = Mapping[str, MeasuredValue]


class BenchmarkState(Enum):
    """What a benchmark is good for."""

    USEFUL = "useful"
    EXACT = "exact"
    USELESS = "useless"
    DEAD = "dead"
    UNKNOWN = "no data"


@dataclass(frozen=True, slots=True)
class CalibratedBenchmark:
    """What a comparison can see of one benchmark; shares of its level, nan for what is unknown.

    Attributes:
        trace: its trace key.
        level: the median of its values, in ``unit``.
        unit: the unit of its values.
        state: what it is good for.
        rounds: rounds in which it was measured.
        alarms: comparisons of equal code that ended as a change, of ``comparisons``; the first number of each pair is
            about one build measured twice, the second about two builds.
        comparisons: how many were made.
        found_80: the smallest change that is found in four of five comparisons with the chosen number of rounds.
        found_95: the one that is found in 19 of 20.
        with_twice: what is found in four of five with twice as many rounds.
        needed: the rounds that find a change of the size asked for with the power asked for.
        within: noise of the samples within a run.
        between: noise between runs of one build.
        builds: noise between builds.
        environment: noise between environments of different sizes.
        shown: the planted slow-down as it was measured.
        shown_large: the large planted slow-down as it was measured.
    """

    trace: str
    state: BenchmarkState = BenchmarkState.UNKNOWN
    rounds: int = 0
    alarms: tuple[int, int] = (0, 0)
    comparisons: tuple[int, int] = (0, 0)
    found_80: float = math.nan
    found_95: float = math.nan
    with_twice: float = math.nan
    needed: int = 0
    within: float = math.nan
    between: float = math.nan
    builds: float = math.nan
    environment: float = math.nan
    shown: float = math.nan
    shown_large: float = math.nan
    level: float = math.nan
    unit: str = ""


@dataclass
class Calibration:
    """Collects rounds in which one commit was measured in several ways, and says what they mean.

    ``rules`` are those of the comparisons to come, ``rounds`` how many they make. A benchmark that finds nothing below
    ``limit`` is useless. ``planted`` is the share of the planted slow-down.
    """

    rules: ComparisonRules
    rounds: int = 20
    limit: float = 0.1
    planted: float = 0.05
    measured: list[Mapping[str, Side]] = field(default_factory=list)
    within: dict[str, list[float]] = field(default_factory=dict)

    def add(self, sides: Mapping[str, Side]) -> None:
        """Take a round: way of measuring → trace → value."""
        self.measured.append(sides)

    @property
    def benchmarks(self) -> tuple[CalibratedBenchmark, ...]:
        """What the rounds say, in the order of the first results."""
        traces = list(dict.fromkeys(key for sides in self.measured for key in sides.get(BASE, {})))
        judged = {arm: self._judge(arm) for arm in self._arms() if arm not in {PLANTED, LARGE}}
        pairs = {trace: {arm: self._pair(trace, arm) for arm in self._arms()} for trace in traces}
        count = sum(not _is_exact(pairs[trace]) for trace in traces)
        return tuple(self._benchmark(trace, pairs[trace], judged, max(1, count)) for trace in traces)

    def _arms(self) -> list[str]:
        return [arm for arm in dict.fromkeys(arm for sides in self.measured for arm in sides) if arm != BASE]

    def _judge(self, arm: str) -> Mapping[str, Verdict]:
        """Judge one way of measuring against the base, as a comparison does."""
        rounds = [sides for sides in self.measured if arm in sides and BASE in sides]
        count = max(1, len(rounds))
        judge = RoundsJudge(replace(self.rules, least_rounds=count, most_rounds=count))
        for sides in rounds:
            judge.add(sides[BASE], sides[arm])
        return {each.trace: each.verdict for each in judge.benchmarks}

    def _pair(self, trace: str, arm: str) -> PairedValues:
        """Pair the values of one benchmark, measured in one way, with those of the base."""
        pair = PairedValues(trace)
        for number, sides in enumerate(each for each in self.measured if arm in each):
            values = sides.get(BASE, {}).get(trace), sides[arm].get(trace)
            if not number:
                pair.add(*values, 0, counted=False)
            pair.add(*values, number, counted=True)
        return pair

    def _benchmark(
        self, trace: str, pairs: Mapping[str, PairedValues], judged: Mapping[str, Mapping[str, Verdict]], count: int
    ) -> CalibratedBenchmark:
        differences = {arm: _known(pair.differences()) for arm, pair in pairs.items()}
        rounds = max(map(len, differences.values()), default=0)
        alarms, comparisons = self._alarms(trace, judged)
        within = self.within.get(trace, [])
        values = [sides[BASE][trace] for sides in self.measured if trace in sides.get(BASE, {})]
        found = CalibratedBenchmark(
            trace,
            level=float(np.median([each.value for each in values])),
            unit=values[0].unit,
            rounds=rounds,
            alarms=alarms,
            comparisons=comparisons,
            within=float(np.median(within)) if within else math.nan,
            shown=_shown(differences.get(PLANTED)),
            shown_large=_shown(differences.get(LARGE)),
        )
        if rounds and _is_exact(pairs):
            return replace(found, state=BenchmarkState.EXACT, between=0.0, builds=0.0, environment=0.0)
        if rounds < _FEWEST or not pairs[AGAIN].logarithmic:
            return found
        noise, together = _noise_of_differences(differences)
        error = (1 - OF_SHAPES) * self.rules.false_positives / count
        sizes = [
            math.expm1(found_size(noise, max(1, int(together * rounds)), error, power))
            for rounds, power in ((self.rounds, 0.8), (self.rounds, 0.95), (2 * self.rounds, 0.8))
        ]
        builds = [each for arm, each in differences.items() if arm.startswith(BUILDS)]
        found = replace(
            found,
            found_80=sizes[0],
            found_95=sizes[1],
            with_twice=sizes[2],
            needed=self._needed(noise, together, error),
            between=clipped_noise(differences[AGAIN]) / math.sqrt(2),
            builds=_between_builds(builds),
            environment=_more_noise(differences.get(ENVIRONMENT), differences[AGAIN]),
        )
        return replace(found, state=self._state(found, differences.get(LARGE)))

    def _needed(self, noise: float, together: float, error: float) -> int:
        return math.ceil(planned_rounds(noise, math.log1p(self.rules.find), error, self.rules.power) / together)

    def _alarms(
        self, trace: str, judged: Mapping[str, Mapping[str, Verdict]]
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        """Count the false alarms of comparisons of one build, and of two builds, and these comparisons."""
        seen, made = [0, 0], [0, 0]
        for arm, verdicts in judged.items():
            place = int(arm.startswith(BUILDS))
            made[place] += 1
            seen[place] += verdicts.get(trace) in {Verdict.REGRESSED, Verdict.IMPROVED}
        return (seen[0], seen[1]), (made[0], made[1])

    def _state(self, found: CalibratedBenchmark, large: Array | None) -> BenchmarkState:
        """Classify a benchmark: whether it shows the large slow-down, and small changes at all."""
        if large is not None and len(large):
            margin = 3 * math.sqrt(2) * found.between / math.sqrt(len(large))
            if found.shown_large + margin < _LIVING * LARGE_SHARE:
                return BenchmarkState.DEAD
        return BenchmarkState.USELESS if not found.found_80 <= self.limit else BenchmarkState.USEFUL


def _known(differences: Array) -> Array:
    return differences[~np.isnan(differences)]


def _is_exact(pairs: Mapping[str, PairedValues]) -> bool:
    """Whether all values of a count are equal, however it was measured."""
    return bool(pairs) and all(pair.exact() is True for arm, pair in pairs.items() if arm == AGAIN)


def _noise_of_differences(differences: Mapping[str, Array]) -> tuple[float, float]:
    """Bound the noise of one difference from above with 95 %, and the share of rounds within one mode from below.

    The differences of one build measured twice count, and half of the information that other ways add: each shares its
    base with them.
    """
    equal = [each for arm, each in differences.items() if arm != LARGE and len(each) >= _FEWEST]
    centred = np.concatenate([each - np.median(each) for each in equal])
    modes = Modes.among(centred)
    together = 1.0 - float(modes.apart.mean()) if modes else 1.0
    kept = centred[~modes.apart] if modes else centred
    free = max(2.0, (len(kept) - len(equal)) * (1 + 1 / len(equal)) / 2)
    return clipped_noise(kept) * math.sqrt(len(kept) / max(1, len(kept) - len(equal))) * _upper(free, kept), together


def _upper(free: float, residuals: Array) -> float:
    """Factor from an estimate of the noise to its upper bound of 95 %; heavy tails make it larger.

    The quantile of χ² is that of Wilson and Hilferty (1931); the degrees of freedom shrink with the kurtosis (Box
    1953).
    """
    sizes = np.abs(residuals)
    clipped = np.minimum(sizes, 3 * float(np.median(sizes)) or math.inf)
    square = float(np.square(clipped).mean())
    kurtosis = float((clipped**4).mean()) / square**2 if square else 3.0
    free *= 2 / max(1.0, kurtosis - 1)
    low = free * (1 - 2 / (9 * free) - _NORMAL.inv_cdf(_CERTAIN) * math.sqrt(2 / (9 * free))) ** 3
    return math.sqrt(free / low) if low > 0 else math.sqrt(free) * 3


def _shown(differences: Array | None) -> float:
    if differences is None or not len(differences):
        return math.nan
    return math.expm1(estimate_effect(differences, math.inf).size)


def _more_noise(differences: Array | None, plain: Array) -> float:
    """Estimate the noise that one way of measuring adds to that of plain runs."""
    if differences is None or len(differences) < _FEWEST:
        return math.nan
    return math.sqrt(max(0.0, clipped_noise(differences) ** 2 - clipped_noise(plain) ** 2))


def _between_builds(builds: Sequence[Array]) -> float:
    """Estimate the noise between builds: what is left of their changes beside the error of these."""
    known = [each for each in builds if len(each) >= _FEWEST]
    if not known:
        return math.nan
    squares = [float(np.median(each)) ** 2 - math.pi / 2 * clipped_noise(each - np.median(each)) ** 2 / len(each)
               for each in known]  # fmt: skip
    return math.sqrt(max(0.0, float(np.mean(squares))) / 2)


def suggested_limits(calibration: Calibration) -> Mapping[str, float]:
    """Suggest --find and --minimum-effect for the useful benchmarks; empty without any."""
    useful = [each for each in calibration.benchmarks if each.state is BenchmarkState.USEFUL]
    if not useful:
        return {}
    find = float(np.quantile([each.found_80 for each in useful], 0.9))
    builds = [each.builds for each in useful if each.builds == each.builds]
    # Two builds differ by √2 times their noise; twice that is rare.
    least = 2 * 2**0.5 * float(np.quantile(builds, 0.9)) if builds else 0.0
    return {"find": rounded_up(max(find, least)), "minimum_effect": rounded_up(least)}


def rounded_up(share: float) -> float:
    """Round up to a tenth of a percent."""
    return float(np.ceil(share * 1000 - 1e-9) / 1000)


_FEWEST_MACHINES: Final = 2
_QUANTILE: Final = 0.9
_POWERS: Final = (0.8, 0.95)
_LARGEST: Final = 350.0
"""Logarithm of a simulated value at most: products of two are numbers."""

_COMMITS: Final = 30
_CHECKS: Final = 12
_MOST_CHECKED: Final = 40
"""Benchmarks of a simulated check, at most."""

Machine = Mapping[str, CalibratedBenchmark]
"""The calibration of one machine: trace → benchmark."""


@dataclass(frozen=True, slots=True)
class JoinedBenchmark:
    """What comparisons can see of one benchmark on several machines; shares of its level, nan for what is unknown.

    ``noise`` is that between machines beside their common factor. A check of one run on another machine, after 30
    commits on these, finds changes of ``found_80`` and ``found_95`` with that power, infinite where it finds none;
    ``in_turns`` is what comparisons on the worst of the machines find with 80 %, and ``between`` and ``builds`` are the
    noise of runs and builds there.
    """

    trace: str
    state: BenchmarkState
    machines: int
    noise: float = math.nan
    found_80: float = math.nan
    found_95: float = math.nan
    in_turns: float = math.nan
    between: float = math.nan
    builds: float = math.nan


@dataclass(frozen=True, slots=True)
class JoinedMachines:
    """The benchmarks of several machines, and the common factor of each machine over the middle one."""

    benchmarks: tuple[JoinedBenchmark, ...]
    factors: tuple[float, ...]

    @property
    def minimum_effect(self) -> float:
        """Difference between two machines that nine of ten living benchmarks stay below, nan without any."""
        living = [
            each.noise for each in self.benchmarks if each.state in {BenchmarkState.USEFUL, BenchmarkState.USELESS}
        ]
        # Two machines differ by √2 times the noise; twice that is rare.
        return 2 * math.sqrt(2) * float(np.quantile(living, _QUANTILE)) if living else math.nan

    @property
    def find(self) -> float:
        """Change that comparisons in turns find in nine of ten living benchmarks on any machine, nan without any."""
        known = [
            each.in_turns
            for each in self.benchmarks
            if each.state is not BenchmarkState.DEAD and each.in_turns == each.in_turns
        ]
        return float(np.quantile(known, _QUANTILE)) if known else math.nan


def join_machines(machines: Sequence[Machine], *, false_positives: float, limit: float) -> JoinedMachines:
    """Join the calibrations of two or more machines; a benchmark that hides changes of ``limit`` is useless.

    Raises:
        InputError: there are fewer than two machines, or they have no benchmark in common.
    """
    traces = list(dict.fromkeys(trace for machine in machines for trace in machine))
    shared = [trace for trace in traces if sum(_is_known(machine, trace) for machine in machines) >= _FEWEST_MACHINES]
    if len(machines) < _FEWEST_MACHINES or not shared:
        raise InputError(
            "only one machine was calibrated"
            if len(machines) < _FEWEST_MACHINES
            else "no two machines have a benchmark in common",
            where="--join",
            remedy="Calibrate the same benchmarks on each machine: knick calibrate HEAD --format json … > MACHINE.json.",
        )
    signs = np.array([_sign(machines, trace) for trace in shared])
    logs = np.array([[_log_level(machine, trace) for machine in machines] for trace in shared])
    speeds = signs != 0
    enough = np.count_nonzero(speeds) >= FEWEST_TOGETHER
    moves = common_moves(signs[speeds, None] * logs[speeds]) if enough else np.full(len(machines), np.nan)
    moves = np.nan_to_num(moves - np.nanmedian(moves)) if enough else np.zeros(len(machines))
    variance, freedom = _between(logs - signs[:, None] * moves, speeds)
    runs = np.array([_worst(machines, trace, "between", 0.0) for trace in shared])
    known = np.count_nonzero(~np.isnan(logs), axis=1)
    error = false_positives / len(shared)
    scale = np.sqrt((variance + runs**2) * (1 + 1 / known))
    sizes = scale[:, None] * [
        [student_quantile(1 - error / 2, each) + student_quantile(power, each) for power in _POWERS]
        for each in freedom.tolist()
    ]
    noise = np.sqrt(variance)
    times = _times_detectable(noise[speeds], runs[speeds], sizes[speeds, 0], len(machines), error)
    sizes[speeds] = sizes[speeds] * times if times < math.inf else math.inf
    benchmarks = tuple(
        _joined(machines, trace, share_of(of_it), (share_of(least), share_of(more)), limit)
        for trace, of_it, (least, more) in zip(shared, noise.tolist(), sizes.tolist(), strict=True)
    )
    return JoinedMachines(benchmarks, tuple(np.exp(moves).tolist()))


def _is_known(machine: Machine, trace: str) -> bool:
    return trace in machine and 0 < machine[trace].level < math.inf


def _log_level(machine: Machine, trace: str) -> float:
    return math.log(machine[trace].level) if _is_known(machine, trace) else math.nan


def _sign(machines: Sequence[Machine], trace: str) -> int:
    """Sign of what a slower machine does to the values; 0 for exact counts, which depend on no machine."""
    found = [machine[trace] for machine in machines if _is_known(machine, trace)]
    if all(each.state is BenchmarkState.EXACT for each in found):
        return 0
    return speed_sign(found[0].unit, Better.UNKNOWN)


def _between(logs: Array, speeds: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Estimate the variance between machines of each benchmark, and its degrees of freedom."""
    freedom = np.count_nonzero(~np.isnan(logs), axis=1) - 1.0
    variance = np.nanvar(logs, axis=1) * (freedom + 1) / freedom
    prior = common_variance(variance[speeds], freedom[speeds])
    variance[speeds] = prior.moderate(variance[speeds], freedom[speeds], np.ones(np.count_nonzero(speeds)))
    freedom[speeds] += prior.freedom
    return variance, freedom


def _times_detectable(noise: Array, runs: Array, sizes: Array, machines: int, error: float) -> float:
    """Simulate checks, and return what four of five state as detectable, as a multiple of ``sizes``; inf for nothing.

    ``noise`` is that between machines and ``runs`` that of one run, as standard deviations of logarithms; ``error`` is
    the rate of false positives of a benchmark.
    """
    if noise.size < FEWEST_TOGETHER:
        return math.inf
    if not sizes.any():
        return 1.0
    rng, found = np.random.default_rng(0), []
    for _ in range(_CHECKS):
        rows = rng.permutation(noise.size)[:_MOST_CHECKED]
        places = rng.integers(0, machines, _COMMITS)
        own = noise[rows, None] * rng.standard_normal((rows.size, machines + 1))
        logs = own[:, [*places, machines]] + runs[rows, None] * rng.standard_normal((rows.size, _COMMITS + 1))
        values = np.exp(np.clip(logs, -_LARGEST, _LARGEST))
        judged = judge_moves(
            values[:, :-1],
            list(values[:, -1:]),
            signs=[1] * rows.size,
            unlike=np.ones(_COMMITS, dtype=np.bool_),
            machines=np.unique(places).size,
            better=Better.LOWER,
            false_positives=error * rows.size,
        ).judgements
        found += [
            math.log1p(each.detectable_relative) / size
            for each, size in zip(judged, sizes[rows].tolist(), strict=True)
            if size
        ]
    return float(np.quantile(found, _POWERS[0]))


def _worst(machines: Sequence[Machine], trace: str, name: str, otherwise: float = math.nan) -> float:
    """Return the largest known value of a field among the calibrations of a benchmark."""
    found = [getattr(machine[trace], name) for machine in machines if _is_known(machine, trace)]
    return max((value for value in found if not math.isnan(value)), default=otherwise)


def _joined(
    machines: Sequence[Machine], trace: str, noise: float, found: tuple[float, float], limit: float
) -> JoinedBenchmark:
    calibrated = [machine[trace] for machine in machines if _is_known(machine, trace)]
    worst = [_worst(machines, trace, name) for name in ("found_80", "between", "builds")]
    return JoinedBenchmark(trace, _state(calibrated, found[0], limit), len(calibrated), noise, *found, *worst)


def _state(found: Sequence[CalibratedBenchmark], size: float, limit: float) -> BenchmarkState:
    states = {each.state for each in found}
    if BenchmarkState.DEAD in states:
        return BenchmarkState.DEAD
    if states == {BenchmarkState.EXACT}:
        return BenchmarkState.EXACT
    return BenchmarkState.USEFUL if size <= limit else BenchmarkState.USELESS
