"""Whether the machine made a change: facts of the runs that are others since the step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.suspects import Suspects
from knickpoint.store import RunWrite
from knickpoint.watch.suspects.machine import (
    EnvironmentComparison,
    EnvironmentVerdict,
    MachineChange,
    chance_of_machine,
    compare_within_environments,
)
from knickpoint.watch.suspects.ranking import NONE
from knickpoint.watch.suspects.update import update_suspects

from .conftest import World, levels


def suspects_after(world: World, environment: Callable[[int], Mapping[str, str]], names: int = 1) -> Suspects:
    """Return the suspects of a step at commit 30 of 60, measured in the ``environment`` of each commit."""
    with world.store.transaction():
        for slot, value in enumerate(levels((30, 20.0), (30, 25.0))):
            table = ResultTable.of(
                Result({"benchmark": f"parse{number}", "kind": "p"}, (value,), "ms") for number in range(names)
            )
            run = RunReport(table, identity=str(slot), environment=dict(environment(slot)))
            world.store.runs.write(world.repository, [RunWrite(slot, run, str(slot), str(slot), "test")])
    world.run()
    update_suspects(world.store, lambda _: None)
    (point,) = world.store.findings.change_points(
        world.store.traces.find(world.repository, ",benchmark=parse0,kind=p,")[0].id
    )
    found = world.store.findings.suspects.get(point.change_id)
    assert found is not None
    return found


def test_a_cpu_that_changes_at_the_step_is_likelier_than_any_commit(world: World) -> None:
    found = suspects_after(world, lambda slot: {"cpu": "A" if slot < 30 else "B", "os": "linux"}, names=5)
    assert found.machine == "The machine changed: cpu A → B. Such facts changed once in 60 measured commits."
    assert found.none > 0.9
    assert max(suspect.probability for suspect in found.suspects) < 0.1


@pytest.mark.parametrize(
    ("step", "headline"),
    [(30, "25 % slower; probably the machine"), (20, "25 % slower")],
    ids=["another machine since the step", "another one before it"],
)
def test_a_change_is_said_to_be_probably_the_machine_where_that_changed_at_the_step(
    world: World, step: int, headline: str
) -> None:
    suspects_after(world, lambda slot: {"cpu": "A" if slot < step else "B"})
    (stated,) = world.store.findings.statements.of_changes(range(1, 10)).values()
    assert stated.headline == headline
    assert (stated.likely is None, bool(stated.machine)) == (step == 30, step == 30)


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param(lambda _: {"cpu": "A"}, id="the same machine"),
        pytest.param(lambda slot: {"cpu": "A" if slot < 20 else "B"}, id="another one before the step"),
        pytest.param(lambda slot: {"build": str(slot)}, id="a fact of the execution"),
        pytest.param(lambda _: {}, id="no facts"),
    ],
)
def test_without_a_change_of_the_machine_at_the_step_commits_are_suspects(
    world: World, environment: Callable[[int], Mapping[str, str]]
) -> None:
    found = suspects_after(world, environment)
    assert found.machine == ""
    assert found.none in NONE.values()


def test_values_of_one_machine_that_move_with_the_step_acquit_it(world: World) -> None:
    early = {8, 12, 16, 20}
    found = suspects_after(world, lambda slot: {"cpu": "B" if slot >= 30 or slot in early else "A"})
    assert found.machine == ""
    assert "With cpu B alone, 4 values before and 20 after the step, the level moved as well (+25 %)" in found.note
    assert found.none in NONE.values()


def compared(values: list[float], cpus: str) -> EnvironmentComparison | None:
    """Compare ``values`` of the machines ``cpus``, a letter each, before and after the middle."""
    facts = [{"cpu": cpu} for cpu in cpus]
    return compare_within_environments(np.array(values), facts, len(values) // 2, ["cpu"])


def test_values_of_one_machine_that_stay_convict_it() -> None:
    noise = [0.0, 0.1, -0.1, 0.05, -0.05] * 2
    before = [20 + each for each in noise]
    after = [(20 if cpu == "A" else 25) + each for cpu, each in zip("BABABABABB", noise, strict=True)]
    found = compared([*before, *after], "A" * 10 + "BABABABABB")
    assert found is not None
    assert found.verdict is EnvironmentVerdict.STAYED
    assert str(found).startswith("With cpu A alone, 10 values before and 4 after the step, the level stayed (")
    assert chance_of_machine(MachineChange({"cpu": ("A", "B")}, 9, 20, found), 0.15) == 0.98


def test_values_that_are_too_noisy_decide_nothing() -> None:
    found = compared([20, 31, 24, 15, 28, 29, 23, 19, 40, 31], "AAAAABBAAA")
    assert found is not None
    assert found.verdict is EnvironmentVerdict.UNKNOWN
    assert chance_of_machine(MachineChange({"cpu": ("A", "B")}, 1, 100, found), 0.15) > 0.9


def test_a_machine_that_measured_on_one_side_only_says_nothing() -> None:
    assert compared([20.0] * 10 + [25.0] * 10, "A" * 10 + "B" * 10) is None


def test_a_fact_that_changes_often_says_less() -> None:
    rare, frequent = (MachineChange({"cpu": ("A", "B")}, changes, 100) for changes in (1, 20))
    assert chance_of_machine(rare, 0.15) == pytest.approx(0.946, abs=0.001)
    assert chance_of_machine(frequent, 0.15) == pytest.approx(0.469, abs=0.001)
    assert chance_of_machine(MachineChange({"cpu": ("A", "B")}, 1, 10**6), 0.15) == 0.98
