"""What the first run over a repository finds is history; what comes after it is work."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from knickpoint.model.change_point import Status
from knickpoint.model.errors import InputError
from knickpoint.store import EventKind, open_store, restore
from knickpoint.store.findings.selection import Selection
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.triage.decisions import Targets, decide, merge, read_targets, undo
from knickpoint.watch.triage.history_boundary import drop_boundary, set_boundary, take

from .conftest import World, levels

_HISTORY = Selection(history=True)
_WORK = Selection(history=False)


def places(world: World, selection: Selection) -> list[int]:
    """Return the slots of the changes of ``selection``, ascending."""
    found = world.store.findings.changes(world.repository, selection=selection, processed=False)
    return sorted(change.suspect_range.slot for change in found)


def import_years(world: World) -> None:
    """Measure 40 commits with steps at 10 and 30, all before the first run."""
    world.measure({"parse": levels((10, 20.0), (20, 25.0), (10, 20.0))})


def test_what_the_first_run_finds_is_history(world: World) -> None:
    import_years(world)
    summary = world.run()
    assert (places(world, _HISTORY), places(world, _WORK)) == ([10, 30], [])
    assert (summary.new, summary.new_changes, summary.history_changes) == (2, (), 2)


def test_what_is_found_after_the_boundary_is_work(world: World) -> None:
    import_years(world)
    world.run()
    world.measure({"parse": levels((5, 20.0), (5, 30.0))}, first=40)
    summary = world.run()
    assert (places(world, _HISTORY), places(world, _WORK)) == ([10, 30], [45])
    assert len(summary.new_changes) == 1


@pytest.mark.long
def test_a_repository_that_sends_one_run_at_a_time_has_no_history(world: World) -> None:
    for slot, value in enumerate(levels((10, 20.0), (10, 25.0))):
        world.put(slot, {"parse": value})
        world.run()
    assert (places(world, _HISTORY), places(world, _WORK)) == ([], [10])


def test_an_event_over_the_first_results_sets_the_boundary(world: World) -> None:
    import_years(world)
    run_alerts(world.store, world.alerts, traces=[world.trace("parse")])
    world.measure({"parse": levels((5, 20.0), (5, 30.0))}, first=40)
    run_alerts(world.store, world.alerts, traces=[world.trace("parse")])
    assert (places(world, _HISTORY), places(world, _WORK)) == ([10, 30], [45])


def test_a_run_before_there_are_results_sets_no_boundary(world: World) -> None:
    world.run()
    assert world.store.boundaries.get(world.repository) is None
    import_years(world)
    world.run()
    assert places(world, _HISTORY) == [10, 30]


def test_late_results_of_the_old_range_find_history(world: World) -> None:
    import_years(world)
    world.run()
    world.measure({"late": levels((20, 5.0), (20, 6.0))})
    summary = world.run()
    assert (places(world, _HISTORY), places(world, _WORK)) == ([10, 20, 30], [])
    assert (summary.new_changes, summary.history_changes) == ((), 1)


def test_history_that_later_results_move_stays_history(world: World) -> None:
    nan = math.nan
    world.measure({"parse": [*levels((10, 20.0)), *[nan] * 5, *levels((10, 25.0))]})
    world.run()
    world.measure({"parse": levels((3, 25.0))}, first=12)
    world.run()
    assert (places(world, _HISTORY), places(world, _WORK)) == ([12], [])


def test_an_import_in_two_parts_with_a_run_between_makes_work_of_the_second(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (15, 25.0))})
    world.run()
    world.measure({"parse": levels((15, 25.0), (10, 20.0))}, first=25)
    world.run()
    assert (places(world, _HISTORY), places(world, _WORK)) == ([10], [40])


def test_as_work_leaves_nothing_to_history(world: World) -> None:
    import_years(world)
    summary = run_alerts(world.store, world.alerts, as_work=True)
    assert (places(world, _HISTORY), places(world, _WORK)) == ([], [10, 30])
    assert len(summary.new_changes) == 2
    world.run()
    assert places(world, _WORK) == [10, 30]


def test_judging_everything_afresh_keeps_the_boundary(world: World) -> None:
    import_years(world)
    world.run()
    before = world.store.boundaries.get(world.repository)
    world.measure({"parse": levels((5, 20.0), (5, 30.0))}, first=40)
    run_alerts(world.store, world.alerts, afresh=True)
    assert world.store.boundaries.get(world.repository) == before


def test_history_is_not_announced(world: World) -> None:
    import_years(world)
    world.run()
    (event,) = world.store.outbox.claim([EventKind.CHANGES_UPDATED], "worker", 60, 10)
    assert event.payload["new_changes"] == []
    assert event.payload["updated_changes"] == []
    assert event.payload["history_changes"] == 2


def test_a_decision_about_history_counts_and_can_be_taken_back(world: World) -> None:
    import_years(world)
    world.run()
    (point, _) = world.points("parse")
    decide(world.store, Targets(points=(point.id,)), who="ada", status=Status.HIDDEN)
    assert places(world, _HISTORY) == [30]
    assert [change.history for change in world.store.findings.changes(world.repository, processed=True)] == [True]
    undo(world.store, Targets(points=(point.id,)), who="ada")
    assert places(world, _HISTORY) == [10, 30]


def test_change_points_say_that_they_are_history(world: World) -> None:
    import_years(world)
    world.run()
    world.measure({"parse": levels((5, 20.0), (5, 30.0))}, first=40)
    world.run()
    assert [point.history for point in world.points("parse")] == [True, True, False]


def test_history_merged_with_work_is_work(world: World) -> None:
    import_years(world)
    world.run()
    world.measure({"parse": levels((5, 20.0), (5, 30.0))}, first=40)
    world.run()
    ids = [str(change.id) for change in world.store.findings.changes(world.repository)]
    merge(world.store, read_targets(ids), who="ada")
    assert (places(world, _HISTORY), places(world, _WORK)) == ([], [45])


# Branches


def branch_off(world: World, name: str, merge_base: int, own: list[int]) -> None:
    """Make a branch of ``own`` slots that leaves main after ``merge_base``; main ends at slot 40."""
    world.store.commits.set_line(world.repository, "main", range(40))
    world.store.commits.set_line(
        world.repository, name, [*range(merge_base + 1), *own], base="main", merge_base=merge_base
    )


def ends(world: World, name: str) -> int:
    """Return the last position of a line that is history."""
    boundary = world.store.boundaries.get(world.repository)
    assert boundary is not None
    return boundary.position(world.store.commits.line(world.repository, name))


def test_what_a_branch_has_at_the_first_run_is_history(world: World) -> None:
    branch_off(world, "old", 35, list(range(40, 50)))
    import_years(world)
    world.measure({"parse": levels((5, 20.0))}, first=40)
    world.run()
    assert (ends(world, "main"), ends(world, "old")) == (39, 40)


def test_what_a_later_branch_adds_is_work(world: World) -> None:
    world.store.commits.set_line(world.repository, "main", range(40))
    import_years(world)
    world.run()
    branch_off(world, "fresh", 35, list(range(50, 60)))
    branch_off(world, "newest", 39, list(range(60, 70)))
    assert (ends(world, "fresh"), ends(world, "newest")) == (-1, 39)


# Moving the boundary


def test_taking_everything_leaves_no_history(world: World) -> None:
    import_years(world)
    world.run()
    moved = take(world.store, world.repository, who="ada")
    assert (places(world, _HISTORY), places(world, _WORK)) == ([], [10, 30])
    assert (len(moved.work), moved.history) == (2, ())


def test_taking_what_is_newer_than_a_commit_leaves_the_rest(world: World) -> None:
    import_years(world)
    world.run()
    (commit,) = world.store.commits.get(world.repository, [20])
    take(world.store, world.repository, commit.commit.hash[:12], who="ada")
    assert (places(world, _HISTORY), places(world, _WORK)) == ([10], [30])


def test_the_commit_that_work_is_newer_than_stays_history(world: World) -> None:
    import_years(world)
    world.run()
    (commit,) = world.store.commits.get(world.repository, [30])
    take(world.store, world.repository, commit.commit.hash, who="ada")
    assert places(world, _WORK) == []


def test_taking_since_a_date_takes_its_day(world: World) -> None:
    import_years(world)
    world.run()
    # Commits follow each other hourly from 2026-01-01T00:00; number 30 is at 06:00 of the next day.
    take(world.store, world.repository, "2026-01-02", who="ada")
    assert (places(world, _HISTORY), places(world, _WORK)) == ([10], [30])


def test_taking_never_turns_work_into_history(world: World) -> None:
    import_years(world)
    run_alerts(world.store, world.alerts, as_work=True)
    moved = take(world.store, world.repository, "2026-01-02", who="ada")
    assert (places(world, _WORK), moved.history) == ([10, 30], ())


def test_what_was_taken_is_announced(world: World) -> None:
    import_years(world)
    world.run()
    for event in world.store.outbox.claim([EventKind.CHANGES_UPDATED], "worker", 60, 10):
        world.store.outbox.done(event)
    moved = take(world.store, world.repository, who="ada")
    (event,) = world.store.outbox.claim([EventKind.CHANGES_UPDATED], "worker", 60, 10)
    assert event.payload["updated_changes"] == list(moved.work)


def test_what_a_dropped_boundary_makes_work_is_announced_once(world: World) -> None:
    import_years(world)
    world.run()
    for event in world.store.outbox.claim([EventKind.CHANGES_UPDATED], "worker", 60, 10):
        world.store.outbox.done(event)
    moved = drop_boundary(world.store, world.repository)
    drop_boundary(world.store, world.repository)
    (event,) = world.store.outbox.claim([EventKind.CHANGES_UPDATED], "worker", 60, 10)
    assert event.payload["updated_changes"] == list(moved.work)
    assert (places(world, _HISTORY), len(moved.work) > 0) == ([], True)


def test_a_boundary_set_by_hand_makes_history_of_what_is_older(world: World) -> None:
    import_years(world)
    run_alerts(world.store, world.alerts, as_work=True)
    set_boundary(world.store, world.repository, "2026-01-01", who="ada")
    assert (places(world, _HISTORY), places(world, _WORK)) == ([10], [30])
    boundary = world.store.boundaries.get(world.repository)
    assert boundary is not None
    assert (sorted(boundary.slots), boundary.who) == ([23], "ada")


def test_a_boundary_at_a_commit_takes_branches_that_left_later_into_work(world: World) -> None:
    branch_off(world, "old", 35, list(range(40, 50)))
    import_years(world)
    world.measure({"parse": levels((5, 20.0))}, first=40)
    world.run()
    (commit,) = world.store.commits.get(world.repository, [20])
    take(world.store, world.repository, commit.commit.hash, who="ada")
    assert (ends(world, "main"), ends(world, "old")) == (20, 20)


@pytest.mark.parametrize("text", ["2026-02-31", "0000000000", "yesterday"])
def test_what_is_neither_date_nor_commit_is_refused(world: World, text: str) -> None:
    import_years(world)
    world.run()
    with pytest.raises(InputError, match=r"no such commit|not a date"):
        take(world.store, world.repository, text, who="ada")
    assert places(world, _HISTORY) == [10, 30]


# Keeping it


def test_a_restored_backup_has_the_same_history(world: World, tmp_path: Path) -> None:
    import_years(world)
    world.run()
    world.store.backup(tmp_path / "backup")
    with restore(tmp_path / "backup", tmp_path / "again.db") as again:
        assert again.boundaries.get(world.repository) == world.store.boundaries.get(world.repository)
        assert again.findings.count(world.repository, selection=_HISTORY) == 2


def test_findings_made_anew_from_nothing_keep_their_sides(world: World, tmp_path: Path) -> None:
    import_years(world)
    world.run()
    world.measure({"parse": levels((5, 20.0), (5, 30.0))}, first=40)
    world.run()
    run_alerts(world.store, [])
    assert (places(world, _HISTORY), places(world, _WORK)) == ([], [])
    world.store.close()
    with open_store(tmp_path / "store.db") as store:
        again = World(store, world.repository)
        again.run()
        assert (places(again, _HISTORY), places(again, _WORK)) == ([10, 30], [45])


def test_the_counts_of_both_sides_are_of_live_findings(world: World) -> None:
    import_years(world)
    world.measure({"read": levels((10, 5.0), (10, 6.0))})
    world.run()
    world.measure({"parse": levels((5, 20.0), (5, 30.0))}, first=40)
    world.run()
    sides = world.store.boundaries.sides(world.repository)
    assert (sides.history, sides.work) == (3, 1)
    assert (sides.history_changes, sides.work_changes) == (2, 1)


def test_the_boundary_says_when_it_was_set_and_by_whom(world: World) -> None:
    before = datetime.now(UTC)
    import_years(world)
    world.run()
    boundary = world.store.boundaries.get(world.repository)
    assert boundary is not None
    assert boundary.who == ""
    assert before <= boundary.changed <= datetime.now(UTC)
