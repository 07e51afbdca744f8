from __future__ import annotations

from tests.store.conftest import Bench
from tests.store.findings.test_findings import new, put, sighting

from knickpoint.model.change_point import Status
from knickpoint.model.commit import Line, Repository
from knickpoint.store import EventKind, Store, unpack_ids
from knickpoint.store.findings.tickets import Ticket


def places(store: Store, repository: Repository) -> list[tuple[int, int]]:
    return [(place.previous, place.slot) for place in store.findings.groups.suspect_ranges(repository).values()]


def test_a_finding_follows_its_commit_with_all_that_names_it(store: Store, repository: Repository, line: Line) -> None:
    (key,) = put(store, repository, new(sighting(10)))
    store.findings.triage.decide([key], Status.HIDDEN, "ada")
    store.rewrites.record(repository, line.name, {9: 29, 10: 30}, joined=[29, 30])
    (known,) = store.findings.known([7])[7]
    assert known.anchor is not None
    assert (
        (known.suspect_range.previous, known.suspect_range.slot)
        == (known.anchor.previous, known.anchor.slot)
        == (29, 30)
    )
    assert [
        (one.suspect_range.previous, one.suspect_range.slot) for one in store.findings.sightings.of_traces([7])[7]
    ] == [(29, 30)]
    assert places(store, repository) == [(29, 30)]


def test_the_log_keeps_where_a_finding_was_at_the_decision(store: Store, repository: Repository, line: Line) -> None:
    (key,) = put(store, repository, new(sighting(10)))
    store.findings.triage.decide([key], Status.HIDDEN, "ada")
    store.rewrites.record(repository, line.name, {10: 30}, joined=[30])
    assert [
        entry.suspect_range.slot for entry in store.findings.triage.entries() if entry.suspect_range is not None
    ] == [10]


def test_findings_of_other_commits_and_lines_stay(store: Store, repository: Repository, line: Line) -> None:
    store.commits.set_line(repository, "feature", line.slots[:12], base=line.name, merge_base=11)
    put(store, repository, new(sighting(10)))
    store.rewrites.record(repository, "feature", {10: 30}, joined=[30])
    store.rewrites.record(repository, line.name, {12: 32}, joined=[32])
    assert places(store, repository) == [(9, 10)]


def test_the_last_of_several_successors_is_returned(store: Store, repository: Repository, line: Line) -> None:
    store.rewrites.record(repository, line.name, {10: 30}, joined=[30])
    store.rewrites.record(repository, line.name, {30: 50}, joined=[50])
    assert [store.rewrites.successor(repository, slot) for slot in (10, 30, 50)] == [50, 50, None]


def test_a_commit_that_comes_back_has_no_successor(store: Store, repository: Repository, line: Line) -> None:
    store.rewrites.record(repository, line.name, {10: 30}, joined=[30])
    store.rewrites.record(repository, line.name, {30: 10}, joined=[10])
    assert [store.rewrites.successor(repository, slot) for slot in (10, 30)] == [None, 10]


def test_two_tickets_that_meet_at_one_commit_are_one(store: Store, repository: Repository, line: Line) -> None:
    store.findings.tickets.put(repository, [Ticket("P-1", "a=b", 10), Ticket("P-1", "a=b", 30)])
    store.rewrites.record(repository, line.name, {10: 30}, joined=[30])
    assert [ticket.slot for ticket in store.findings.tickets.all(repository)] == [30]


def test_only_traces_measured_at_the_commits_are_announced(bench: Bench) -> None:
    bench.put(3, bench.report({"sort": 1, "parse": 2}), "one")
    bench.put(4, bench.report({"parse": 2}), "two")
    store = bench.store
    for event in store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 100):
        store.outbox.done(event)
    assert store.rewrites.announce(bench.repository, {4, 5}) == 1
    (event,) = store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 100)
    assert unpack_ids(event.payload).tolist() == [bench.id("parse")]


def test_commits_without_results_announce_nothing(bench: Bench) -> None:
    assert bench.store.rewrites.announce(bench.repository, {1, 2, 3}) == 0
    assert bench.store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 100) == []
