from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.instance.trackers import TicketRow, import_tickets
from knickpoint.model.change_point import Action, Condition, Status
from knickpoint.model.errors import InputError, QueryError
from knickpoint.model.statement import Change, ChangeDirection
from knickpoint.store import EventKind
from knickpoint.store.findings.change_list import Sort
from knickpoint.store.findings.selection import Selection
from knickpoint.store.findings.tickets import Ticket
from knickpoint.watch.triage.decisions import Targets, decide, merge, read_targets, split, undo
from knickpoint.watch.triage.tickets import put_tickets

from .conftest import World, copied, levels

ME = "Ada"


@pytest.fixture(scope="module")
def busy_file(empty_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a world with two places: parse, print and read step at commit 10, pack gets faster at commit 20."""
    place = tmp_path_factory.mktemp("busy") / "store.db"
    world = copied(empty_world, place)
    world.measure(
        {
            "parse": levels((10, 20.0), (20, 25.0)),
            "print": levels((10, 8.0), (20, 16.0)),
            "read": levels((10, 5.0), (20, 5.5)),
            "pack": levels((20, 9.0), (10, 6.0)),
        }
    )
    world.run()
    world.store.outbox.claim([EventKind.CHANGES_UPDATED], "test", 600, 10)
    world.store.close()
    return place


@pytest.fixture
def busy(busy_file: Path, tmp_path: Path) -> Iterator[World]:
    world = copied(busy_file, tmp_path / "busy.db")
    yield world
    world.store.close()


def listed(world: World, *, processed: bool | None = None, selection: Selection | None = None) -> list[Change]:
    return world.store.findings.changes(world.repository, processed=processed, selection=selection)


def first_place(world: World) -> Change:
    return next(change for change in listed(world) if change.suspect_range.slot == 10)


def names(change: Change) -> list[str]:
    return [member.key.split(",")[1].removeprefix("benchmark=") for member in change.members]


def test_the_unprocessed_list_is_sorted_by_hazard(busy: World) -> None:
    assert [(change.suspect_range.slot, names(change)) for change in listed(busy, processed=False)] == [
        (10, ["print", "parse", "read"]),
        (20, ["pack"]),
    ]


def test_deciding_takes_a_change_off_the_list_and_onto_the_other(busy: World) -> None:
    change = first_place(busy)
    decide(busy.store, Targets((change.id,)), who=ME, status=Status.ACKNOWLEDGED, note="seen")
    assert [change.suspect_range.slot for change in listed(busy, processed=False)] == [20]
    (processed,) = listed(busy, processed=True)
    assert processed.counts == {Status.ACKNOWLEDGED: 3}
    assert {(member.status, member.note) for member in processed.members} == {(Status.ACKNOWLEDGED, "seen")}


def test_some_members_can_be_hidden_and_the_rest_stays_to_be_dealt_with(busy: World) -> None:
    hidden = busy.points("read")[0]
    decide(busy.store, Targets(points=(hidden.id,)), who=ME, status=Status.HIDDEN)
    (left,) = [change for change in listed(busy, processed=False) if change.suspect_range.slot == 10]
    assert names(left) == ["print", "parse"]
    assert left.counts == {Status.NEW: 2, Status.HIDDEN: 1}
    assert [names(change) for change in listed(busy, processed=True)] == [["read"]]


def test_deciding_about_the_rest_leaves_what_was_decided_before(busy: World) -> None:
    change = first_place(busy)
    decide(busy.store, Targets(points=(busy.points("read")[0].id,)), who=ME, status=Status.HIDDEN)
    decide(busy.store, Targets((change.id,)), who=ME, status=Status.ACKNOWLEDGED)
    assert first_place(busy).counts == {Status.ACKNOWLEDGED: 2, Status.HIDDEN: 1}


def test_a_decision_that_is_asked_again_is_made_once(busy: World) -> None:
    ids = tuple(point.id for name in ("parse", "print", "read") for point in busy.points(name))
    made = decide(busy.store, Targets(points=ids), who=ME, status=Status.HIDDEN, note="noise")
    again = decide(busy.store, Targets(points=ids), who=ME, status=Status.HIDDEN, note="noise")
    assert again.decisions == made.decisions
    assert tuple(busy.store.findings.triage.entries()) == made.decisions


@pytest.mark.parametrize(
    "asked",
    [
        {"who": "Bob", "status": Status.HIDDEN, "note": "noise"},
        {"who": ME, "status": Status.HIDDEN, "note": "the machine"},
        {"who": ME, "status": Status.ACKNOWLEDGED, "note": "noise"},
    ],
    ids=["another person", "another note", "another status"],
)
def test_a_decision_that_differs_is_a_new_one(busy: World, asked: dict[str, Any]) -> None:
    targets = Targets(points=(busy.points("parse")[0].id,))
    decide(busy.store, targets, who=ME, status=Status.HIDDEN, note="noise")
    decide(busy.store, targets, who=asked.pop("who"), **asked)
    assert len(busy.store.findings.triage.entries()) == 2


def test_a_decision_about_one_finding_more_is_a_new_one_about_all(busy: World) -> None:
    parse, read = busy.points("parse")[0].id, busy.points("read")[0].id
    decide(busy.store, Targets(points=(read,)), who=ME, status=Status.HIDDEN)
    assert len(decide(busy.store, Targets(points=(parse, read)), who=ME, status=Status.HIDDEN).decisions) == 2
    assert len(busy.store.findings.triage.entries()) == 3


def test_a_decision_that_was_taken_back_can_be_made_again(busy: World) -> None:
    targets = Targets(points=(busy.points("parse")[0].id,))
    for act in (decide, undo, decide):
        act(busy.store, targets, who=ME, **({"status": Status.HIDDEN} if act is decide else {}))
    assert [entry.action for entry in busy.store.findings.triage.entries()] == [
        Action.DECIDE,
        Action.UNDO,
        Action.DECIDE,
    ]
    assert busy.points("parse")[0].status is Status.HIDDEN


def test_one_undo_takes_back_a_decision_that_was_asked_twice(busy: World) -> None:
    targets = Targets(points=(busy.points("parse")[0].id,))
    for _ in range(2):
        decide(busy.store, targets, who=ME, status=Status.HIDDEN)
    undo(busy.store, targets, who=ME)
    assert busy.points("parse")[0].status is Status.NEW


def test_a_decision_after_the_finding_moved_is_a_new_one(world: World) -> None:
    gap = [float("nan")] * 6
    world.measure({"parse": levels((10, 20.0)) + gap + levels((10, 25.0))})
    world.run()
    targets = Targets(points=(world.points("parse")[0].id,))
    decide(world.store, targets, who=ME, status=Status.HIDDEN)
    world.put(12, {"parse": 20.0})
    assert world.run().moved == 1
    decide(world.store, targets, who=ME, status=Status.HIDDEN)
    first, second = world.store.findings.triage.entries()
    assert first.suspect_range != second.suspect_range


def test_a_triaged_finding_stays_triaged_over_another_run(busy: World) -> None:
    decide(busy.store, Targets((first_place(busy).id,)), who=ME, status=Status.HIDDEN)
    busy.measure({"parse": levels((5, 25.0))}, first=30)
    assert busy.run().new == 0
    assert first_place(busy).counts == {Status.HIDDEN: 3}


def test_a_point_that_moves_takes_its_status_along(world: World) -> None:
    gap = [float("nan")] * 6
    world.measure({"parse": levels((10, 20.0)) + gap + levels((10, 25.0))})
    world.run()
    decide(world.store, Targets(points=(world.points("parse")[0].id,)), who=ME, status=Status.HIDDEN)
    world.put(12, {"parse": 20.0})
    assert world.run().moved == 1
    assert [(point.suspect_range.previous, point.status) for point in world.points("parse")] == [(12, Status.HIDDEN)]


def test_a_ticket_by_itself_links(busy: World) -> None:
    decide(busy.store, Targets((first_place(busy).id,)), who=ME, ticket="PERF-7")
    assert {(member.status, member.ticket) for member in first_place(busy).members} == {(Status.TICKET, "PERF-7")}


def test_the_status_ticket_without_a_ticket_is_refused_and_changes_nothing(busy: World) -> None:
    with pytest.raises(InputError, match="needs the key of a ticket"):
        decide(busy.store, Targets((first_place(busy).id,)), who=ME, status=Status.TICKET)
    assert busy.store.findings.triage.entries() == []
    assert first_place(busy).counts == {Status.NEW: 3}


def test_an_unknown_member_refuses_the_whole_decision(busy: World) -> None:
    with pytest.raises(InputError, match="no change point 999"):
        decide(busy.store, Targets(points=(busy.points("read")[0].id, 999)), who=ME, status=Status.HIDDEN)
    assert busy.store.findings.triage.entries() == []


def test_an_unknown_change_is_refused(busy: World) -> None:
    with pytest.raises(InputError, match="no change 999"):
        decide(busy.store, Targets((999,)), who=ME, status=Status.HIDDEN)


def test_a_decision_without_a_name_is_refused(busy: World) -> None:
    with pytest.raises(InputError, match="needs the name"):
        decide(busy.store, Targets((first_place(busy).id,)), who=" ", status=Status.HIDDEN)


def test_a_decision_that_changes_nothing_is_refused(busy: World) -> None:
    with pytest.raises(InputError, match="changes nothing"):
        decide(busy.store, Targets((first_place(busy).id,)), who=ME)


def test_assigning_leaves_the_status(busy: World) -> None:
    decide(busy.store, Targets((first_place(busy).id,)), who=ME, assignee="Bob")
    assert {(member.status, member.assignee) for member in first_place(busy).members} == {(Status.NEW, "Bob")}
    assert len(listed(busy, selection=Selection(assignee="Bob"))) == 1


def test_the_log_has_an_entry_a_member_with_the_place_of_the_decision(busy: World) -> None:
    point = busy.points("pack")[0]
    decide(busy.store, Targets(points=(point.id,)), who=ME, status=Status.HIDDEN, note="noise")
    (entry,) = busy.store.findings.triage.entries([point.id])
    assert (entry.action, entry.status, entry.who, entry.note) == (Action.DECIDE, Status.HIDDEN, ME, "noise")
    assert entry.suspect_range == point.suspect_range


def test_undo_restores_the_decision_before_and_is_an_entry_itself(busy: World) -> None:
    targets = Targets(points=(busy.points("pack")[0].id,))
    decide(busy.store, targets, who=ME, status=Status.ACKNOWLEDGED, note="one")
    decide(busy.store, targets, who=ME, status=Status.HIDDEN, note="two")
    undo(busy.store, targets, who="Bob")
    assert [(point.status, point.note) for point in busy.points("pack")] == [(Status.ACKNOWLEDGED, "one")]
    undo(busy.store, targets, who="Bob")
    assert [(point.status, point.note) for point in busy.points("pack")] == [(Status.NEW, "")]
    assert [entry.action for entry in busy.store.findings.triage.entries()] == [
        Action.DECIDE,
        Action.DECIDE,
        Action.UNDO,
        Action.UNDO,
    ]
    assert undo(busy.store, targets, who="Bob").decisions == ()


def test_a_decision_after_an_undo_can_be_undone(busy: World) -> None:
    targets = Targets(points=(busy.points("pack")[0].id,))
    decide(busy.store, targets, who=ME, status=Status.ACKNOWLEDGED)
    undo(busy.store, targets, who=ME)
    decide(busy.store, targets, who=ME, status=Status.HIDDEN)
    undo(busy.store, targets, who=ME)
    assert busy.points("pack")[0].status is Status.NEW


def test_members_split_off_make_a_change_of_their_own_and_stay_apart(busy: World) -> None:
    point = busy.points("read")[0]
    split(busy.store, Targets(points=(point.id,)), who=ME)
    busy.measure({"read": levels((5, 5.5))}, first=30)
    busy.run()
    assert sorted(sorted(names(change)) for change in listed(busy) if change.suspect_range.slot == 10) == [
        ["parse", "print"],
        ["read"],
    ]


def test_undoing_a_split_joins_the_members_again(busy: World) -> None:
    before = first_place(busy)
    targets = Targets(points=(busy.points("read")[0].id,))
    split(busy.store, targets, who=ME)
    undo(busy.store, targets, who=ME)
    assert first_place(busy) == before


def test_merged_changes_stay_one_and_take_in_what_appears_there(busy: World) -> None:
    merge(busy.store, Targets(tuple(change.id for change in listed(busy))), who=ME)
    busy.measure({"send": levels((20, 3.0), (10, 5.0))})
    busy.run()
    (change,) = listed(busy)
    assert sorted(names(change)) == ["pack", "parse", "print", "read", "send"]
    assert (change.suspect_range.previous, change.suspect_range.slot) == (9, 20)


def test_one_change_that_nothing_joins_is_not_merged_and_nothing_is_logged(busy: World) -> None:
    place = first_place(busy)
    with pytest.raises(InputError, match=f"change {place.id} cannot be merged alone") as raised:
        merge(busy.store, Targets(changes=(place.id,)), who=ME)
    assert raised.value.remedy == "Name two changes or more, as in knick triage R12 R14 --merge."
    assert busy.store.findings.triage.entries() == []
    assert first_place(busy) == place


def test_a_change_that_was_split_off_is_merged_with_the_others_of_its_place(busy: World) -> None:
    before = held(busy)
    read = busy.points("read")[0].id
    split(busy.store, Targets(points=(read,)), who=ME)
    merge(busy.store, Targets(changes=(held(busy)[read],)), who=ME)
    assert len(set(held(busy).values())) == len(set(before.values()))


def held(world: World) -> dict[int, int]:
    """Return the change of each finding, by id."""
    return {member.id: change.id for change in listed(world) for member in change.members}


def test_an_undone_merge_gives_back_the_change_with_its_id_and_decisions(busy: World) -> None:
    before = held(busy)
    pack = busy.points("pack")[0]
    decide(busy.store, Targets(points=(pack.id,)), who=ME, status=Status.HIDDEN, note="noise")
    merge(busy.store, Targets(tuple(set(before.values()))), who=ME)
    assert len(set(held(busy).values())) == 1
    undo(busy.store, Targets(tuple(set(held(busy).values()))), who=ME)
    assert held(busy) == before
    assert [(point.status, point.note) for point in busy.points("pack")] == [(Status.HIDDEN, "noise")]


def test_the_id_comes_back_when_what_was_decided_after_the_merge_is_undone_first(busy: World) -> None:
    before = held(busy)
    merge(busy.store, Targets(tuple(set(before.values()))), who=ME)
    decide(busy.store, Targets(points=tuple(before)), who=ME, status=Status.HIDDEN)
    busy.run()
    undo(busy.store, Targets(points=tuple(before)), who=ME)
    undo(busy.store, Targets(points=tuple(before)), who=ME)
    assert held(busy) == before


def test_only_an_undone_split_or_merge_reads_the_places_of_all_findings(busy: World, asked: list[str]) -> None:
    everything = Targets(points=tuple(held(busy)))
    decide(busy.store, everything, who=ME, status=Status.HIDDEN)
    asked.clear()
    undo(busy.store, everything, who=ME)
    assert not [statement for statement in asked if "JOIN line" in statement]
    merge(busy.store, everything, who=ME)
    asked.clear()
    undo(busy.store, everything, who=ME)
    assert [statement for statement in asked if "JOIN line" in statement]


def test_a_merge_outlives_an_undone_decision_about_one_of_its_members(busy: World) -> None:
    merge(busy.store, Targets(tuple(set(held(busy).values()))), who=ME)
    (joined,) = [point.id for point in busy.points("pack")]
    decide(busy.store, Targets(points=(joined,)), who=ME, status=Status.HIDDEN)
    undo(busy.store, Targets(points=(joined,)), who=ME)
    assert len(set(held(busy).values())) == 1
    undo(busy.store, Targets(points=(joined,)), who=ME)
    assert len(set(held(busy).values())) == 2


def test_one_undo_takes_back_states_and_places_that_differ(busy: World) -> None:
    first, second = busy.points("parse")[0].id, busy.points("pack")[0].id
    both = Targets(points=(first, second))
    decide(busy.store, Targets(points=(first,)), who=ME, status=Status.ACKNOWLEDGED, note="wanted")
    decide(busy.store, both, who=ME, status=Status.HIDDEN, note="noise")
    undo(busy.store, both, who=ME)
    states = {point.id: (point.status, point.note) for point in busy.store.findings.points(both.points)}
    assert states == {first: (Status.ACKNOWLEDGED, "wanted"), second: (Status.NEW, "")}


def test_an_id_that_others_hold_is_not_taken_from_them(busy: World) -> None:
    (pack,), print_ = [point.id for point in busy.points("pack")], busy.points("print")[0].id
    split(busy.store, Targets(points=(print_,)), who=ME)
    merge(busy.store, Targets(points=(pack, print_)), who=ME)
    undo(busy.store, Targets(points=(print_,)), who=ME)
    undo(busy.store, Targets(points=(print_,)), who=ME)
    undo(busy.store, Targets(points=(pack,)), who=ME)
    assert sorted(sorted(names(change)) for change in listed(busy)) == [["pack"], ["parse", "print", "read"]]
    assert len(set(held(busy).values())) == 2


def test_an_undone_merge_leaves_the_merge_before_it(busy: World) -> None:
    (pack,), parse = [point.id for point in busy.points("pack")], busy.points("parse")[0].id
    merge(busy.store, Targets(points=(parse, pack)), who=ME)
    merge(busy.store, Targets(points=(parse,)), who=ME)
    undo(busy.store, Targets(points=(parse,)), who=ME)
    assert held(busy)[parse] == held(busy)[pack]


def test_an_undone_merge_gives_findings_beside_it_their_ids_back(busy: World) -> None:
    parse, print_, read = (busy.points(name)[0].id for name in ("parse", "print", "read"))
    split(busy.store, Targets(points=(parse, print_)), who=ME)
    before = held(busy)
    merge(busy.store, Targets(points=(parse,)), who=ME)
    assert held(busy)[parse] == held(busy)[read]
    undo(busy.store, Targets(points=(parse,)), who=ME)
    assert held(busy) == before


@pytest.mark.thorough
@settings(max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_splits_and_merges_that_are_undone_leave_no_trace_of_themselves(busy_file: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory(prefix="triage") as place:
        world = copied(busy_file, Path(place) / "store.db")
        ids = sorted(held(world))
        done: list[tuple[dict[int, int], tuple[int, ...]]] = []
        for _ in range(data.draw(st.integers(1, 4))):
            chosen = Targets(points=tuple(data.draw(st.sets(st.sampled_from(ids), min_size=1))))
            done.append((held(world), chosen.points))
            act = data.draw(st.sampled_from(["split", "merge", "hide"]))
            if act == "hide":
                decide(world.store, chosen, who=ME, status=Status.HIDDEN)
            else:
                {"split": split, "merge": merge}[act](world.store, chosen, who=ME)
        for before, points in reversed(done):
            undo(world.store, Targets(points=points), who=ME)
            assert held(world) == before
        assert {point.status for point in world.store.findings.points(ids)} == {Status.NEW}
        world.store.close()


def test_a_finding_that_a_ticket_covers_counts_as_processed_by_it(busy: World) -> None:
    put_tickets(busy.store, busy.repository, [Ticket("PERF-1", "benchmark=parse", 10)])
    assert busy.points("parse")[0].effective_status is Status.TICKET
    assert first_place(busy).counts == {Status.TICKET: 1, Status.NEW: 2}
    found = listed(busy, selection=Selection(statuses=frozenset({Status.TICKET})))
    assert [names(change) for change in found] == [["parse"]]
    (rest,) = listed(busy, selection=Selection(statuses=frozenset({Status.NEW}), slot=10))
    assert "parse" not in names(rest)


def test_a_decision_stands_before_a_matching_ticket(busy: World) -> None:
    put_tickets(busy.store, busy.repository, [Ticket("PERF-1", "benchmark=parse", 10)])
    decide(busy.store, Targets(points=(busy.points("parse")[0].id,)), who=ME, status=Status.HIDDEN)
    assert busy.points("parse")[0].effective_status is Status.HIDDEN


def test_a_new_trace_at_a_triaged_place_is_new_by_itself(busy: World) -> None:
    decide(busy.store, Targets((first_place(busy).id,)), who=ME, status=Status.ACKNOWLEDGED)
    busy.measure({"send": levels((10, 3.0), (10, 5.0))})
    busy.run()
    (left,) = [change for change in listed(busy, processed=False) if change.suspect_range.slot == 10]
    assert names(left) == ["send"]
    assert left.counts == {Status.ACKNOWLEDGED: 3, Status.NEW: 1}


def test_a_matching_ticket_takes_a_finding_off_the_list(busy: World) -> None:
    assert put_tickets(busy.store, busy.repository, [Ticket("PERF-1", "benchmark=parse", 10)]) == 1
    (left,) = [change for change in listed(busy, processed=False) if change.suspect_range.slot == 10]
    assert names(left) == ["print", "read"]
    assert busy.points("parse")[0].matched_ticket == "PERF-1"


def test_a_ticket_of_an_earlier_commit_matches_nothing_where_the_commit_before_a_change_left_the_line(
    busy: World,
) -> None:
    busy.store.commits.set_line(busy.repository, "main", [*range(9), *range(10, 20)])
    assert put_tickets(busy.store, busy.repository, [Ticket("PERF-1", "benchmark=parse", 5)]) == 0
    assert put_tickets(busy.store, busy.repository, [Ticket("PERF-2", "benchmark=parse", 10)]) == 1


def test_a_ticket_that_came_first_matches_what_is_found_later(world: World) -> None:
    world.measure({"parse": levels((10, 20.0))})
    put_tickets(world.store, world.repository, [Ticket("PERF-1", "", 10)])
    world.measure({"parse": levels((10, 25.0))}, first=10)
    world.run()
    assert listed(world, processed=False) == []
    assert [change.counts for change in listed(world, processed=True)] == [{Status.TICKET: 1}]


def test_a_ticket_keeps_its_change_when_missing_commits_are_measured(world: World) -> None:
    values = [100.0 + 0.2 * (each % 2) if each < 32 else 120.0 + 0.2 * (each % 2) for each in range(60)]
    for each in range(0, 60, 3):
        world.measure({"parse": [values[each]]}, first=each)
    world.run()
    assert put_tickets(world.store, world.repository, [Ticket("PERF-7", "benchmark=parse", 33)]) == 1
    for each in (31, 32):
        world.measure({"parse": [values[each]]}, first=each)
    world.run()
    (point,) = world.points("parse")
    assert (point.suspect_range.previous, point.suspect_range.slot) == (31, 32)
    assert point.matched_ticket == "PERF-7"


def test_a_ticket_that_was_corrected_loses_the_change_of_the_earlier_commit(busy: World) -> None:
    hashes = [each.commit.hash for each in busy.store.commits.get(busy.repository, [10, 11])]
    for commit, matched in zip((hashes[0], hashes[0], hashes[1]), ("PERF-1", "PERF-1", ""), strict=True):
        row = TicketRow("PERF-1", commit, "benchmark=parse", "", open=True, repository="", where="")
        import_tickets(busy.store, [row], replace=True)
        assert busy.points("parse")[0].matched_ticket == matched


def test_of_several_tickets_the_first_one_wins(busy: World) -> None:
    tickets = [Ticket("PERF-2", "benchmark=p*", 10), Ticket("PERF-1", "", 10), Ticket("PERF-3", "", 999)]
    assert put_tickets(busy.store, busy.repository, tickets) == 3
    assert [busy.points(name)[0].matched_ticket for name in ("parse", "print", "read")] == [
        "PERF-2",
        "PERF-2",
        "PERF-1",
    ]


def test_a_ticket_about_another_commit_does_not_match(busy: World) -> None:
    assert put_tickets(busy.store, busy.repository, [Ticket("PERF-1", "", 11)]) == 0


def test_a_ticket_with_a_query_that_cannot_be_read_is_refused(busy: World) -> None:
    with pytest.raises(QueryError):
        put_tickets(busy.store, busy.repository, [Ticket("PERF-1", "a=~(", 10)])
    assert busy.store.findings.tickets.all(busy.repository) == []


def test_a_decision_is_announced(busy: World) -> None:
    decide(busy.store, Targets(points=(busy.points("pack")[0].id,)), who=ME, status=Status.HIDDEN)
    (event,) = busy.store.outbox.claim([EventKind.CHANGES_UPDATED], "worker", 60, 10)
    assert event.payload["decided"] == 1


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        (Selection(text="pack"), [["pack"]]),
        (Selection(text="CHANGE 10"), [["print", "parse", "read"]]),
        (Selection(text="100%"), []),
        (Selection(directions=frozenset({ChangeDirection.IMPROVEMENT})), [["pack"]]),
        (Selection(slot=20), [["pack"]]),
        (Selection(minimum_hazard=0.2), [["print", "parse"], ["pack"]]),
        (Selection(alert="quick", text="read"), [["read"]]),
        (Selection(alert="other"), []),
        (Selection(conditions=frozenset({Condition.GONE})), []),
    ],
)
def test_a_selection_filters_members(busy: World, selection: Selection, found: list[list[str]]) -> None:
    assert [names(change) for change in listed(busy, selection=selection)] == found
    assert busy.store.findings.count(busy.repository, selection=selection) == len(found)


@pytest.mark.parametrize(
    ("sort", "descending", "slots"),
    [
        (Sort.HAZARD, True, [10, 20]),
        (Sort.HAZARD, False, [20, 10]),
        (Sort.COMMIT, True, [20, 10]),
        (Sort.TRACES, True, [10, 20]),
        (Sort.AUTHOR, False, [10, 20]),
        (Sort.SUBJECT, False, [10, 20]),
        (Sort.FOUND, True, [20, 10]),
    ],
)
def test_a_list_is_sorted_as_asked(busy: World, sort: Sort, slots: list[int], *, descending: bool) -> None:
    found = busy.store.findings.changes(busy.repository, sort=sort, descending=descending)
    assert [change.suspect_range.slot for change in found] == slots


def test_a_list_is_cut_into_pages(busy: World) -> None:
    pages = [busy.store.findings.changes(busy.repository, offset=k, limit=1) for k in range(3)]
    assert [[change.suspect_range.slot for change in page] for page in pages] == [[10], [20], []]


def test_the_strongest_members_can_be_had_alone(busy: World) -> None:
    found = busy.store.findings.changes(busy.repository, members=1)
    assert [names(change) for change in found] == [["print"], ["pack"]]
    assert [change.traces for change in found] == [3, 1]


def test_ids_are_read_as_people_write_them() -> None:
    assert read_targets(["12", "R7", "p34"]) == Targets((12, 7), (34,))


@pytest.mark.parametrize("text", ["", "x", "12a", "-1", "P"])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not the id of a change"):
        read_targets([text])
