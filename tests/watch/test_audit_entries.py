"""Each act of triage, each move of the history boundary and each change of alerts is one entry of the audit log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knickpoint.model.access import AuditKind
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Status
from knickpoint.model.errors import InputError
from knickpoint.store import EventKind
from knickpoint.watch.alert_config.applied_alerts import apply_alerts
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.triage.decisions import Targets, decide, merge, split, undo
from knickpoint.watch.triage.history_boundary import drop_boundary, set_boundary, take

from .conftest import QUICK, World, levels

SLOW = Alert("slow", query="benchmark=read", minimum_effect=0.1)


def entries(world: World) -> list[tuple[AuditKind, str, str]]:
    """Return the audit log, the oldest entry first."""
    return [(entry.kind, entry.who, entry.about) for entry in reversed(world.store.audit.entries())]


@pytest.fixture
def busy(world: World) -> World:
    """Let parse and print step at commit 10, and pack at commit 20."""
    world.measure(
        {
            "parse": levels((10, 20.0), (20, 25.0)),
            "print": levels((10, 8.0), (20, 16.0)),
            "pack": levels((20, 9.0), (10, 6.0)),
        }
    )
    run_alerts(world.store, world.alerts, as_work=True)
    return world


def ids(world: World) -> list[int]:
    """Return the ids of the changes, ascending."""
    return sorted(each.id for each in world.store.findings.changes(world.repository))


def test_a_decision_is_one_entry_however_many_findings_it_is_about(busy: World) -> None:
    first, second = ids(busy)
    decide(busy.store, Targets((first, second)), who="ada", status=Status.HIDDEN, note="secret plans")
    assert entries(busy) == [(AuditKind.DECIDED, "ada", f"hidden, note: 3 findings of R{first}, R{second}")]


def test_a_decision_that_is_asked_again_is_audited_and_announced_once(busy: World) -> None:
    busy.store.outbox.claim([EventKind.CHANGES_UPDATED], "test", 600, 10)
    for _ in range(2):
        decide(busy.store, Targets((ids(busy)[0],)), who="ada", status=Status.HIDDEN)
    assert len(entries(busy)) == 1
    assert len(busy.store.outbox.claim([EventKind.CHANGES_UPDATED], "test", 600, 10)) == 1


def test_an_entry_says_which_ticket_and_whom(busy: World) -> None:
    point = busy.points("pack")[0]
    decide(busy.store, Targets(points=(point.id,)), who="ada", ticket="PERF-7", assignee="bob")
    change = busy.store.findings.changes_of([point.id])[0]
    (entry,) = entries(busy)
    assert entry[2] == f"ticket, ticket PERF-7, assigned to bob: 1 finding of R{change}"


def test_split_merge_and_undo_are_entries_too(busy: World) -> None:
    first, second = ids(busy)
    split(busy.store, Targets(points=(busy.points("parse")[0].id,)), who="ada")
    undo(busy.store, Targets((first,)), who="bob")
    merge(busy.store, Targets((first, second)), who="eve")
    assert entries(busy) == [
        (AuditKind.DECIDED, "ada", f"split: 1 finding of R{first}"),
        (AuditKind.DECIDED, "bob", f"undo: 1 finding of R{first}"),
        (AuditKind.DECIDED, "eve", f"merge: 3 findings of R{first}, R{second}"),
    ]


def test_what_changes_nothing_or_fails_is_no_entry(busy: World) -> None:
    first = ids(busy)[0]
    undo(busy.store, Targets((first,)), who="ada")
    with pytest.raises(InputError, match="needs the key"):
        decide(busy.store, Targets((first,)), who="ada", status=Status.TICKET)
    assert entries(busy) == []


def test_a_decision_that_is_undone_by_its_transaction_leaves_no_entry(busy: World) -> None:
    with pytest.raises(ZeroDivisionError), busy.store.transaction():  # noqa: PT012  # the failure comes after the act
        decide(busy.store, Targets((ids(busy)[0],)), who="ada", status=Status.HIDDEN)
        _ = 1 / 0
    assert entries(busy) == []


def test_moves_of_the_history_boundary_are_entries(busy: World) -> None:
    name = busy.repository.name
    set_boundary(busy.store, busy.repository, "2026-12-31", who="ada")
    take(busy.store, busy.repository, "2026-01-01", who="bob")
    take(busy.store, busy.repository, who="eve")
    kind = AuditKind.BOUNDARY_MOVED
    assert entries(busy) == [
        (kind, "ada", f"{name}: history until 2026-12-31; 0 changes became work, 2 became history"),
        (kind, "bob", f"{name}: work since 2026-01-01; 2 changes became work, 0 became history"),
        (kind, "eve", f"{name}: nothing is history; 0 changes became work, 0 became history"),
    ]


def test_an_import_as_work_is_an_entry_only_where_it_moves_a_boundary(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (20, 25.0))})
    drop_boundary(world.store, world.repository)
    assert entries(world) == []
    set_boundary(world.store, world.repository, "2026-12-31", who="ada")
    drop_boundary(world.store, world.repository)
    drop_boundary(world.store, world.repository)
    assert [who for _, who, _ in entries(world)] == ["ada", "import"]


def test_applied_alerts_are_an_entry_only_where_they_differ(world: World) -> None:
    apply_alerts(world.store, [QUICK, SLOW], who="ada")
    apply_alerts(world.store, [QUICK, SLOW], who="ada")
    apply_alerts(world.store, [replace(SLOW, minimum_effect=0.2)], who="bob")
    assert entries(world) == [
        (AuditKind.ALERTS_APPLIED, "ada", "added: quick, slow"),
        (AuditKind.ALERTS_APPLIED, "bob", "changed: slow; removed: quick"),
    ]
