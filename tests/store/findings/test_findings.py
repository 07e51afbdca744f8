from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import select, text, update

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import (
    Action,
    Condition,
    PointUpdate,
    Sighting,
    Status,
    StepNumbers,
    SuspectRange,
    Transition,
    direction_of,
)
from knickpoint.model.commit import Commit, Repository
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.statement import ChangeDirection
from knickpoint.model.step import StableRegion
from knickpoint.model.unit_names import Better
from knickpoint.store import RunWrite, Store
from knickpoint.store.array_codec import moment
from knickpoint.store.findings.alert_definitions import AlertRun
from knickpoint.store.findings.change_list import Sort
from knickpoint.store.findings.groups import Membership
from knickpoint.store.findings.rows import step_values
from knickpoint.store.findings.selection import Selection
from knickpoint.store.findings.tickets import Ticket
from knickpoint.store.tables.findings import judged
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.triage.decisions import Targets, decide, merge, split, undo
from knickpoint.watch.triage.tickets import put_tickets

REGION = StableRegion(0, 9, 10, 1.0, 3.0, 2.0, 2.0, 0.25)
TRACE = Trace(7, ",name=a%25b,", "ms", "time", Better.LOWER)


def sighting(
    slot: int = 10, *, alert: str = "a", hazard: float = -0.5, trace: int = 7, relative: float = math.inf
) -> Sighting:
    """Return a step of a trace of which lower is better; ``relative`` is its relative size."""
    return Sighting(
        alert=alert,
        trace_id=trace,
        suspect_range=SuspectRange("main", slot - 1, slot),
        movement=1,
        direction=direction_of(relative, TRACE.better),
        interval=2,
        numbers=StepNumbers(
            before=REGION,
            after=replace(REGION, first=10, last=19, mean=math.nan),
            before_level=0.0,
            after_level=1.0,
            deviation=0.25,
            size=1.0,
            relative_size=relative,
            hazard=hazard,
            score=7.5,
            p_value=None,
            order=0,
            method="m",
        ),
    )


def new(*seen: Sighting) -> PointUpdate:
    return PointUpdate(Transition.NEW, 0, seen[0].trace_id, seen)


def put(store: Store, repository: Repository, *changes: PointUpdate) -> list[int]:
    """Write changes of the trace and group every point that has no change by itself."""
    traces = {change.trace_id: replace(TRACE, id=change.trace_id) for change in changes}
    ids = store.findings.apply(repository, changes, traces)
    loose = [member for member in store.findings.groups.members(repository) if not member.change_id]
    groups = [Membership(0, member.suspect_range, (member.id,)) for member in loose]
    store.findings.groups.write(repository, groups)
    return ids


def test_the_interval_of_a_size_is_kept(store: Store, repository: Repository) -> None:
    numbers = replace(sighting().numbers, low=0.5, high=1.5, sign=0.99)
    put(store, repository, new(replace(sighting(), numbers=numbers)))
    (found,) = store.findings.change_points(7)
    assert (found.numbers.low, found.numbers.high, found.numbers.sign) == (0.5, 1.5, 0.99)


def test_a_change_point_reads_back_as_it_was_seen(store: Store, repository: Repository) -> None:
    seen = sighting(hazard=math.nan)
    (key,) = put(store, repository, new(seen))
    (point,) = store.findings.points([key])
    assert (point.key, point.unit, point.alerts, point.interval) == (",name=a%25b,", "ms", ("a",), 2)
    assert point.numbers.before == REGION
    assert math.isnan(point.numbers.after.mean)
    assert (point.numbers.relative_size, point.numbers.p_value, math.isnan(point.numbers.hazard)) == (
        math.inf,
        None,
        True,
    )
    assert [step_values(one) for one in store.findings.sightings.of_traces([7])[7]] == [step_values(seen)]


