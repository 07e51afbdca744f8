"""Missed changes: a person marks what no alert found, and a later finding of the same change is recognised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knickpoint.model.access import AuditKind
from knickpoint.model.alert import AlertDirection
from knickpoint.model.change_point import Direction
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.frame import Trace
from knickpoint.model.quality import MissedChange
from knickpoint.watch.missed_changes import list_missed, mark_missed, unmark_missed

from .conftest import QUICK, World, levels

BLIND = replace(QUICK, minimum_effect=0.5)
"""An alert that reports only changes by half."""


def commit(world: World, slot: int) -> str:
    return world.store.commits.get(world.repository, [slot])[0].commit.hash


def trace(world: World, name: str = "parse") -> Trace:
    return world.store.traces.get([world.trace(name)])[0]


def mark(world: World, place: str, direction: AlertDirection = AlertDirection.BOTH, note: str = "") -> MissedChange:
    return mark_missed(world.store, world.repository, trace(world), place, direction, who="ada", note=note)


@pytest.fixture
def blind(world: World) -> World:
    """Return a world in which a change at slot 20 was measured, and no alert found it."""
    world.measure({"parse": levels((20, 10.0), (20, 12.0))})
    world.run(BLIND)
    assert not world.points("parse")
    return world


def test_a_mark_names_the_range_between_the_values_around_its_commit(world: World) -> None:
    world.measure({"parse": levels((20, 10.0))})
    world.measure({"parse": levels((20, 12.0))}, first=25)
    marked = mark(world, commit(world, 22))
    assert (marked.suspect_range.previous, marked.suspect_range.slot) == (19, 25)
    assert marked.movement == 1


def test_a_range_of_two_commits_is_kept(blind: World) -> None:
    marked = mark(blind, f"{commit(blind, 17)}..{commit(blind, 21)}")
    assert (marked.suspect_range.previous, marked.suspect_range.slot) == (17, 21)


def test_a_mark_is_matched_with_the_finding_that_an_alert_makes_later(blind: World) -> None:
    mark(blind, commit(blind, 22))
    assert list_missed(blind.store, blind.repository)[0].point is None
    blind.run(QUICK)
    (listed,) = list_missed(blind.store, blind.repository)
    assert listed.point is not None
    assert listed.point.suspect_range.slot == 20
    assert listed.direction is Direction.REGRESSION


def test_a_finding_of_the_other_direction_is_not_the_marked_change(blind: World) -> None:
    mark(blind, commit(blind, 20), AlertDirection.DOWN)
    blind.run(QUICK)
    assert list_missed(blind.store, blind.repository)[0].point is None


def test_a_mark_stays_when_its_results_are_imported_again_with_other_values(blind: World) -> None:
    mark(blind, commit(blind, 20), note="seen on the plot")
    blind.measure({"parse": levels((20, 11.0), (20, 13.5))})
    blind.run(QUICK)
    (listed,) = list_missed(blind.store, blind.repository)
    assert listed.change.note == "seen on the plot"
    assert listed.point is not None


def test_a_mark_follows_its_commit_through_a_rewritten_history(blind: World) -> None:
    mark(blind, commit(blind, 20))
    blind.store.rewrites.record(blind.repository, "main", {20: 60, 19: 59})
    (change,) = blind.store.findings.missed.all(blind.repository)
    assert (change.suspect_range.previous, change.suspect_range.slot) == (59, 60)


def test_marks_and_their_removal_are_in_the_audit_log(blind: World) -> None:
    unmark_missed(blind.store, mark(blind, commit(blind, 20)).id, who="grace")
    entries = blind.store.audit.entries()
    kinds = [(entry.kind, entry.who) for entry in entries]
    assert kinds == [(AuditKind.MISSED_UNMARKED, "grace"), (AuditKind.MISSED_MARKED, "ada")]
    assert "benchmark=parse" in entries[0].about
    assert not blind.store.findings.missed.all(blind.repository)


def test_what_an_alert_found_cannot_be_marked_as_missed(blind: World) -> None:
    blind.run(QUICK)
    with pytest.raises(InputError, match=r"is the finding P1, which quick found"):
        mark(blind, commit(blind, 21))


def test_a_change_cannot_be_marked_twice(blind: World) -> None:
    mark(blind, commit(blind, 20))
    with pytest.raises(InputError, match="already marked, as M1"):
        mark(blind, commit(blind, 20))


@pytest.mark.parametrize(("direction", "movement"), [(AlertDirection.WORSE, 1), (AlertDirection.BETTER, -1)])
def test_worse_and_better_follow_from_the_direction_of_the_trace(
    blind: World, direction: AlertDirection, movement: int
) -> None:
    assert mark(blind, commit(blind, 20), direction).movement == movement


@pytest.mark.parametrize("slot", [0, 45])
def test_a_change_needs_values_on_both_sides(blind: World, slot: int) -> None:
    with pytest.raises(InputError, match="no values on both sides"):
        mark(blind, commit(blind, slot))


def test_an_unknown_commit_is_refused(blind: World) -> None:
    with pytest.raises(HistoryError, match="there is no commit"):
        mark(blind, "feedfeed")
