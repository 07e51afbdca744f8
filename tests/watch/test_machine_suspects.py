"""Whether the machine made a change: facts of the runs that are others since the step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.suspects import Suspects
from knickpoint.store import RunWrite
from knickpoint.watch.suspects.machine import MachineChange, chance_of_machine
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
    found = world.store.findings.suspects.get(point.regression_id)
    assert found is not None
    return found


def test_a_cpu_that_changes_at_the_step_is_likelier_than_any_commit(world: World) -> None:
    found = suspects_after(world, lambda slot: {"cpu": "A" if slot < 30 else "B", "os": "linux"}, names=5)
    assert found.machine == "The machine changed: cpu A → B. Such facts changed once in 60 measured commits."
    assert found.none > 0.9
    assert max(suspect.probability for suspect in found.suspects) < 0.1


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


def test_a_fact_that_changes_often_says_less() -> None:
    rare, frequent = (MachineChange({"cpu": ("A", "B")}, changes, 100) for changes in (1, 20))
    assert chance_of_machine(rare, 0.15) == pytest.approx(0.946, abs=0.001)
    assert chance_of_machine(frequent, 0.15) == pytest.approx(0.469, abs=0.001)
    assert chance_of_machine(MachineChange({"cpu": ("A", "B")}, 1, 10**6), 0.15) == 0.98
