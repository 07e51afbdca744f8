"""What is announced: each settled change once, with what corrects and ends it, and never history."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from knickpoint.model.alert import Alert, AlertDirection, AlertKind
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import Condition, Direction, Status, SuspectRange
from knickpoint.model.errors import StoreError
from knickpoint.model.notification import Announcement, AnnouncementKind, AnnouncementRule
from knickpoint.model.settlement import Certainty
from knickpoint.store import EventKind
from knickpoint.store.bisections import BisectionAnswer, BisectionRequest
from knickpoint.store.findings.announcements import AnnouncementLedger
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.announcements.announcer import announce
from knickpoint.watch.bisections import put_on_finding
from knickpoint.watch.triage.decisions import Targets, decide, split, undo
from knickpoint.watch.triage.history_boundary import take

from .conftest import QUICK, World, levels

ALERT: Final = replace(QUICK, settle_share=0, settle_least=3, settle_most=3)
WORSE, BETTER = AnnouncementKind.REGRESSED, AnnouncementKind.IMPROVED


def feed(
    world: World, values: dict[str, Sequence[float]], *, first: int = 1, rule: AnnouncementRule | None = None
) -> None:
    """Measure two commits at a time, from the commit with the number ``first`` on, and run the alert after each two."""
    longest = max(len(series) for series in values.values())
    if first > 1:
        world.measure({name: series[: first - 1] for name, series in values.items()})
    for count in range(first, longest + 1):
        results = {name: series[count - 1] for name, series in values.items() if len(series) >= count}
        world.put(count - 1, {name: value for name, value in results.items() if not math.isnan(value)})
        if not (longest - count) % 2:
            run(world, rule)


def run(world: World, rule: AnnouncementRule | None = None) -> None:
    """Run the alert, and take everything as work."""
    run_alerts(world.store, [ALERT], as_work=True, announcements=rule or AnnouncementRule())


def ledger(world: World) -> list[Announcement]:
    """Return all announcements of which people are told."""
    return world.store.findings.announcements.after(0)


def whole_ledger(world: World) -> list[Announcement]:
    """Return all announcements, those included of which nobody is told."""
    return world.store.findings.announcements.after(0, provisional=True, unsent=True)


def kinds(world: World) -> list[AnnouncementKind]:
    """Return the kinds of all announcements, in order."""
    return [each.kind for each in ledger(world)]


def test_a_change_is_announced_when_it_settles(world: World) -> None:
    values = levels((20, 10.0), (6, 12.0))
    feed(world, {"parse": values[:22]}, first=20)
    assert ledger(world) == []
    feed(world, {"parse": values}, first=23)
    (announced,) = ledger(world)
    (change,) = world.store.findings.changes(world.repository)
    assert announced.kind is WORSE
    assert announced.change_id == change.id
    assert announced.suspect_range == change.suspect_range
    assert (announced.direction, announced.condition, announced.traces) == (Direction.REGRESSION, Condition.PRESENT, 1)
    assert announced.relative_size == pytest.approx(0.2, rel=0.05)


def test_an_announcement_keeps_the_numbers_of_its_moment(world: World) -> None:
    values = levels((20, 10.0), (3, 12.0), (10, 12.3))
    feed(world, {"parse": values[:23]}, first=20)
    (before,) = ledger(world)
    feed(world, {"parse": values}, first=24)
    assert ledger(world)[0] == before


@pytest.mark.parametrize(("later", "told"), [(40, 1), (41, 0)])
def test_people_are_told_of_a_change_for_the_first_time_within_40_values(world: World, later: int, told: int) -> None:
    world.measure({"parse": levels((20, 10.0), (later, 12.0))})
    run(world)
    world.measure({"parse": levels((20, 10.0), (later, 12.0), (10, 10.0))})
    run(world)
    assert kinds(world) == [WORSE, AnnouncementKind.RECOVERED][: 2 * told]
    opened, recovered = whole_ledger(world)
    assert opened.unsent == ("" if told else "found 41 values after the change; messages are sent within 40")
    assert recovered.unsent == ("" if told else "what it follows was not sent")


@pytest.mark.parametrize(("later", "told"), [(36, True), (37, False)])
def test_people_are_told_of_corrections_within_60_values(world: World, later: int, told: bool) -> None:  # noqa: FBT001
    feed(world, {"parse": levels((10, 10.0), (later, 12.0))}, first=8 + later)
    world.measure({"parse": levels((10 + later, 10.0))})
    run(world)
    world.measure({"parse": levels((34 + later, 10.0))})
    run(world)
    withdrawn = whole_ledger(world)[-1]
    assert withdrawn.kind is AnnouncementKind.WITHDRAWN
    reason = "the change was 61 values ago; corrections are sent within 60"
    assert withdrawn.unsent == ("" if told else reason)
    assert kinds(world) == [WORSE, AnnouncementKind.WITHDRAWN][: 1 + told]
    # What nobody was told is gone does not return.
    world.measure({"parse": levels((10, 10.0), (24 + later, 12.0))})
    run(world)
    assert whole_ledger(world)[-1].kind is AnnouncementKind.RETURNED
    assert len(ledger(world)) == 1 + 2 * told


def test_a_change_of_several_traces_is_announced_once(world: World) -> None:
    values = levels((20, 10.0), (9, 12.0))
    feed(world, {"parse": values, "render": [*values[:20], math.nan, *values[21:]], "write": values}, first=20)
    assert kinds(world) == [WORSE]


def test_a_run_reads_the_values_around_each_change_once_and_not_for_each_change_beside_it(
    world: World, asked: list[str]
) -> None:
    changes = 12
    world.measure({f"t{k}": levels((10 + 5 * k, 10.0), (70 - 5 * k, 12.0)) for k in range(changes)})
    asked.clear()
    run(world)
    assert len(whole_ledger(world)) == changes
    values = [statement for statement in asked if "FROM segment" in statement]
    assert changes <= len(values) < 3 * changes


def test_running_again_announces_nothing(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (6, 12.0))}, first=20)
    before = ledger(world)
    run(world)
    run_alerts(world.store, [ALERT], afresh=True)
    assert ledger(world) == before


def test_history_is_never_announced(world: World) -> None:
    world.measure({"parse": levels((20, 10.0), (9, 12.0))})
    world.run(ALERT)
    assert ledger(world) == []


def test_history_that_a_person_takes_into_work_is_not_announced(world: World) -> None:
    world.measure({"parse": levels((20, 10.0), (9, 12.0))})
    world.run(ALERT)
    take(world.store, world.repository, who="ann")
    world.measure({"parse": levels((20, 10.0), (12, 12.0))})
    world.run(ALERT)
    assert ledger(world) == []


def test_history_that_later_results_move_into_work_is_not_announced(world: World) -> None:
    values = levels((20, 10.0), (30, 12.0))
    sparse = {slot: value for slot, value in enumerate(values) if slot not in range(19, 26)}
    for slot in range(29):
        if slot in sparse:
            world.put(slot, {"parse": values[slot]})
    world.run(ALERT)  # the boundary lies at 28, the change between 18 and 26
    (point,) = world.points("parse")
    assert point.history
    world.store.boundaries.put(world.repository, {24}, who="ann")
    for slots in (range(26, 33), range(33, 40)):
        world.measure({"parse": values[slots.start : slots.stop]}, first=slots.start)
        world.run(ALERT)
    (point,) = world.points("parse")
    assert not point.history
    assert ledger(world) == []


def test_a_trace_that_joins_history_later_is_not_announced(world: World) -> None:
    values = levels((20, 10.0), (9, 12.0))
    world.measure({"parse": values, "render": values})
    world.run(ALERT)
    world.measure({"write": values})
    world.run(ALERT)
    assert ledger(world) == []


def test_a_recovery_is_announced_and_the_improvement_is_part_of_it(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 12.0), (8, 10.0))}, first=25)
    opened, over = ledger(world)
    assert (opened.kind, over.kind) == (WORSE, AnnouncementKind.RECOVERED)
    assert (over.chain, over.number, over.change_id) == (
        opened.chain,
        opened.number + 1,
        opened.change_id,
    )
    (improvement,) = [
        change for change in world.store.findings.changes(world.repository) if change.direction is Direction.IMPROVEMENT
    ]
    assert over.cause_id == improvement.id


@pytest.mark.parametrize(
    "alert",
    [
        replace(ALERT, direction=AlertDirection.WORSE),
        replace(ALERT, direction=AlertDirection.UP),
        replace(ALERT, minimum_effect=0.18),
    ],
    ids=["worse", "up", "minimum_effect"],
)
@pytest.mark.parametrize("decided", [False, True])
def test_an_alert_that_does_not_report_the_way_back_announces_the_end(
    world: World,
    alert: Alert,
    decided: bool,  # noqa: FBT001
) -> None:
    values = levels((20, 10.0), (8, 12.0), (8, 10.0))
    for slots in (range(24), range(24, 28), range(28, 32), range(32, 36)):
        world.measure({"parse": values[slots.start : slots.stop]}, first=slots.start)
        run_alerts(world.store, [alert], as_work=True)
        if decided and slots.stop == 28:
            decide(world.store, Targets(points=(world.points("parse")[0].id,)), who="ann", status=Status.ACKNOWLEDGED)
    assert len(world.points("parse")) == 1
    opened, over = ledger(world)
    assert over.kind is (AnnouncementKind.FIXED if decided else AnnouncementKind.RECOVERED)
    assert (over.chain, over.cause_id) == (opened.chain, 0)


def test_an_improvement_that_may_end_a_change_waits_until_its_level_is_known(world: World) -> None:
    back = [10.3] * 5 + [10.0] * 9
    feed(world, {"parse": [*levels((20, 10.0), (8, 12.0)), *back]}, first=28)
    assert kinds(world) == [WORSE, AnnouncementKind.RECOVERED]


def test_an_improvement_that_undoes_a_change_in_part_is_announced_by_itself(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 14.0), (4, 12.0))}, first=28)
    assert kinds(world) == [WORSE, BETTER]


@pytest.mark.long
def test_an_improvement_that_does_not_reach_the_level_before_a_change_is_announced_in_the_end(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 12.0), (24, 10.4))}, first=28)
    assert kinds(world) == [WORSE, BETTER]


def test_a_fix_that_slows_something_else_is_a_change_of_its_own(world: World) -> None:
    sparse = [value if slot % 3 == 0 else math.nan for slot, value in enumerate(levels((30, 5.0), (18, 6.0)))]
    feed(world, {"parse": levels((20, 10.0), (10, 15.0), (18, 10.0)), "render": sparse}, first=26)
    assert kinds(world) == [WORSE, AnnouncementKind.RECOVERED, WORSE]
    (render,) = world.points("render")
    last = ledger(world)[-1]
    assert (last.lead, last.chain, last.change_id) == (render.id, render.announced, render.change_id)


@pytest.mark.long
def test_what_a_change_that_is_over_left_slow_elsewhere_is_announced_by_itself(world: World) -> None:
    values = levels((20, 10.0), (8, 15.0), (12, 10.0))
    feed(world, {"parse": values}, first=20)
    world.measure({"render": levels((20, 5.0), (20, 6.0))})
    run(world)
    assert kinds(world) == [WORSE, AnnouncementKind.RECOVERED, WORSE]
    assert ledger(world)[-1].lead == world.points("render")[0].id


def test_a_change_that_a_person_had_decided_about_is_announced_as_fixed(world: World) -> None:
    values = levels((20, 10.0), (8, 12.0), (8, 10.0))
    feed(world, {"parse": values[:28]}, first=25)
    (point,) = world.points("parse")
    decide(world.store, Targets(points=(point.id,)), who="ann", status=Status.ACKNOWLEDGED)
    feed(world, {"parse": values}, first=29)
    assert kinds(world) == [WORSE, AnnouncementKind.FIXED]


def test_what_a_person_hid_is_not_announced(world: World) -> None:
    values = levels((20, 10.0), (8, 12.0), (8, 10.0))
    feed(world, {"parse": values[:22]}, first=20)
    (point,) = world.points("parse")
    decide(world.store, Targets(points=(point.id,)), who="ann", status=Status.HIDDEN)
    feed(world, {"parse": values[:28]}, first=23)
    assert ledger(world) == []


def test_what_a_person_hid_after_the_announcement_ends_in_silence(world: World) -> None:
    values = levels((20, 10.0), (8, 12.0), (8, 10.0))
    feed(world, {"parse": values[:28]}, first=25)
    (point,) = world.points("parse")
    decide(world.store, Targets(points=(point.id,)), who="ann", status=Status.HIDDEN)
    feed(world, {"parse": values}, first=29)
    assert [each.change_id for each in ledger(world)][:1] == [point.change_id]
    assert kinds(world) == [WORSE]


def test_a_change_that_is_over_when_it_settles_is_announced_once(world: World) -> None:
    world.measure({"parse": levels((20, 10.0), (8, 12.0), (8, 10.0))})
    run(world)
    (announced,) = ledger(world)
    assert (announced.kind, announced.condition) == (WORSE, Condition.RECOVERED)
    assert announced.cause_id


def test_an_improvement_is_announced_and_its_loss_is_a_change(world: World) -> None:
    feed(world, {"parse": levels((20, 12.0), (8, 10.0), (8, 12.0))}, first=25)
    assert kinds(world) == [BETTER, WORSE]
    assert len({each.chain for each in ledger(world)}) == 2


def _feed_one_way(world: World, values: Sequence[float], direction: AlertDirection, *, first: int = 25) -> None:
    """Run an alert of one direction after each two commits."""
    alert = replace(ALERT, direction=direction)
    world.measure({"parse": values[: first - 1]})
    for slot in range(first - 1, len(values)):
        world.put(slot, {"parse": values[slot]})
        if (len(values) - slot) % 2:
            run_alerts(world.store, [alert], as_work=True)


@pytest.mark.parametrize(
    ("unit", "direction", "level"),
    [
        ("ms", AlertDirection.BETTER, 8.0),
        pytest.param("ms", AlertDirection.DOWN, 8.0, marks=pytest.mark.long),
        pytest.param("ops/s", AlertDirection.BETTER, 12.0, marks=pytest.mark.long),
        ("ops/s", AlertDirection.UP, 12.0),
    ],
)
def test_an_improvement_whose_loss_no_alert_reports_is_announced_as_over_once(
    world: World, unit: str, direction: AlertDirection, level: float
) -> None:
    world.units["parse"] = unit
    values = levels((20, 10.0), (8, level), (12, 10.0), (8, level))
    _feed_one_way(world, values[:28], direction)
    (point,) = world.points("parse")
    decide(world.store, Targets(points=(point.id,)), who="ann", status=Status.ACKNOWLEDGED)
    _feed_one_way(world, values, direction, first=29)
    assert kinds(world) == [BETTER, AnnouncementKind.RECOVERED, BETTER]
    opened, over, again = ledger(world)
    assert (over.chain, over.direction, over.condition) == (opened.chain, Direction.IMPROVEMENT, Condition.RECOVERED)
    assert again.chain != opened.chain
    counts = world.store.findings.announcements.counts_since(world.repository, datetime(2026, 1, 1, tzinfo=UTC))
    assert counts == {BETTER: 2}


@pytest.mark.parametrize(
    ("unit", "direction", "level"),
    [
        pytest.param("ms", AlertDirection.UP, 12.0, marks=pytest.mark.long),
        ("ops/s", AlertDirection.DOWN, 8.0),
        pytest.param("ops/s", AlertDirection.WORSE, 8.0, marks=pytest.mark.long),
    ],
)
def test_an_alert_of_one_way_announces_changes_by_what_is_better(
    world: World, unit: str, direction: AlertDirection, level: float
) -> None:
    world.units["parse"] = unit
    values = levels((20, 10.0), (8, level), (8, 10.0), (8, level), (8, 10.0))
    _feed_one_way(world, values[:46], direction)
    decide(world.store, Targets(points=(world.points("parse")[-1].id,)), who="ann", status=Status.ACKNOWLEDGED)
    _feed_one_way(world, values, direction, first=47)
    assert kinds(world) == [WORSE, AnnouncementKind.RECOVERED, WORSE, AnnouncementKind.FIXED]
    assert {each.direction for each in ledger(world)} == {Direction.REGRESSION}


@pytest.mark.parametrize(
    ("unit", "direction", "opened"),
    [("ops/s", AlertDirection.DOWN, WORSE), ("ops/s", AlertDirection.UP, BETTER), ("ms", AlertDirection.DOWN, BETTER)],
)
def test_what_returns_after_its_end_says_so_in_its_chain_whatever_is_better(
    world: World, unit: str, direction: AlertDirection, opened: AnnouncementKind
) -> None:
    world.units["parse"] = unit
    high, low = 12.0, 10.0
    before, level = (high, low) if direction is AlertDirection.DOWN else (low, high)
    begin = levels((20, before), (8, level))
    _feed_one_way(world, begin, direction, first=20)
    for back, length in ((before, 8), (level, 34), (before, 34)):
        _feed_one_way(world, [*begin, *levels((length, back))], direction, first=28 + length)
    recovered, returned = AnnouncementKind.RECOVERED, AnnouncementKind.RETURNED
    assert kinds(world) == [opened, recovered, returned, recovered]
    assert len({each.chain for each in ledger(world)}) == 1


def test_an_improvement_that_is_lost_when_it_settles_is_announced_once(world: World) -> None:
    _feed_one_way(world, levels((20, 12.0), (8, 10.0), (8, 12.0)), AlertDirection.BETTER, first=36)
    (announced,) = ledger(world)
    assert (announced.kind, announced.condition) == (BETTER, Condition.RECOVERED)


def test_the_loss_of_an_improvement_that_only_an_informational_alert_reports_is_announced(world: World) -> None:
    alerts = [
        replace(ALERT, direction=AlertDirection.BETTER),
        replace(ALERT, name="others", direction=AlertDirection.WORSE, kind=AlertKind.INFORMATIONAL),
    ]
    values = levels((20, 12.0), (8, 10.0), (8, 12.0))
    for begin in range(0, len(values), 4):
        world.measure({"parse": values[begin : begin + 4]}, first=begin)
        run_alerts(world.store, alerts, as_work=True)
    assert kinds(world) == [BETTER, AnnouncementKind.RECOVERED]


def test_a_change_that_comes_again_after_its_recovery_is_a_change_of_its_own(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 12.0), (8, 10.0), (8, 12.0))}, first=26)
    assert kinds(world) == [WORSE, AnnouncementKind.RECOVERED, WORSE]
    first, recovery, second = ledger(world)
    assert recovery.chain == first.chain != second.chain
    assert first.suspect_range.slot < second.suspect_range.slot


def test_a_recovery_that_corrected_results_take_back_says_so_each_time_it_turns(world: World) -> None:
    before = levels((20, 10.0), (8, 12.0))
    for level, length in ((12.0, 0), (10.0, 8), (12.0, 8), (12.0, 34), (10.0, 34), (12.0, 34), (12.0, 60)):
        world.measure({"parse": [*before, *levels((length, level))]})
        run(world)
    recovered, returned = AnnouncementKind.RECOVERED, AnnouncementKind.RETURNED
    assert kinds(world) == [WORSE, recovered, returned, recovered, returned]
    assert len({each.chain for each in ledger(world)}) == 1


@pytest.mark.long
def test_a_recovery_is_taken_back_only_when_enough_values_tell_that_the_level_is_another(world: World) -> None:
    begin = levels((20, 10.0), (8, 12.0), (4, 10.0), (6, 10.3))
    feed(world, {"parse": begin}, first=26)
    assert world.points("parse")[0].condition is Condition.PRESENT
    assert kinds(world) == [WORSE, AnnouncementKind.RECOVERED]
    feed(world, {"parse": [*begin, *levels((14, 10.3))]}, first=len(begin) + 1)
    assert kinds(world) == [WORSE, AnnouncementKind.RECOVERED, AnnouncementKind.RETURNED]


def test_a_change_that_vanishes_is_withdrawn_and_announced_again_when_it_returns(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (6, 12.0))}, first=20)
    run_alerts(world.store, [replace(ALERT, minimum_effect=0.5)])
    world.measure({"parse": levels((20, 10.0), (28, 12.0))})
    run_alerts(world.store, [replace(ALERT, minimum_effect=0.5)])
    assert kinds(world) == [WORSE]  # it may be back with the next value
    world.measure({"parse": levels((20, 10.0), (32, 12.0))})
    run_alerts(world.store, [replace(ALERT, minimum_effect=0.5)])
    assert kinds(world) == [WORSE, AnnouncementKind.WITHDRAWN]
    run(world)
    assert kinds(world) == [WORSE, AnnouncementKind.WITHDRAWN, AnnouncementKind.RETURNED]
    assert [each.number for each in ledger(world)] == [1, 2, 3]  # the first one was provisional


def _corrected(world: World, values: Sequence[float], level: float, slots: Sequence[int]) -> None:
    """Correct the values at ``slots``."""
    for slot in slots:
        values[slot] = level  # type: ignore[index]
        world.put(slot, {"parse": level})


def test_a_change_that_moves_far_is_corrected_with_a_range_over_both_places(world: World) -> None:
    values = levels((20, 10.0), (12, 12.0))
    feed(world, {"parse": values}, first=20)
    _corrected(world, values, 10.0, [20, 21, 22])
    run(world)
    opened, moved = ledger(world)
    assert (opened.kind, moved.kind) == (WORSE, AnnouncementKind.MOVED)
    assert (moved.suspect_range.previous, moved.suspect_range.slot) == (19, 23)
    _corrected(world, values, 12.0, [20, 21, 22])
    run(world)
    assert len(ledger(world)) == 2  # it lies in the announced range again


def test_late_results_are_awaited_where_commits_of_the_range_are_unmeasured(world: World) -> None:
    values = levels((20, 10.0), (12, 12.0))
    for slot in (*range(19), *range(21, 30)):
        world.put(slot, {"parse": values[slot]})
    run(world, AnnouncementRule(late_minutes=60))
    assert ledger(world) == []
    announce(
        world.store,
        world.repository,
        (),
        AnnouncementRule(late_minutes=60),
        now=datetime.now(UTC) + timedelta(minutes=61),
    )
    assert kinds(world) == [WORSE]


def test_an_event_names_the_announcements(world: World) -> None:
    world.store.outbox.subscribe("sender", [EventKind.ANNOUNCED])
    feed(world, {"parse": levels((20, 10.0), (6, 12.0))}, first=20)
    (event,) = world.store.outbox.claim([EventKind.ANNOUNCED], "w", 60, 10, consumer="sender")
    assert event.payload == {
        "repository": "project",
        "announcements": [each.id for each in ledger(world)],
        "truncated": False,
    }


def test_improvements_are_kept_from_senders_that_do_not_want_them(world: World) -> None:
    world.store.outbox.subscribe("sender", [EventKind.ANNOUNCED])
    feed(world, {"parse": levels((20, 12.0), (6, 10.0))}, first=20, rule=AnnouncementRule(improvements=False))
    assert kinds(world) == [BETTER]
    alert = replace(ALERT, direction=AlertDirection.BETTER)
    world.measure({"parse": levels((20, 12.0), (6, 10.0), (8, 12.0))})
    run_alerts(world.store, [alert], afresh=True, announcements=AnnouncementRule(improvements=False))
    assert kinds(world) == [BETTER, AnnouncementKind.RECOVERED]
    assert world.store.outbox.claim([EventKind.ANNOUNCED], "w", 60, 10, consumer="sender") == []


def test_a_run_that_fails_announces_nothing_and_the_next_one_does(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = levels((20, 10.0), (6, 12.0))
    feed(world, {"parse": values[:22]}, first=20)
    written = AnnouncementLedger.append

    def broken(self: AnnouncementLedger, announcements: Sequence[Announcement]) -> None:
        written(self, announcements)
        raise StoreError("the disk is full")

    monkeypatch.setattr(AnnouncementLedger, "append", broken)
    world.put(22, {"parse": values[22]})
    with pytest.raises(StoreError, match="the disk is full"):
        run(world)
    assert ledger(world) == []
    monkeypatch.undo()
    run(world)
    assert kinds(world) == [WORSE]


def test_the_chain_of_a_change_is_read_whole(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 12.0), (8, 10.0)), "write": levels((36, 5.0))}, first=25)
    (opened, over) = ledger(world)
    assert world.store.findings.announcements.of_change(opened.change_id) == [opened, over]
    assert world.store.findings.announcements.get([over.id]) == [over]


# What turns out to be two changes


def _two_in_one_range(world: World) -> None:
    """Announce a change after commit 19, which a change measured seldom joins, as it may lie there."""
    values = levels((20, 10.0), (8, 12.0))
    sparse = [
        value if slot not in range(18, 24) else math.nan for slot, value in enumerate(levels((18, 5.0), (10, 6.0)))
    ]
    feed(world, {"parse": values, "render": sparse}, first=20)
    assert kinds(world) == [WORSE]
    assert len(world.store.findings.changes(world.repository)) == 1


def test_what_a_person_splits_off_is_announced_at_once_like_a_new_change(world: World) -> None:
    world.store.outbox.subscribe("sender", [EventKind.ANNOUNCED])
    _two_in_one_range(world)
    (opened,) = ledger(world)
    (other,) = [world.points(name)[0] for name in ("parse", "render") if world.points(name)[0].id != opened.lead]
    (leading,) = world.store.findings.points([opened.lead])
    split(world.store, Targets(points=(other.id,)), who="ann")
    _, second = ledger(world)
    (other,) = world.store.findings.points([other.id])
    assert (second.kind, second.lead, second.change_id) == (WORSE, other.id, other.change_id)
    assert second.chain == other.announced != leading.announced == opened.chain
    events = world.store.outbox.claim([EventKind.ANNOUNCED], "w", 60, 10, consumer="sender")
    assert [event.payload["announcements"] for event in events] == [[opened.id], [second.id]]
    run(world)
    assert ledger(world) == [opened, second]


def test_what_is_left_of_a_split_is_announced_where_the_other_part_was_announced_by_name(world: World) -> None:
    _two_in_one_range(world)
    (opened,) = ledger(world)
    split(world.store, Targets(points=(opened.lead,)), who="ann")
    _, second = ledger(world)
    assert (second.kind, second.lead != opened.lead, second.chain != opened.chain) == (WORSE, True, True)
    assert world.store.findings.points([opened.lead])[0].announced == opened.chain


@pytest.mark.long
@pytest.mark.parametrize("apart", ["parse", "render"])
def test_what_settles_after_a_split_does_not_join_what_it_was_split_from(world: World, apart: str) -> None:
    values = levels((20, 10.0), (20, 12.0))
    seldom = [value if slot % 3 == 1 else math.nan for slot, value in enumerate(levels((20, 5.0), (20, 6.0)))]
    feed(world, {"parse": values[:26], "render": seldom[:26]}, first=20)
    (opened,), (render,) = ledger(world), world.points("render")
    assert (opened.lead, render.announced) == (world.points("parse")[0].id, 0)
    assert render.change_id == opened.change_id
    split(world.store, Targets(points=(world.points(apart)[0].id,)), who="ann")
    assert ledger(world) == [opened]
    for slot in range(26, 40):
        world.put(slot, {"parse": values[slot]} | ({} if math.isnan(seldom[slot]) else {"render": seldom[slot]}))
        run(world)
    _, second = ledger(world)
    assert (second.kind, second.lead, second.chain != opened.chain) == (WORSE, render.id, True)


@pytest.mark.long
def test_a_change_after_one_that_is_over_is_announced_when_it_settles(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 13.0), (8, 10.0))}, first=26)
    for slot in range(36, 48):
        world.put(slot, {"parse": 13.0})
        run(world)
        last = world.points("parse")[-1]
        if last.suspect_range.slot == 36:
            assert bool(last.announced) is (last.certainty is Certainty.SETTLED)
    assert kinds(world).count(WORSE) == 2


@pytest.mark.parametrize("named", [True, False])
def test_an_undone_split_leaves_one_chain_and_announces_nothing(world: World, named: bool) -> None:  # noqa: FBT001
    _two_in_one_range(world)
    (opened,) = ledger(world)
    points = [world.points(name)[0] for name in ("parse", "render")]
    (chosen,) = [point.id for point in points if (point.id == opened.lead) is named]
    split(world.store, Targets(points=(chosen,)), who="ann")
    said = ledger(world)
    assert kinds(world) == [WORSE, WORSE]
    undo(world.store, Targets(points=(chosen,)), who="ann")
    run(world)
    assert ledger(world) == said
    assert {point.announced for point in world.store.findings.points([point.id for point in points])} == {opened.chain}
    for slot in range(80 - 20, 80):
        world.put(
            slot, {name: point.numbers.before_level for name, point in zip(("parse", "render"), points, strict=True)}
        )
    run(world)
    assert [(row.kind, row.chain) for row in ledger(world)[2:]] == [(AnnouncementKind.RECOVERED, opened.chain)]


def test_a_split_of_history_announces_nothing(world: World) -> None:
    values = levels((20, 10.0), (9, 12.0))
    world.measure({"parse": values, "render": values})
    world.run(ALERT)
    split(world.store, Targets(points=(world.points("render")[0].id,)), who="ann")
    assert ledger(world) == []


def test_a_change_that_later_results_place_elsewhere_than_what_was_announced_is_announced_by_itself(
    world: World,
) -> None:
    _two_in_one_range(world)
    (opened,) = ledger(world)
    for slot in (18, 19, 20, 21, 22):
        world.put(slot, {"render": 5.0})
        run(world)
    (render,) = world.points("render")
    assert (render.suspect_range.previous, render.suspect_range.slot) == (22, 24)
    assert kinds(world) == [WORSE, WORSE]
    assert {opened.lead, ledger(world)[-1].lead} == {world.points(name)[0].id for name in ("parse", "render")}


def _find_culprit(world: World, name: str, culprit: int) -> int:
    """End a bisection of the change of a trace with a culprit; return the change."""
    (point,) = world.points(name)
    asked = BisectionRequest(
        repository_id=world.repository.id,
        line="main",
        slots=tuple(range(culprit - 3, culprit + 4)),
        recipe="p",
        digest="d",
        who="ann",
        asked=datetime.now(UTC),
        change_id=point.change_id,
        trace_id=point.trace_id,
        trace_key=point.key,
    )
    bisection = world.store.bisections.ask(asked)
    world.store.bisections.claim("worker", datetime.now(UTC), 60.0)
    found = SuspectRange("main", culprit - 1, culprit)
    put_on_finding(
        world.store, bisection, BisectionAnswer(BisectionState.CULPRIT, "", (culprit,), found, 0.99), "worker"
    )
    return point.change_id


def test_a_culprit_is_announced_in_the_chain_of_the_trace_that_was_searched(world: World) -> None:
    worse = [value if slot % 3 == 2 else math.nan for slot, value in enumerate(levels((20, 5.0), (12, 6.0)))]
    feed(world, {"parse": levels((20, 12.0), (12, 10.0)), "render": worse}, first=20)
    assert kinds(world) == [BETTER, WORSE]
    _find_culprit(world, "render", 20)
    _, regressed, located = ledger(world)
    assert (located.kind, located.chain) == (AnnouncementKind.LOCATED, regressed.chain)


def test_a_culprit_is_not_said_of_a_range_in_which_another_trace_changed(world: World) -> None:
    sparse = [
        value if slot not in range(18, 24) else math.nan for slot, value in enumerate(levels((18, 5.0), (12, 6.0)))
    ]
    feed(world, {"parse": levels((22, 10.0), (8, 12.0)), "render": sparse}, first=20)
    (change,) = world.store.findings.changes(world.repository)
    key = _find_culprit(world, "render", 20)
    assert world.store.findings.change(key).suspect_range == change.suspect_range
    assert not world.store.bisections.of_changes([key])
    assert not world.store.bisections.newest_ended([key])
    split(world.store, Targets(points=(world.points("render")[0].id,)), who="ann")
    assert kinds(world).count(WORSE) == 2


# What is not settled, for those who ask


def everything(world: World) -> list[Announcement]:
    """Return all announcements, those included that only those hear who ask."""
    return world.store.findings.announcements.after(0, provisional=True)


def test_a_change_that_is_not_settled_is_announced_to_those_who_ask(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (2, 12.0))}, first=20)
    (sighted,) = everything(world)
    assert (sighted.kind, sighted.provisional) == (AnnouncementKind.PROVISIONAL, True)
    assert (sighted.number, sighted.chain, sighted.direction) == (0, sighted.id, Direction.REGRESSION)
    assert ledger(world) == []


def test_a_change_that_settles_is_announced_in_the_chain_of_its_first_sight(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (6, 12.0))}, first=20)
    sighted, settled = everything(world)
    assert (sighted.provisional, settled.provisional) == (True, False)
    assert (settled.kind, settled.chain, settled.number) == (WORSE, sighted.chain, 1)


def test_a_change_that_never_settled_is_withdrawn_for_those_who_heard_of_it(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (2, 12.0))}, first=20)
    world.measure({"parse": levels((20, 10.0), (4, 12.0))})
    run_alerts(world.store, [replace(ALERT, minimum_effect=0.5)])
    world.measure({"parse": levels((20, 10.0), (8, 12.0))})
    run_alerts(world.store, [replace(ALERT, minimum_effect=0.5)])
    assert [(row.kind, row.provisional) for row in everything(world)] == [
        (AnnouncementKind.PROVISIONAL, True),
        (AnnouncementKind.WITHDRAWN, True),
    ]
    assert ledger(world) == []


def test_a_change_is_announced_provisionally_once(world: World) -> None:
    values = levels((20, 10.0), (2, 12.0))
    feed(world, {"parse": values, "render": [*values[:20], math.nan, *values[21:]], "write": values}, first=20)
    assert [row.kind for row in everything(world)] == [AnnouncementKind.PROVISIONAL]


def test_a_provisional_announcement_is_no_event_for_senders(world: World) -> None:
    world.store.outbox.subscribe("sender", [EventKind.ANNOUNCED])
    feed(world, {"parse": levels((20, 10.0), (2, 12.0))}, first=20)
    assert list(world.store.outbox.claim([EventKind.ANNOUNCED], "sender", 60, 10, consumer="sender")) == []


def _put_sparse(world: World, name: str, *, last_before: int, first_after: int) -> None:
    """Measure a trace that changes in between two commits, without values there."""
    for slot in (*range(last_before - 10, last_before + 1), *range(first_after, first_after + 6)):
        world.put(slot, {name: 10.0 if slot <= last_before else 12.0})


def _put_apart(world: World) -> None:
    """Measure two changes whose ranges do not meet, in the range of one that was announced: the first takes that one."""
    _put_sparse(world, "parse", last_before=14, first_after=20)
    run(world)
    _put_sparse(world, "write", last_before=11, first_after=15)
    _put_sparse(world, "render", last_before=18, first_after=25)


def test_of_two_changes_in_an_announced_range_the_other_one_is_announced_by_itself(world: World) -> None:
    _put_apart(world)
    run(world)
    assert kinds(world) == [WORSE, WORSE]
    opened, second = ledger(world)
    (render,) = world.points("render")
    assert (second.lead, render.announced) == (render.id, second.chain)
    assert {point.announced for name in ("parse", "write") for point in world.points(name)} == {opened.chain}


def test_a_change_that_is_better_in_most_traces_is_announced_as_its_statement_says(world: World) -> None:
    _put_apart(world)
    for slot in (*range(8, 19), *range(25, 31)):
        world.put(slot, dict.fromkeys(("t1", "t2", "t3"), 10.0 if slot <= 18 else 6.0))
    run(world)
    before = ledger(world)
    statements = world.store.findings.statements.of_changes({row.change_id for row in before})
    assert [(row.kind, row.direction) for row in before] == [
        (WORSE, Direction.REGRESSION),
        (BETTER, Direction.IMPROVEMENT),
    ]
    assert all(statements[row.change_id].side is row.direction for row in before)
    assert [(row.traces, row.size) for row in before] == [(1, 2.0), (3, -4.0)]
    run(world)
    assert ledger(world) == before


@pytest.mark.parametrize("improvements", [True, False])
def test_a_change_that_is_worse_in_few_traces_is_one_announcement_of_the_side_that_is_heard(
    world: World,
    improvements: bool,  # noqa: FBT001
) -> None:
    better = dict.fromkeys(("pack", "read", "write"), levels((20, 12.0), (8, 6.0)))
    rule = AnnouncementRule(improvements=improvements)
    world.measure({"parse": levels((20, 10.0), (8, 12.0)), **better})
    run(world, rule)
    (opened,) = ledger(world)
    assert (opened.kind, opened.traces) == ((BETTER, 3) if improvements else (WORSE, 1))
    assert {world.points(name)[0].announced for name in ("parse", *better)} == {opened.chain}
    run(world, rule)
    assert ledger(world) == [opened]


def test_what_got_worse_in_a_change_for_the_better_is_announced_when_the_rest_is_withdrawn(world: World) -> None:
    better = ("pack", "read")
    for count in (8, 12, 36, 37):
        rest = levels((20, 12.0), (8, 6.0)) if count == 8 else levels((20 + count, 12.0))
        world.measure({"parse": levels((20, 10.0), (count, 12.0)), **dict.fromkeys(better, rest)})
        run(world)
    assert kinds(world) == [BETTER, AnnouncementKind.WITHDRAWN, WORSE]
    assert _kinds_of(world, "parse") == [WORSE]


def test_what_settles_elsewhere_is_announced_by_itself(world: World) -> None:
    _put_sparse(world, "parse", last_before=14, first_after=16)
    run(world)
    _put_sparse(world, "render", last_before=18, first_after=25)
    run(world)
    assert kinds(world) == [WORSE, WORSE]


def _kinds_of(world: World, name: str) -> list[AnnouncementKind]:
    """Return what was announced in the chain that the change of a trace belongs to."""
    (point,) = world.points(name)
    return [row.kind for row in world.store.findings.announcements.chains([point.announced])[point.announced]]


def test_an_improvement_beside_a_change_that_is_withdrawn_is_announced_by_itself(world: World) -> None:
    world.measure({"parse": levels((20, 10.0), (6, 12.0)), "render": levels((20, 12.0), (6, 10.0))})
    run(world)
    assert kinds(world) == [WORSE]  # one commit is announced once
    for count in (30, 56, 57):
        world.measure({"parse": levels((count, 10.0)), "render": levels((20, 12.0), (count - 20, 10.0))})
        run(world)
    assert kinds(world) == [WORSE, AnnouncementKind.WITHDRAWN, BETTER]
    assert _kinds_of(world, "render") == [BETTER]


def test_a_change_that_turns_from_worse_to_better_is_announced_as_what_it_is(world: World) -> None:
    before = levels((20, 10.0))
    feed(world, {"parse": [*before, *[10.6] * 4]}, first=20)
    assert kinds(world) == [WORSE]
    # The values after it drift down and then far up: their mean stays above the old level, the nearest 20 lie below.
    drift = [10.6, 10.6, 10.6, 10.3, 9.9, 9.5, *[9.2] * 14, *[9.2 * 1.04**k for k in range(1, 16)]]
    world.measure({"parse": [*before, *drift]})
    run(world)
    run(world)
    (point,) = world.points("parse")
    assert (point.movement, point.direction) == (1, Direction.IMPROVEMENT)
    assert kinds(world) == [WORSE, AnnouncementKind.WITHDRAWN, BETTER]
    assert _kinds_of(world, "parse") == [BETTER]
