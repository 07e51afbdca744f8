"""Another direction of a trace turns its findings when a person accepts it, and no message is sent because of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from knickpoint.model.alert import AlertDirection
from knickpoint.model.change_point import Direction, Status
from knickpoint.model.direction import DirectionRule
from knickpoint.model.query import parse_query
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.unit_names import Better
from knickpoint.store import RunWrite, open_store
from knickpoint.watch.alert_run.persistence import RunSummary
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.alert_run.run_plan import turned_traces
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import QUICK, World, levels


def rule(world: World, better: Better = Better.HIGHER) -> None:
    world.store.traces.set_directions([DirectionRule(parse_query("benchmark=parse"), better)])


def later_result(world: World) -> None:
    """Measure a commit again, with a result that states its direction."""
    table = ResultTable.of([Result({"benchmark": "parse", "kind": "p"}, (25.0,), "points", better=Better.HIGHER)])
    world.store.runs.write(
        world.repository, [RunWrite(29, RunReport(table, identity="again"), "again", "again", "test")]
    )


def run(world: World, *, turn: bool = False) -> RunSummary:
    return run_alerts(world.store, world.alerts, turn=turn, as_work=True)


def announced(world: World) -> list[tuple[str, Direction]]:
    rows = world.store.findings.announcements.newest(world.repository, limit=100)
    return [(row.kind.value, row.direction) for row in rows]


def directions(world: World) -> list[Direction]:
    return [point.direction for point in world.points("parse")]


@pytest.fixture
def slower(world: World) -> World:
    """A world with one announced finding in 30 values."""
    world.measure({"parse": levels((10, 20.0), (20, 25.0))})
    run(world)
    return world


@pytest.mark.parametrize(("unit", "change"), [("ms", rule), ("points", rule), ("points", later_result)])
def test_findings_turn_when_a_person_accepts_it_and_without_a_message(
    world: World, unit: str, change: Callable[[World], None]
) -> None:
    world.units["parse"] = unit
    world.measure({"parse": levels((10, 20.0), (20, 25.0))})
    run(world)
    before, said = directions(world), announced(world)
    change(world)
    asked = [run(world), run(world)]
    assert ([each.unturned for each in asked], directions(world), announced(world)) == ([1, 1], before, said)
    assert run(world, turn=True).turned == 1
    assert (directions(world), announced(world)) == ([Direction.IMPROVEMENT], said)
    after = run(world)
    assert (after.unturned, after.judged, announced(world)) == (0, 0, said)


def test_new_values_are_judged_by_the_former_direction_until_then(slower: World) -> None:
    rule(slower)
    slower.measure({"parse": levels((20, 32.0))}, first=30)
    assert run(slower).unturned == 1
    assert directions(slower) == [Direction.REGRESSION, Direction.REGRESSION]
    assert [kind for kind, _ in announced(slower)] == ["regressed", "regressed"]


def test_a_direction_that_is_taken_back_asks_no_more(slower: World) -> None:
    rule(slower)
    assert run(slower).unturned == 1
    slower.store.traces.set_directions([])
    assert (run(slower).unturned, slower.store.traces.kept_directions) == (0, ())


def test_findings_keep_ids_and_decisions_when_they_turn(slower: World) -> None:
    (before,) = slower.points("parse")
    decide(slower.store, Targets(points=(before.id,)), status=Status.ACKNOWLEDGED, who="Ada", note="seen")
    rule(slower)
    run(slower, turn=True)
    (after,) = slower.points("parse")
    assert (after.direction, after.status, after.note) == (Direction.IMPROVEMENT, Status.ACKNOWLEDGED, "seen")
    assert (after.id, after.change_id) == (before.id, before.change_id)


@pytest.mark.parametrize("direction", [AlertDirection.WORSE, AlertDirection.BETTER])
def test_an_alert_for_one_direction_takes_back_and_finds_in_silence(world: World, direction: AlertDirection) -> None:
    world.alerts = (replace(QUICK, direction=direction),)
    world.measure({"parse": levels((10, 20.0), (10, 25.0), (20, 18.0))})
    run(world)
    said, places = announced(world), world.places("parse")
    rule(world)
    run(world, turn=True)
    for first in (40, 60):
        world.measure({"parse": levels((20, 18.0))}, first=first)
        run(world)
    assert (announced(world), len(places)) == (said, 1)
    assert world.places("parse") not in ([], places)


def test_later_changes_of_turned_traces_are_announced(slower: World) -> None:
    rule(slower)
    run(slower, turn=True)
    slower.measure({"parse": levels((20, 20.0))}, first=30)
    run(slower)
    assert [kind for kind, _ in announced(slower)] == ["regressed", "regressed"]
    assert announced(slower)[0][1] is Direction.REGRESSION


def test_the_former_direction_of_a_trace_follows_from_its_findings(slower: World) -> None:
    assert turned_traces(slower.store) == {}
    rule(slower)
    (found,) = turned_traces(slower.store).values()
    assert (found.better, found.findings) == (Better.LOWER, 1)


def test_every_process_shows_the_direction_that_findings_were_judged_by(slower: World) -> None:
    rule(slower)
    run(slower)
    with open_store(slower.store.location) as elsewhere:
        assert elsewhere.traces.get([slower.trace("parse")])[0].better is Better.LOWER
        elsewhere.traces.set_directions([DirectionRule(parse_query("benchmark=parse"), Better.HIGHER)])
        assert elsewhere.traces.get([slower.trace("parse")])[0].better is Better.LOWER
        run(slower, turn=True)
        assert elsewhere.traces.get([slower.trace("parse")])[0].better is Better.HIGHER
