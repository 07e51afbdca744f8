"""Where some traces of a family step, the others are asked: those that moved plainly are members of the change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.explanation.replay import explain_trace

from .conftest import World, copied

ALERT = Alert("default")
COMMITS, PLACE, MOVERS = 80, 40, 4
WEAK, BYSTANDERS = "a4", ("a5", "a6", "a7")


def _series() -> dict[str, NDArray[np.float64]]:
    """Return 8 traces: four step by 6 deviations, one by too little to be found by itself, and three stay."""
    values = 100 + np.random.default_rng(20).normal(size=(8, COMMITS))
    values[:MOVERS, PLACE:] += 6.0
    values[MOVERS, PLACE:] += 1.0
    return {f"a{row}": series for row, series in enumerate(values)}


def _found(world: World) -> dict[str, list[tuple[int, int, float, str]]]:
    return {
        name: [
            (each.suspect_range.slot, each.movement, each.numbers.size, each.certainty.value)
            for each in world.points(name)
        ]
        for name in _series()
    }


@pytest.fixture
def family(world: World) -> World:
    world.measure({name: series.tolist() for name, series in _series().items()})
    return world


def test_a_trace_that_moved_plainly_where_others_step_is_a_member(family: World) -> None:
    family.run(ALERT)
    assert family.places(WEAK) == [PLACE]
    (change,) = family.store.findings.changes(family.repository)
    assert {each.trace_id for each in change.members} == {family.trace(f"a{row}") for row in range(MOVERS + 1)}
    assert change.statement is not None
    assert change.statement.traces == MOVERS + 1


def test_a_trace_without_others_has_to_show_its_step_by_itself(world: World) -> None:
    world.measure({name: series.tolist() for name, series in _series().items() if name not in {"a0", "a1", "a2", "a3"}})
    world.run(ALERT)
    assert world.places(WEAK) == []


def test_traces_that_stayed_are_left_out(family: World) -> None:
    family.run(ALERT)
    assert [family.places(name) for name in BYSTANDERS] == [[], [], []]


def test_another_group_is_another_family(world: World) -> None:
    world.measure({name.replace("a4", "b4"): series.tolist() for name, series in _series().items()})
    world.run(Alert("default", group_by=("kind",)))
    assert world.places("b4") == []


def test_asking_again_changes_nothing(family: World) -> None:
    family.run(ALERT)
    assert family.run(ALERT).nothing_new
    assert run_alerts(family.store, [ALERT], afresh=True).nothing_new


def test_a_few_commits_at_a_time_and_all_at_once_give_the_same_members(
    family: World, empty_world: Path, tmp_path: Path
) -> None:
    family.run(ALERT)
    later = copied(empty_world, tmp_path / "later.db")
    series = _series()
    # The weak trace comes in late, after the change of the others is settled, and the rest a few at a time.
    names = [name for name in series if name != WEAK]
    later.measure({name: series[name][:30].tolist() for name in names})
    run_alerts(later.store, [ALERT], as_work=True)
    for slot in range(30, COMMITS):
        later.put(slot, {name: float(series[name][slot]) for name in names})
        if slot % 5 == 4:
            run_alerts(later.store, [ALERT], traces=[later.trace(name) for name in names])
    later.measure({WEAK: series[WEAK].tolist()})
    run_alerts(later.store, [ALERT], traces=[later.trace(WEAK)])
    assert _found(later) == _found(family)
    later.store.close()


def test_a_member_goes_with_the_place_of_the_others(family: World) -> None:
    family.run(ALERT)
    series = _series()
    movers = [f"a{row}" for row in range(MOVERS)]
    for slot in range(PLACE, COMMITS):
        family.put(slot, {name: float(series[name][slot]) - (6.0 if name in movers else 0.0) for name in series})
    run_alerts(family.store, [ALERT], traces=[family.trace(name) for name in series])
    assert _found(family)[WEAK] == []


def test_what_a_trace_shows_by_itself_later_is_the_same_change_point(family: World) -> None:
    family.run(ALERT)
    (before,) = family.points(WEAK)
    series = _series()
    for slot in range(PLACE, COMMITS):
        family.put(slot, {name: float(series[name][slot]) + (5.0 if name == WEAK else 0.0) for name in series})
    family.run(ALERT)
    (after,) = family.points(WEAK, gone=True)
    assert (after.id, after.numbers.method) == (before.id, "default")


def test_the_explanation_names_the_place_of_the_family(family: World) -> None:
    family.run(ALERT)
    (alert,) = explain_trace(family.store, family.trace(WEAK), [ALERT]).alerts
    (asked,) = [each for each in alert.candidates if each.point]
    assert asked.commit.slot == PLACE
    assert "its family" in asked.note


@pytest.mark.parametrize("alert", [Alert("default", window=60), Alert("default", method="t_test")])
def test_other_methods_and_windows_ask_nobody(family: World, alert: Alert) -> None:
    family.run(alert)
    assert all(each.numbers.method != "family" for name in _series() for each in family.points(name))