def test_the_slots_of_traces_are_those_of_their_live_change_points(store: Store, repository: Repository) -> None:
    (later, earlier, _) = put(store, repository, new(sighting(20)), new(sighting(10)), new(sighting(10, trace=8)))
    assert store.findings.slots([7, 8, 9]) == {7: [10, 20], 8: [10]}
    gone = next(point for point in store.findings.points([later]))
    store.findings.apply(repository, [PointUpdate(Transition.GONE, later, gone.trace_id, ())], {7: TRACE})
    assert store.findings.slots([7]) == {7: [10]}
    assert earlier in {point.id for point in store.findings.of_traces([7])[7]}


def test_names_of_alerts_survive_quotes_and_commas(store: Store, repository: Repository) -> None:
    odd = 'a "b", c'
    (key,) = put(store, repository, new(sighting(alert=odd)))
    assert store.findings.points([key])[0].alerts == (odd,)
    assert store.findings.count_states(repository, odd) == {(Condition.PRESENT, Status.NEW): 1}
    assert store.findings.count_states(repository, "c") == {}


def test_a_point_that_is_gone_keeps_its_numbers_and_loses_its_sightings(store: Store, repository: Repository) -> None:
    (key,) = put(store, repository, new(sighting()))
    put(store, repository, PointUpdate(Transition.GONE, key, 7, ()))
    (point,) = store.findings.points([key])
    assert (point.condition, point.numbers.size) == (Condition.GONE, 1.0)
    assert store.findings.sightings.of_traces([7]) == {}
    assert store.findings.change_points(7) == []
    assert store.findings.change_points(7, gone=True) == [point]


def test_a_change_weighs_its_strongest_live_member(store: Store, repository: Repository) -> None:
    first, second = put(store, repository, new(sighting(hazard=-0.9)), new(sighting(hazard=0.3, trace=8)))
    place = SuspectRange("main", 9, 10)
    (key,) = store.findings.groups.write(repository, [Membership(0, place, (first, second))])
    store.findings.groups.refresh([first, second])
    change = store.findings.change(key)
    assert (change.hazard, change.traces, change.unprocessed) == (-0.9, 2, 2)
    assert [member.id for member in change.members] == [first, second]
    put(store, repository, PointUpdate(Transition.GONE, first, 7, ()))
    store.findings.groups.refresh([first])
    (listed,) = store.findings.changes(repository)
    assert (listed.hazard, listed.traces, listed.conditions) == (0.3, 1, {Condition.PRESENT: 1, Condition.GONE: 1})


def of_one_commit(store: Store, repository: Repository, *relative: float) -> tuple[int, list[int]]:
    """Put findings of these relative sizes into one change; return its id, and theirs."""
    changes = [new(sighting(relative=each, trace=7 + number)) for number, each in enumerate(relative)]
    ids = put(store, repository, *changes)
    (key,) = store.findings.groups.write(repository, [Membership(0, SuspectRange("main", 9, 10), tuple(ids))])
    return key, ids


@pytest.mark.parametrize(("sizes", "order"), [((-0.94, 0.02, 0.05), (0, 2, 1)), ((-0.2, 0.1, 0.05), (1, 2, 0))])
def test_the_side_that_weighs_most_leads_and_what_got_worse_counts_twice(
    store: Store, repository: Repository, sizes: tuple[float, ...], order: tuple[int, ...]
) -> None:
    _, ids = of_one_commit(store, repository, *sizes)
    (listed,) = store.findings.changes(repository)
    assert [member.id for member in listed.members] == [ids[index] for index in order]
    assert listed.lead == listed.members[0]
    assert listed.statement is not None
    assert listed.statement.direction is ChangeDirection.MIXED


def test_where_nothing_got_worse_the_largest_improvement_leads(store: Store, repository: Repository) -> None:
    _, ids = of_one_commit(store, repository, -0.02, -0.5, 0.0)
    (listed,) = store.findings.changes(repository)
    assert [member.id for member in listed.members] == [ids[1], ids[0], ids[2]]


