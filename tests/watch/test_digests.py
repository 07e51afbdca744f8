"""An alert detects only in traces that changed, and finds the same as if it detected in all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.change_point import ChangePoint, Sighting, Status
from knickpoint.model.query import Query
from knickpoint.model.statement import Change
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import QUICK, World, copied, levels

NAMES = ("parse", "print", "read")
COMMITS = 12
ALERTS = (
    QUICK,
    replace(QUICK, name="rises", direction=AlertDirection.UP),  # it shares the detection of QUICK
    Alert("pairs", method="threshold", group_by=("kind",), minimum_traces=2),
    Alert("recent", method="threshold", window=4, direction=AlertDirection.UP),
    Alert("topic", method="threshold", line="topic", query="benchmark=p*"),
    Alert("shapes", method="cluster", window=6, parameters={"edge": 1, "k": 1, "interesting": 1.0}),
)

Step = tuple[str, str, int, float]

steps = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(0, COMMITS - 1), st.sampled_from([10.0, 10.0, 20.0])),
    st.tuples(st.just("event"), st.sampled_from(NAMES), st.just(0), st.just(0.0)),
    st.tuples(st.just("run"), st.just(""), st.just(0), st.just(0.0)),
    st.tuples(st.just("line"), st.just(""), st.integers(4, COMMITS), st.just(0.0)),
    st.tuples(st.just("without"), st.just(""), st.integers(0, COMMITS - 1), st.just(0.0)),
    st.tuples(st.just("alerts"), st.just(""), st.integers(1, len(ALERTS)), st.sampled_from([0.0, 0.6])),
    st.tuples(st.just("hide"), st.sampled_from(NAMES), st.just(0), st.just(0.0)),
)

Found = tuple[list[Change], list[ChangePoint], list[Sighting]]


def found(world: World) -> Found:
    """Return everything that was found, but for the time at which it was."""
    ids = world.store.traces.select(world.repository, Query()).tolist()
    points = [replace(point, found=None) for key in ids for point in world.store.findings.change_points(key, gone=True)]
    changes = [
        replace(change, found=None, members=tuple(replace(member, found=None) for member in change.members))
        for change in world.store.findings.changes(world.repository)
    ]
    seen = world.store.findings.sightings.of_traces(ids)
    return changes, points, [sighting for key in ids for sighting in seen.get(key, [])]


def take(world: World, step: Step, alerts: tuple[Alert, ...], *, afresh: bool) -> tuple[Alert, ...]:
    what, name, number, value = step
    commits = world.store.commits
    if what == "put":
        world.put(number, {name: value})
    elif what == "line":
        commits.set_line(world.repository, "main", range(number))
        commits.set_line(world.repository, "topic", [*range(3), *range(number, COMMITS)], base="main", merge_base=2)
    elif what == "without":
        commits.set_line(world.repository, "main", [slot for slot in range(COMMITS) if slot != number])
    elif what == "alerts":
        alerts = tuple(replace(alert, minimum_effect=value) for alert in ALERTS[:number])
    elif what == "run":
        run_alerts(world.store, alerts, afresh=afresh)
    elif traces := world.store.traces.find(world.repository, f",benchmark={name},kind={name[0]},"):
        if what == "event":
            run_alerts(world.store, alerts, traces=[traces[0].id])
        elif points := world.store.findings.change_points(traces[0].id):
            decide(world.store, Targets(points=(points[0].id,)), who="Ada", status=Status.HIDDEN)
    return alerts


@contextmanager
def two_worlds(template: Path) -> Iterator[tuple[World, World]]:
    with tempfile.TemporaryDirectory(prefix="judged") as place:
        worlds = copied(template, Path(place) / "one.db"), copied(template, Path(place) / "other.db")
        for world in worlds:
            world.store.commits.set_line(world.repository, "main", range(COMMITS))
            world.store.commits.set_line(
                world.repository, "topic", [*range(3), *range(8, COMMITS)], base="main", merge_base=2
            )
        yield worlds
        for world in worlds:
            world.store.close()


@pytest.mark.thorough
@settings(max_examples=examples(3), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(steps, min_size=6, max_size=24))
def test_what_is_found_is_what_judging_everything_again_finds(empty_world: Path, sequence: list[Step]) -> None:
    with two_worlds(empty_world) as (quick, thorough):
        alerts: tuple[Alert, ...] = ALERTS
        for step in [*sequence, ("run", "", 0, 0.0)]:
            take(thorough, step, alerts, afresh=True)
            alerts = take(quick, step, alerts, afresh=False)
            assert found(quick) == found(thorough)


def judged(world: World, *alerts: Alert) -> int:
    return world.run(*alerts).judged


def test_only_traces_with_other_values_are_judged_again(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0)), "read": levels((20, 5.0))})
    assert judged(world) == 2
    assert judged(world) == 0
    world.put(20, {"read": 5.0})
    assert judged(world) == 1
    world.put(3, {"read": 5.1})
    assert judged(world) == 1


def test_all_are_judged_again_when_the_alert_changes(world: World) -> None:
    world.measure({"parse": levels((20, 20.0)), "read": levels((20, 5.0))})
    world.run()
    assert judged(world, replace(QUICK, minimum_effect=0.1)) == 2
    assert judged(world, replace(QUICK, minimum_effect=0.1)) == 0


def test_all_are_judged_again_when_somebody_asks_for_it(world: World) -> None:
    world.measure({"parse": levels((20, 20.0))})
    world.run()
    assert run_alerts(world.store, [QUICK], afresh=True).judged == 1


def test_one_of_a_group_that_is_counted_together_brings_the_others_along(world: World) -> None:
    alert = Alert("pairs", method="threshold", group_by=("kind",), minimum_traces=2)
    world.measure({"parse": levels((20, 20.0)), "print": levels((20, 8.0)), "read": levels((20, 5.0))})
    world.run(alert)
    world.put(20, {"parse": 20.0})
    assert judged(world, alert) == 2


def test_clusters_are_made_again_when_one_of_them_changed(world: World) -> None:
    alert = Alert("shapes", method="cluster", group_by=("kind",))
    world.measure({"parse": levels((20, 20.0)), "print": levels((20, 8.0)), "read": levels((20, 5.0))})
    world.run(alert)
    assert judged(world, alert) == 0
    world.put(20, {"parse": 20.0})
    assert judged(world, alert) == 2


def test_a_commit_that_leaves_the_line_is_noticed(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run()
    world.store.commits.set_line(world.repository, "main", [slot for slot in range(80) if slot != 12])
    assert judged(world) == 1


def test_an_alert_that_comes_back_judges_everything(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run(QUICK)
    world.run(Alert("other", method="threshold", minimum_effect=0.9))
    assert world.places("parse") == []
    world.run(QUICK)
    assert world.places("parse") == [10]


@pytest.mark.parametrize("name", ["quick", "other"])
def test_the_record_of_a_run_counts_sightings_in_traces_that_were_not_judged_again(world: World, name: str) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0)), "read": levels((20, 5.0))})
    for _ in range(2):
        world.run(replace(QUICK, name=name))
    newest = world.store.findings.alert_runs.runs(name)[0]
    assert (newest.traces, newest.kept, newest.added, newest.lost) == (2, 1, 0, 0)
