"""The boundary of history, on both databases."""

from __future__ import annotations

import pytest
from tests.store.conftest import Bench

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Line, Repository
from knickpoint.store import Store
from knickpoint.store.findings.groups import Membership


@pytest.fixture
def changes(store: Store, repository: Repository, line: Line) -> list[int]:
    """Make changes at the positions 10, 20 and 30 of the line."""
    places = [SuspectRange("main", line.slots[at - 1], line.slots[at]) for at in (10, 20, 30)]
    return store.findings.groups.write(repository, [Membership(0, place, ()) for place in places])


def marked(store: Store, changes: list[int]) -> list[int]:
    """Return those of ``changes`` that are history."""
    return sorted(store.boundaries.history_among(changes))


def test_a_boundary_marks_what_lies_at_or_before_it(
    store: Store, repository: Repository, line: Line, changes: list[int]
) -> None:
    assert store.boundaries.put(repository, {line.slots[20]}, who="ada") == tuple(changes[:2])
    assert marked(store, changes) == changes[:2]
    assert store.boundaries.put(repository, ()) == tuple(changes[:2])
    assert marked(store, changes) == []


def test_only_the_first_run_sets_a_boundary(store: Store, repository: Repository, line: Line) -> None:
    store.boundaries.begin(repository, {line.slots[5]})
    store.boundaries.begin(repository, {line.slots[9]})
    boundary = store.boundaries.get(repository)
    assert boundary is not None
    assert boundary.position(line) == 5


def test_a_line_in_another_order_changes_the_sides(
    store: Store, repository: Repository, line: Line, changes: list[int]
) -> None:
    store.boundaries.put(repository, {line.slots[20]})
    late = [slot for slot in line.slots if slot != line.slots[10]]
    store.commits.set_line(repository, "main", [*late, line.slots[10]])
    assert store.boundaries.mark(repository) == (changes[0],)
    assert marked(store, changes) == [changes[1]]


def test_a_boundary_that_a_person_moved_is_not_extended(bench: Bench) -> None:
    boundaries, repository = bench.store.boundaries, bench.repository
    bench.put(bench.line.slots[7], Bench.report({"a": 1.0}), "r")
    for who, expected in (("ada", 3), ("", 7)):
        boundaries.put(repository, {bench.line.slots[3]}, who=who)
        boundaries.extend(repository)
        known = boundaries.get(repository)
        assert known is not None
        assert known.position(bench.line) == expected


def test_the_newest_measured_commits_are_one_for_each_line(bench: Bench) -> None:
    slots = bench.line.slots
    bench.store.commits.set_line(bench.repository, "main", slots[:300])
    own = [*slots[:101], *slots[300:]]
    bench.store.commits.set_line(bench.repository, "branch", own, base="main", merge_base=100)
    for number, slot in enumerate((slots[50], slots[200], slots[310])):
        bench.put(slot, Bench.report({"a": 1.0}), f"r{number}")
    assert bench.store.boundaries.newest_measured(bench.repository) == {slots[200], slots[310]}