def test_of_equal_findings_the_first_trace_key_leads(store: Store, repository: Repository) -> None:
    ids = put(store, repository, new(sighting(relative=0.1, trace=8)), new(sighting(relative=0.1)))
    store.findings.groups.write(repository, [Membership(0, SuspectRange("main", 9, 10), tuple(ids))])
    with store.transaction() as connection:
        connection.execute(text("UPDATE change_point SET trace_key = ',name=z,' WHERE trace_id = 8"))
    (listed,) = store.findings.changes(repository)
    assert [member.id for member in listed.members] == ids[::-1]


def test_a_hidden_finding_does_not_lead_unprocessed_ones(store: Store, repository: Repository) -> None:
    key, ids = of_one_commit(store, repository, 9.0, 0.4, -0.1)
    store.findings.triage.decide(ids[:1], Status.HIDDEN, "Ada")
    assert [member.id for member in store.findings.change(key).members] == [ids[1], ids[2], ids[0]]


def test_what_is_gone_does_not_lead_what_is_there(store: Store, repository: Repository) -> None:
    key, ids = of_one_commit(store, repository, 9.0, 0.02)
    put(store, repository, PointUpdate(Transition.GONE, ids[0], 7, ()))
    assert [member.id for member in store.findings.change(key).members] == ids[::-1]


def test_lists_begin_with_the_worst_worsening(store: Store, repository: Repository) -> None:
    sizes = {10: -0.94, 20: 0.02, 30: 0.4, 40: -0.1}
    put(store, repository, *(new(sighting(slot, relative=size)) for slot, size in sizes.items()))
    assert [one.suspect_range.slot for one in store.findings.changes(repository)] == [30, 20, 10, 40]
    assert [one.severity for one in store.findings.changes(repository)] == sorted(
        (one.severity for one in store.findings.changes(repository)), reverse=True
    )


def test_a_list_is_sorted_by_the_findings_that_lead(store: Store, repository: Repository) -> None:
    loud, quiet = put(store, repository, new(sighting(20, relative=9.0)), new(sighting(20, relative=0.02, trace=8)))
    store.findings.groups.write(repository, [Membership(0, SuspectRange("main", 19, 20), (loud, quiet))])
    put(store, repository, new(sighting(30, relative=0.1)))
    store.findings.triage.decide([loud], Status.HIDDEN, "Ada")
    assert [one.suspect_range.slot for one in store.findings.changes(repository)] == [30, 20]


def test_only_changes_of_some_size_are_listed(store: Store, repository: Repository) -> None:
    put(store, repository, *(new(sighting(slot, relative=size)) for slot, size in ((10, -0.05), (20, 0.02))))
    found = store.findings.changes(repository, selection=Selection(minimum_effect=0.03))
    assert [one.suspect_range.slot for one in found] == [10]


def test_a_failed_transaction_leaves_no_trace(store: Store, repository: Repository) -> None:
    (key,) = put(store, repository, new(sighting()))

    def decide_twice() -> None:
        with store.transaction():
            store.findings.triage.decide([key], Status.HIDDEN, "Ada")
            store.findings.triage.decide([key, 99], Status.ACKNOWLEDGED, "Ada")

    with pytest.raises(InputError):
        decide_twice()
    assert store.findings.points([key])[0].status is Status.NEW
    assert store.findings.triage.entries() == []


def test_the_log_counts_on_over_all_decisions(store: Store, repository: Repository) -> None:
    ids = put(store, repository, new(sighting()), new(sighting(trace=8)))
    first = store.findings.triage.decide(ids, Status.HIDDEN, "Ada", "noise", time=moment(1e9))
    second = store.findings.triage.undo(ids[:1], "Bob", time=moment(2e9))
    assert [entry.id for entry in (*first, *second)] == [1, 2, 3]
    assert store.findings.triage.entries() == [*first, *second]
    assert (second[0].action, second[0].undoes, second[0].time) == (Action.UNDO, 1, moment(2e9))


def test_an_unknown_change_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="there is no change 5"):
        store.findings.change(5)


