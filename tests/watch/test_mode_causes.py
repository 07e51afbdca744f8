"""Which fact of the runs explains between which levels a trace flips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from knickpoint.model.alert import Alert
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite
from knickpoint.watch.explanation import explain_trace
from knickpoint.watch.explanation.parts import FactMode, find_mode_cause

from .conftest import World

FACTS = [{"runner": "a", "os": "linux"}, {"runner": "b", "os": "linux"}]


def explained(modes: Sequence[int], runners: Sequence[int]) -> tuple[str, float] | None:
    cause = find_mode_cause(modes, [FACTS[runner] for runner in runners])
    return (cause.fact, cause.share) if cause else None


def test_the_fact_that_goes_with_the_modes_explains_them() -> None:
    assert explained([0, 1] * 10, [0, 1] * 10) == ("runner", 1.0)


def test_each_text_of_the_fact_has_its_mode_and_how_often() -> None:
    cause = find_mode_cause([0] * 9 + [1] * 11, [FACTS[0]] * 10 + [FACTS[1]] * 10)
    assert cause is not None
    assert cause.texts == (FactMode("a", 0, 10, 0.9), FactMode("b", 1, 10, 1.0))


@pytest.mark.parametrize(
    ("modes", "runners"),
    [
        pytest.param([0, 1] * 10, [0] * 20, id="a fact that is the same everywhere"),
        pytest.param([0, 1] * 10, [0] * 10 + [1] * 10, id="a fact that changes by itself"),
        pytest.param([0, 1, 0, 1], [0, 1, 0, 1], id="too few values"),
        pytest.param([], [], id="no value"),
    ],
)
def test_what_does_not_go_with_the_modes_explains_nothing(modes: Sequence[int], runners: Sequence[int]) -> None:
    assert explained(modes, runners) is None


def test_a_fact_that_is_another_one_at_every_run_explains_nothing() -> None:
    assert find_mode_cause([0, 1] * 10, [{"build": str(number)} for number in range(20)]) is None


def test_the_explanation_of_a_trace_names_the_machine_of_its_modes(world: World) -> None:
    rng = np.random.default_rng(1)
    machines = np.repeat([0, 1, 0, 1, 0, 1, 0, 1], 10)
    with world.store.transaction():
        for slot, machine in enumerate(machines.tolist()):
            value = (10.0, 10.6)[machine] + 0.03 * rng.normal()
            table = ResultTable.of([Result({"benchmark": "parse", "kind": "p"}, (value,), "ms")])
            run = RunReport(table, identity=str(slot), environment={"machine": f"m{machine}"})
            world.store.runs.write(world.repository, [RunWrite(slot, run, str(slot), str(slot), "test")])
    (alert,) = explain_trace(world.store, world.trace("parse"), [Alert("slow")]).alerts
    (stretch,) = alert.flipping
    assert stretch.cause is not None
    assert (stretch.cause.fact, stretch.cause.share) == ("machine", 1.0)
