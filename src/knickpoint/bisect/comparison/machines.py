"""Join the calibrations of several machines: the noise between machines, and the changes that checks across them find.

A machine changes all speeds by a common factor, which ``knick check`` takes out, and each benchmark by one of its own,
which is the noise between machines. Few machines show it badly, so that of all benchmarks is mixed in (Smyth 2004). A
check compares one run on another machine with a history of all of them, from which it has to learn that noise: what it
finds is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.comparison.calibration import BenchmarkState, CalibratedBenchmark
from knickpoint.detect.family import judge_moves, speed_sign
from knickpoint.detect.family.common_move import FEWEST_TOGETHER, common_moves
from knickpoint.detect.family.scale import common_variance
from knickpoint.detect.outliers import student_quantile
from knickpoint.model.errors import InputError
from knickpoint.model.unit_names import Better

_FEWEST: Final = 2
_QUANTILE: Final = 0.9
_POWERS: Final = (0.8, 0.95)
_LARGEST: Final = 700.0
"""Logarithm beyond which a change is not a number."""

_COMMITS: Final = 30
_CHECKS: Final = 12
_MOST_CHECKED: Final = 40
"""Benchmarks of a simulated check, at most."""

Array = NDArray[np.float64]
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
    shared = [trace for trace in traces if sum(_is_known(machine, trace) for machine in machines) >= _FEWEST]
    if len(machines) < _FEWEST or not shared:
        raise InputError(
            "only one machine was calibrated"
            if len(machines) < _FEWEST
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
        _joined(machines, trace, _share(of_it), (_share(least), _share(more)), limit)
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
        values = np.exp(np.clip(logs, -_LARGEST / 2, _LARGEST / 2))
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


def _share(size: float) -> float:
    return math.expm1(size) if size < _LARGEST else math.inf


def _state(found: Sequence[CalibratedBenchmark], size: float, limit: float) -> BenchmarkState:
    states = {each.state for each in found}
    if BenchmarkState.DEAD in states:
        return BenchmarkState.DEAD
    if states == {BenchmarkState.EXACT}:
        return BenchmarkState.EXACT
    return BenchmarkState.USEFUL if size <= limit else BenchmarkState.USELESS