@pytest.mark.parametrize("text", ["A%25B", "a_25", "%", "name=a"])
def test_a_text_is_taken_literally_and_without_case(store: Store, repository: Repository, text: str) -> None:
    put(store, repository, new(sighting()))
    found = store.findings.changes(repository, selection=Selection(text=text))
    assert bool(found) is (text.lower() in ",name=a%25b,")


@pytest.mark.parametrize("text", ["Östlund", "östlund", "ÖSTLUND", "Åsa Östlund", "ÅSA"])
def test_letters_beyond_ascii_are_found_whatever_their_case(store: Store, repository: Repository, text: str) -> None:
    slots = store.commits.add(repository, [Commit("f" * 40, "Åsa Östlund", "", moment(1e9), "")])
    put(store, repository, new(sighting(slots["f" * 40])))
    assert len(store.findings.changes(repository, selection=Selection(text=text))) == 1


def test_runs_of_alerts_come_back_newest_first(store: Store) -> None:
    run = AlertRun("a", moment(1e9), 0.5, complete=True, traces=3, kept=1, added=2, lost=0)
    assert store.findings.alert_runs.record([run, replace(run, alert="b")]) == 1
    assert store.findings.alert_runs.record([run]) == 2
    assert [(one.alert, one.run) for one in store.findings.alert_runs.runs()] == [("a", 2), ("b", 1), ("a", 1)]
    assert store.findings.alert_runs.runs("b") == [replace(run, alert="b", run=1)]


def test_alerts_are_stored_as_given(store: Store) -> None:
    store.findings.alerts_in_force.replace_applied({"a": "1", "b": "2"})
    store.findings.alerts_in_force.replace_applied({"b": "3", "c": "4"})
    assert store.findings.alerts_in_force.applied() == {"b": "3", "c": "4"}


