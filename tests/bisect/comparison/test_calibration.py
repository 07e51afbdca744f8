"""What a calibration states: noise by its source, the smallest changes found, and which benchmarks are good for nothing."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from knickpoint.bisect.comparison import (
    BenchmarkState,
    CalibratedBenchmark,
    Calibration,
    ComparisonRules,
    MeasuredValue,
    suggested_limits,
)
from knickpoint.bisect.runner.command import CommandLimits, Ending, run_command
from knickpoint.bisect.runner.planting import planting_command
from knickpoint.model.unit_names import Better

_WAYS = {"base": 1.0, "again": 1.0, "environment": 1.0, "build 2": 1.02, "build 3": 0.98, "planted": 1.05, "large": 1.5}


def _calibrated(noise: float, *, dead: bool = False, rounds: int = 30, unit: str = "ms") -> Calibration:
    rng = np.random.default_rng(1)
    calibration = Calibration(ComparisonRules())
    for _ in range(rounds):
        sides = {}
        for way, factor in _WAYS.items():
            level = 10.0 if dead or not noise else 10.0 * factor
            value = level * (1 + noise * float(rng.standard_normal()))
            sides[way] = {",benchmark=render,": MeasuredValue(value, unit, Better.LOWER)}
        calibration.add(sides)
    return calibration


def _only(calibration: Calibration) -> CalibratedBenchmark:
    (only,) = calibration.benchmarks
    return only


def test_noise_is_told_apart_by_its_source() -> None:
    found = _only(_calibrated(0.01))
    assert found.state is BenchmarkState.USEFUL
    assert found.between == pytest.approx(0.01, rel=0.25)
    assert found.builds == pytest.approx(0.014, rel=0.3)  # two builds, 2 % above and below the base
    assert found.environment < 0.01
    assert found.shown == pytest.approx(0.05, abs=0.01)


def test_the_smallest_change_shrinks_with_more_rounds_and_grows_with_the_power() -> None:
    found = _only(_calibrated(0.01))
    assert 0.008 < found.with_twice < found.found_80 < found.found_95 < 0.03
    assert 7 <= found.needed <= 10


def test_other_builds_raise_alarms_of_their_own() -> None:
    found = _only(_calibrated(0.001))
    assert (found.alarms, found.comparisons) == ((0, 2), (2, 2))


def test_a_benchmark_that_shows_no_planted_slow_down_is_dead() -> None:
    assert _only(_calibrated(0.01, dead=True)).state is BenchmarkState.DEAD


def test_a_benchmark_that_hides_what_people_look_for_is_useless() -> None:
    assert _only(_calibrated(0.2)).state is BenchmarkState.USELESS


def test_a_count_is_exact_and_too_few_rounds_say_nothing() -> None:
    assert _only(_calibrated(0.0, unit="instructions")).state is BenchmarkState.EXACT
    assert _only(_calibrated(0.01, rounds=5)).state is BenchmarkState.UNKNOWN


def test_the_suggestion_is_larger_than_what_builds_do() -> None:
    limits = suggested_limits(_calibrated(0.01))
    assert limits["find"] >= limits["minimum_effect"] >= 0.03
    assert suggested_limits(_calibrated(0.2)) == {}


_WORK = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"


@pytest.mark.parametrize(("how", "amount"), [("pause", 1.0), ("repeat", 0.4)])
def test_a_planted_slow_down_costs_what_it_says(how: str, amount: float, tmp_path: Path) -> None:
    command = (*planting_command(how, amount), sys.executable, "-c", _WORK)
    began = time.monotonic()
    end = run_command(command, tmp_path, {}, CommandLimits(60), lambda: False)
    assert (end.ending, end.code) == (Ending.EXITED, 0)
    assert time.monotonic() - began >= 0.7


def test_a_planted_command_keeps_its_exit_code(tmp_path: Path) -> None:
    command = (*planting_command("pause", 0.5), sys.executable, "-c", "raise SystemExit(125)")
    assert run_command(command, tmp_path, {}, CommandLimits(60), lambda: False).code == 125
