"""Random arrivals, corrections, runs and decisions, in any order: what must hold whatever happens."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.examples import examples

from knickpoint.model.change_point import ChangePoint, Condition, Status
from knickpoint.watch.triage.decisions import Targets, decide, undo

from .conftest import World, copied, levels

NAMES = ("parse", "print")
COMMITS = 12
STATUSES = st.sampled_from([Status.ACKNOWLEDGED, Status.HIDDEN, Status.NEW])
VALUES = st.sampled_from([10.0, 10.0, 10.0, 20.0, 30.0])

Live = list[tuple[str, tuple[int, int], int, str, Status]]


def live(world: World) -> Live:
    """Return place, direction and status of every live finding, ids left out."""
    return sorted(
        (
            (
                member.key,
                (member.suspect_range.previous, member.suspect_range.slot),
                member.movement,
                member.direction.value,
                member.status,
            )
            for change in world.store.findings.changes(world.repository)
            for member in change.members
        ),
        key=repr,
    )


def groups(world: World) -> list[tuple[tuple[int, int], list[str]]]:
    """Return place and members of every change, ids left out."""
    return sorted(
        (
            (change.suspect_range.previous, change.suspect_range.slot),
            sorted(member.key for member in change.members),
        )
        for change in world.store.findings.changes(world.repository)
    )


class Lifecycle(RuleBasedStateMachine):
    """Do to an instance what people and machines do to it."""

    template: Path

    @initialize()
    def begin(self) -> None:
        self.suspect_range = Path(tempfile.mkdtemp(prefix="lifecycle"))
        self.world = copied(self.template, self.suspect_range / "store.db")
        self.up_to_date = False
        self.decided: dict[int, Status] = {}

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.store.close()
            shutil.rmtree(self.suspect_range)

    @rule(name=st.sampled_from(NAMES), slot=st.integers(0, COMMITS - 1), value=VALUES)
    def a_result_arrives_or_is_corrected(self, name: str, slot: int, value: float) -> None:
        self.world.put(slot, {name: value})
        self.up_to_date = False

    @rule()
    def alerts_run(self) -> None:
        before = {point.id: point for name in NAMES for point in self.points(name)}
        self.world.run()
        self.up_to_date = True
        for name in NAMES:
            for point in self.points(name):
                known = before.get(point.id)
                assert known is None or (known.status, known.movement) == (point.status, point.movement)

    def points(self, name: str) -> list[ChangePoint]:
        found = self.world.store.traces.find(self.world.repository, f",benchmark={name},kind={name[0]},")
        return self.world.store.findings.change_points(found[0].id, gone=True) if found else []

    @precondition(lambda self: self.up_to_date)
    @rule(data=st.data(), status=STATUSES)
    def somebody_decides(self, data: st.DataObject, status: Status) -> None:
        ids = [point.id for name in NAMES for point in self.points(name) if point.condition is not Condition.GONE]
        if not ids:
            return
        chosen = data.draw(st.sampled_from(ids))
        decide(self.world.store, Targets(points=(chosen,)), who="Ada", status=status)
        self.decided[chosen] = status

    @precondition(lambda self: self.up_to_date and self.decided)
    @rule(data=st.data())
    def somebody_takes_it_back(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.decided)))
        undo(self.world.store, Targets(points=(chosen,)), who="Ada")
        (point,) = self.world.store.findings.points([chosen])
        self.decided[chosen] = point.status

    @invariant()
    def what_was_decided_stays_decided(self) -> None:
        if not hasattr(self, "world"):
            return
        found = {point.id: point.status for point in self.world.store.findings.points(self.decided)}
        assert found == self.decided

    @invariant()
    def a_second_run_finds_nothing_new(self) -> None:
        if hasattr(self, "world") and self.up_to_date:
            before = live(self.world), groups(self.world)
            assert self.world.run().nothing_new
            assert (live(self.world), groups(self.world)) == before

    @invariant()
    def every_live_point_is_in_one_change_that_counts_it(self) -> None:
        if not hasattr(self, "world") or not self.up_to_date:
            return
        listed = self.world.store.findings.changes(self.world.repository)
        members = [member.id for change in listed for member in change.members]
        expected = [point.id for name in NAMES for point in self.points(name) if point.condition is not Condition.GONE]
        assert sorted(members) == sorted(expected)
        for change in listed:
            assert change.traces == len(change.members)
            assert change.unprocessed == sum(member.status is Status.NEW for member in change.members)


@pytest.mark.thorough
def test_whatever_happens_the_findings_stay_consistent(empty_world: Path) -> None:
    Lifecycle.template = empty_world
    run_state_machine_as_test(
        Lifecycle,
        settings=settings(
            max_examples=examples(4), stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.fixture(scope="module")
def fresh_world(empty_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], World]:
    place = tmp_path_factory.mktemp("fresh")
    count = iter(range(10**6))
    return lambda: copied(empty_world, place / f"{next(count)}.db")


RESULTS = st.dictionaries(
    st.tuples(st.sampled_from(NAMES), st.integers(0, COMMITS - 1)), VALUES, min_size=4, max_size=2 * COMMITS
)


def arrive(
    world: World, results: Mapping[tuple[str, int], float], order: list[tuple[str, int]], runs: set[int]
) -> None:
    """Put the results in ``order`` and run the alerts after those that ``runs`` names, and at the end."""
    begin = 0
    for end in sorted({number + 1 for number in runs} | {len(order)}):
        with world.store.transaction():
            for name, slot in order[begin:end]:
                world.put(slot, {name: results[name, slot]})
        world.run()
        begin = end


@pytest.mark.thorough
@settings(max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck))
@given(results=RESULTS, data=st.data())
def test_findings_do_not_depend_on_the_order_of_arrival(
    fresh_world: Callable[[], World], results: dict[tuple[str, int], float], data: st.DataObject
) -> None:
    orders = [sorted(results), data.draw(st.permutations(sorted(results)))]
    found = []
    for order in orders:
        world = fresh_world()
        runs = data.draw(st.sets(st.integers(0, len(order) - 1), max_size=3))
        arrive(world, results, order, runs)
        found.append((live(world), groups(world)))
        world.store.close()
    assert found[0] == found[1]


@pytest.mark.thorough
@settings(max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck))
@given(first=RESULTS, second=RESULTS, data=st.data())
def test_statuses_depend_on_data_and_decisions_not_on_the_runs_in_between(
    fresh_world: Callable[[], World],
    first: dict[tuple[str, int], float],
    second: dict[tuple[str, int], float],
    data: st.DataObject,
) -> None:
    """The same data, the same decisions, then more data: with and without a run after every result."""
    found = []
    chosen: set[tuple[str, int]] | None = None
    for busy in (False, True):
        world = fresh_world()
        arrive(world, first, sorted(first), set())
        points = {(name, point.suspect_range.slot): point.id for name in NAMES for point in _points(world, name)}
        if chosen is None:
            chosen = data.draw(st.sets(st.sampled_from(sorted(points)))) if points else set()
        if chosen:
            targets = Targets(points=tuple(points[key] for key in sorted(chosen)))
            decide(world.store, targets, who="Ada", status=Status.HIDDEN)
        arrive(world, second, sorted(second), set(range(0, len(second), 2)) if busy else set())
        found.append(live(world))
        world.store.close()
    assert found[0] == found[1]


def _points(world: World, name: str) -> list[ChangePoint]:
    found = world.store.traces.find(world.repository, f",benchmark={name},kind={name[0]},")
    return world.store.findings.change_points(found[0].id) if found else []


def test_a_trace_that_is_measured_later_joins_the_change_and_says_so(world: World) -> None:
    world.measure({"first": levels((40, 100), (20, 120)), "second": levels((40, 10), (20, 12))})
    world.run()
    world.measure({"third": levels((40, 5), (20, 6))})
    world.run()
    begun = {world.points(name)[0].found for name in ("first", "second")}
    assert len(begun) == 1
    (found,) = begun
    joined = world.points("third")[0].found
    assert found is not None
    assert joined is not None
    assert joined > found
    assert len({world.points(name)[0].change_id for name in ("first", "second", "third")}) == 1