def test_runs_over_events_are_forgotten_sooner_than_runs_over_everything(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knickpoint.store.findings.alert_definitions._EVENTS_KEPT", 3)
    monkeypatch.setattr("knickpoint.store.findings.alert_definitions._RUNS_KEPT", 8)
    run = AlertRun("a", moment(1e9), 0.5, complete=True, traces=3, kept=1, added=2, lost=0)
    for number in range(12):
        store.findings.alert_runs.record([replace(run, complete=number % 6 == 0)])
    assert [(one.run, one.complete) for one in store.findings.alert_runs.runs("a")] == [
        (12, False),
        (11, False),
        (10, False),
        (7, True),
    ]
    assert [one.run for one in store.findings.alert_runs.runs("a", complete=True)] == [7]


def test_why_an_alert_could_not_run_is_kept(store: Store) -> None:
    run = AlertRun("a", moment(1e9), 0.5, complete=True, traces=3, kept=1, added=2, lost=0, failure="no such method")
    store.findings.alert_runs.record([run])
    assert store.findings.alert_runs.runs("a")[0].failure == "no such method"


@pytest.mark.parametrize("name", ["quick", "Quick", "qui_k", "qu%", 'say "quick"', "küche"])
def test_the_fates_of_an_alert_are_its_own(store: Store, repository: Repository, name: str) -> None:
    put(store, repository, new(sighting(trace=8, alert=name + "x")), new(sighting(trace=9, alert=name)))
    put(store, repository, new(sighting(trace=10, alert="quack")))
    assert sum(store.findings.count_states(repository, name).values()) == 1
    assert store.findings.count_states(repository, name.swapcase()) == {}


def test_digests_of_traces_come_back_and_others_are_nothing(store: Store) -> None:
    ids = np.array([3, 1023, 1024, 5000], dtype=np.int64)
    store.findings.digests.set("a", ids, np.array([1, 2, 3, 2**64 - 1], dtype=np.uint64))
    store.findings.digests.set("a", ids[1:2], np.array([7], dtype=np.uint64))
    wanted = np.array([3, 4, 1023, 1024, 5000, 9999], dtype=np.int64)
    assert store.findings.digests.get("a", wanted).tolist() == [1, 0, 7, 3, 2**64 - 1, 0]
    assert not store.findings.digests.get("b", wanted).any()
    nothing = np.empty(0, dtype=np.int64)
    assert store.findings.digests.get("a", nothing).size == 0
    store.findings.digests.forget("a")
    assert not store.findings.digests.get("a", wanted).any()


def test_damaged_digests_are_none_and_those_of_other_chunks_stay(store: Store) -> None:
    ids = np.array([3, 1024], dtype=np.int64)
    store.findings.digests.set("a", ids, np.array([1, 2], dtype=np.uint64))
    with store.transaction() as connection:
        data = bytearray(connection.execute(select(judged.c.digests).where(judged.c.chunk == 0)).scalar_one())
        data[3 * 8] ^= 4
        connection.execute(update(judged).where(judged.c.chunk == 0).values(digests=bytes(data)))
    assert store.findings.digests.get("a", ids).tolist() == [0, 2]
    store.findings.digests.set("a", ids[:1], np.array([7], dtype=np.uint64))
    assert store.findings.digests.get("a", ids).tolist() == [7, 2]


def test_digests_of_an_older_version_have_no_checksum(store: Store) -> None:
    ids = np.array([3], dtype=np.int64)
    store.findings.digests.set("a", ids, np.array([1], dtype=np.uint64))
    with store.transaction() as connection:
        data = bytes(connection.execute(select(judged.c.digests)).scalar_one())
        connection.execute(update(judged).values(digests=data[: 1024 * 8]))
    assert store.findings.digests.get("a", ids).tolist() == [1]


def test_a_ticket_put_twice_is_one(store: Store, repository: Repository) -> None:
    store.findings.tickets.put(repository, [Ticket("T-1", "name=a", 3)])
    store.findings.tickets.put(repository, [Ticket("T-1", "name=a", 3, url="u", open=False), Ticket("T-2", "", 4)])
    assert store.findings.tickets.all(repository) == [
        Ticket("T-1", "name=a", 3, url="u", open=False),
        Ticket("T-2", "", 4),
    ]
    store.findings.tickets.remove(repository, "T-1")
    assert [ticket.name for ticket in store.findings.tickets.all(repository)] == ["T-2"]


def test_the_whole_way_from_results_to_decisions(store: Store, repository: Repository) -> None:
    """Run, list, decide, split, merge, undo and run again, on either database."""
    with store.transaction():
        for slot in range(20):
            value = 10.0 if slot < 10 else 15.0
            results = [Result({"name": name}, (value + k,), "ms") for k, name in enumerate(("a", "b", "c"))]
            run = RunReport(ResultTable.of(results))
            store.runs.write(repository, [RunWrite(slot, run, str(slot), str(slot), "test")])
    alerts = [Alert("all", method="threshold")]
    assert run_alerts(store, alerts).new == 3
    assert run_alerts(store, alerts).nothing_new
    (change,) = store.findings.changes(repository, processed=False)
    assert change.suspect_range == SuspectRange("main", 9, 10)
    ids = [member.id for member in change.members]
    decide(store, Targets(points=(ids[0],)), who="Ada", status=Status.HIDDEN)
    split(store, Targets(points=(ids[1],)), who="Ada")
    assert [one.traces for one in store.findings.changes(repository, sort=Sort.TRACES)] == [2, 1]
    assert put_tickets(store, repository, [Ticket("T-1", "name=c", 10)]) == 1
    merge(store, Targets(tuple(one.id for one in store.findings.changes(repository))), who="Ada")
    (merged,) = store.findings.changes(repository)
    assert merged.counts == {Status.HIDDEN: 1, Status.NEW: 1, Status.TICKET: 1}
    undo(store, Targets(points=tuple(ids)), who="Ada")
    undo(store, Targets(points=tuple(ids)), who="Ada")
    assert run_alerts(store, alerts).nothing_new
    assert {point.status for point in store.findings.points(ids)} == {Status.NEW}
