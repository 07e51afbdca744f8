"""Grouping what is near to a change comes to the same as grouping everything."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import LineInterval
from knickpoint.model.commit import Repository
from knickpoint.store.findings.groups import Membership
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.changes.membership import RegroupedChanges, regroup, stretches
from knickpoint.watch.triage.decisions import Targets, merge, split, undo

from .conftest import World, copied, levels

NAMES = ("pack", "parse", "print", "read")
COMMITS = 14

ranges = st.tuples(st.integers(0, 30), st.integers(1, 6)).map(lambda pair: LineInterval(pair[0], pair[0] + pair[1]))

steps = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(0, COMMITS - 1), st.sampled_from([10, 10, 20, 40])),
    st.tuples(st.sampled_from(["split", "merge", "undo"]), st.just(""), st.integers(0, 9), st.integers(0, 9)),
)


@given(st.lists(ranges, max_size=12))
def test_stretches_adjoin_nothing_and_cover_every_range(given_ranges: list[LineInterval]) -> None:
    found = stretches(given_ranges)
    covered = [position for position in range(40) if any(position in each for each in found)]
    assert covered == [position for position in range(40) if any(position in each for each in given_ranges)]
    assert sum(each.commits for each in found) == len(covered)
    for each in given_ranges:
        assert sum(each.overlaps(stretch) for stretch in found) == 1


def take(world: World, what: str, name: str, number: int, value: int) -> None:
    if what == "put":
        world.put(number, {name: float(value)})
        run_alerts(world.store, world.alerts, traces=[world.trace(name)])
        return
    points = [
        point.id
        for change in world.store.findings.changes(world.repository)
        for point in sorted(change.members, key=lambda member: member.id)
    ]
    if not points:
        return
    chosen = Targets(points=tuple({points[number % len(points)], points[value % len(points)]}))
    if what == "split":
        split(world.store, chosen, who="Ada")
    elif what == "merge":
        merge(world.store, chosen, who="Ada")
    else:
        undo(world.store, chosen, who="Ada")


@pytest.mark.long
@pytest.mark.thorough
@settings(max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(steps, min_size=5, max_size=30))
def test_after_each_event_nothing_is_left_to_regroup(
    empty_world: Path, sequence: list[tuple[str, str, int, int]]
) -> None:
    with tempfile.TemporaryDirectory(prefix="regroup") as place:
        world = copied(empty_world, Path(place) / "store.db")
        values = {
            name: levels((5 + 2 * number, 10.0), (COMMITS - 5 - 2 * number, 20.0)) for number, name in enumerate(NAMES)
        }
        values["read"] = [value if slot in {0, 4, 11} else float("nan") for slot, value in enumerate(values["read"])]
        world.measure(values)
        world.run()
        for step in sequence:
            take(world, *step)
            before = world.store.findings.changes(world.repository)
            assert regroup(world.store, world.repository) == RegroupedChanges()
            assert world.store.findings.changes(world.repository) == before
        world.store.close()


@pytest.mark.long
def test_one_cause_in_noisy_traces_is_one_change_and_no_event_leaves_anything_to_regroup(empty_world: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="regroup") as place:
        world = copied(empty_world, Path(place) / "store.db")
        random = np.random.default_rng(9)
        names = [f"b{number:02}" for number in range(24)]
        values = 100 * (1 + 0.03 * random.standard_normal((len(names), 60)))
        values[:, 40:] *= 1.08
        world.measure({name: row[:52].tolist() for name, row in zip(names, values, strict=True)})
        world.run(Alert("steps"))
        for commit, number in product(range(52, 60), range(0, len(names), 8)):
            some = names[number : number + 8]
            world.put(commit, dict(zip(some, values[number : number + 8, commit].tolist(), strict=True)))
            run_alerts(world.store, [Alert("steps")], traces=[world.trace(name) for name in some])
            assert regroup(world.store, world.repository) == RegroupedChanges()
        found = world.store.findings.changes(world.repository)
        points = [member for change in found for member in change.members]
        assert len({member.suspect_range for member in points}) > 3
        assert max(len(change.members) for change in found) >= 20
        world.store.close()


@pytest.mark.parametrize("seed", range(3))
def test_changes_with_measured_commits_between_them_are_two_changes(empty_world: Path, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="regroup") as place:
        world = copied(empty_world, Path(place) / "store.db")
        random = np.random.default_rng(seed)
        noise = 1 + np.where(random.random((2, 76)) < 0.2, 0.08, 0.01) * random.standard_normal((2, 76))
        tokenize = np.where(np.arange(76) < 40, 950, 80) * noise[0]
        slug = np.where(np.arange(76) < 67, 288, 2650) * noise[1]
        slug[[slot for slot in range(76) if slot in {68, *range(52, 67)}]] = np.nan
        world.measure({"tokenize": tokenize.tolist(), "slug": slug.tolist()})
        world.run(Alert("steps"))
        ranges = [change.suspect_range for change in world.store.findings.changes(world.repository)]
        assert sorted((each.previous, each.slot) for each in ranges) == [(39, 40), (51, 67)]
        world.store.close()


@pytest.mark.long
def test_points_whose_certainty_alone_changed_are_grouped_anew(empty_world: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="regroup") as place:
        world = copied(empty_world, Path(place) / "store.db")
        names = [f"b{number:02}" for number in range(12)]
        values = 100 * (1 + 0.03 * np.random.default_rng(0).standard_normal((len(names), 60)))
        values[:, 40:] *= 1.1
        values[::2, 44:] *= 1.08
        world.measure({name: row[:50].tolist() for name, row in zip(names, values, strict=True)})
        world.run(Alert("steps"))
        for commit, number in product(range(50, 55), range(0, len(names), 4)):
            some = names[number : number + 4]
            world.put(commit, dict(zip(some, values[number : number + 4, commit].tolist(), strict=True)))
            run_alerts(world.store, [Alert("steps")], traces=[world.trace(name) for name in some])
            assert regroup(world.store, world.repository) == RegroupedChanges()
        world.store.close()


def test_an_event_far_from_other_findings_reads_none_of_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.measure({"parse": levels((10, 20.0), (50, 25.0)), "read": levels((60, 5.0))})
    world.run()
    read: list[int] = []
    members = world.store.findings.groups.members

    def watched(*arguments: object, **keywords: object) -> object:
        rows = members(*arguments, **keywords)  # type: ignore[arg-type]
        read.append(len(rows))
        return rows

    monkeypatch.setattr(world.store.findings.groups, "members", watched)
    world.measure({"read": levels((5, 9.0))}, first=60)
    assert run_alerts(world.store, world.alerts, traces=[world.trace("read")]).new == 1
    assert read == [1]


def test_a_change_that_grows_writes_only_what_joins_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("pack", "parse", "print")
    world.measure({name: levels((10, 20.0), (10, 25.0)) for name in names})
    world.measure({"read": levels((10, 20.0))})
    world.run()
    written: list[int] = []
    write = world.store.findings.groups.write

    def watched(repository: Repository, groups: Sequence[Membership], **keywords: Collection[int]) -> list[int]:
        written.extend(member for group in groups for member in group.joining)
        return write(repository, groups, **keywords)

    monkeypatch.setattr(world.store.findings.groups, "write", watched)
    world.measure({"read": levels((10, 25.0))}, first=10)
    run_alerts(world.store, world.alerts, traces=[world.trace("read")])
    (change,) = world.store.findings.changes(world.repository)
    assert len(change.members) == len(names) + 1
    assert written == [member.id for member in change.members if member.trace_id == world.trace("read")]
