"""The noise between machines, from calibrations of several ones that are simulated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from knickpoint.bisect.comparison import BenchmarkState, CalibratedBenchmark, join_machines
from knickpoint.model.errors import InputError

_COUNT = 20
Machine = dict[str, CalibratedBenchmark]


def machines(count: int, own: float, seed: int = 1, state: BenchmarkState = BenchmarkState.USEFUL) -> list[Machine]:
    """Calibrate machines of different speed, each of which changes benchmarks by ``own`` more."""
    rng = np.random.default_rng(seed)
    levels = rng.uniform(0, 5, (_COUNT, 1)) + rng.normal(0, 0.3, count) + own * rng.standard_normal((_COUNT, count))
    return [
        {
            f",b={row}/": CalibratedBenchmark(
                f",b={row}/", state, found_80=0.02 + 0.01 * at, between=0.01, level=float(level), unit="ms"
            )
            for row, level in enumerate(np.exp(levels[:, at]))
        }
        for at in range(count)
    ]


def test_what_machines_have_in_common_is_no_noise_between_them() -> None:
    found = join_machines(machines(4, 0.0), false_positives=0.01, limit=0.1)
    assert max(each.noise for each in found.benchmarks) < 1e-6
    assert len({round(factor, 2) for factor in found.factors}) == 4


def test_the_noise_between_machines_is_that_of_single_benchmarks() -> None:
    found = join_machines(machines(6, 0.04), false_positives=0.01, limit=0.7)
    assert float(np.median([each.noise for each in found.benchmarks])) == pytest.approx(0.04, abs=0.01)
    assert 2 * math.sqrt(2) * 0.03 < found.minimum_effect < 2 * math.sqrt(2) * 0.06
    assert all(0.1 < each.found_80 < each.found_95 < 0.7 for each in found.benchmarks)
    assert all(each.in_turns == pytest.approx(0.07) for each in found.benchmarks), "the worst machine"
    assert {each.state for each in found.benchmarks} == {BenchmarkState.USEFUL}


def test_a_check_across_machines_finds_no_change_in_fewer_than_five_benchmarks() -> None:
    few = [dict(list(machine.items())[:4]) for machine in machines(3, 0.04)]
    found = join_machines(few, false_positives=0.01, limit=0.7)
    assert {(each.found_80, each.state) for each in found.benchmarks} == {(math.inf, BenchmarkState.USELESS)}


def test_counts_that_depend_on_no_machine_stay_exact() -> None:
    one, two = machines(1, 0.0, state=BenchmarkState.EXACT) * 2
    found = join_machines([one, two], false_positives=0.01, limit=0.1)
    assert {(each.noise, each.state) for each in found.benchmarks} == {(0.0, BenchmarkState.EXACT)}


def test_machines_without_a_common_benchmark_are_refused() -> None:
    (one,) = machines(1, 0.0)
    with pytest.raises(InputError, match="only one machine"):
        join_machines([one], false_positives=0.01, limit=0.1)
    with pytest.raises(InputError, match="no two machines have a benchmark in common"):
        join_machines([one, {"other": next(iter(one.values()))}], false_positives=0.01, limit=0.1)
