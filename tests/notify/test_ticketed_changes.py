"""Tickets of changes that end, merge or split: from the values to the ticket of each tracker, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.examples import in_the_long_run
from tests.notify.ticketed import Ticketed, ticketed
from tests.notify.tracker_world import KINDS
from tests.watch.conftest import levels

from knickpoint.instance.trackers import create_ticket
from knickpoint.model.notification import FixVerdict
from knickpoint.store.findings.tickets import TrackerCursor
from knickpoint.watch.triage.decisions import Targets, decide, merge, split, undo_last
from knickpoint.watch.triage.tickets import match_tickets

FIX = 40
"""The commit that fixes parse."""

PARSE = levels((20, 10.0), (20, 12.0), (20, 10.0))


def commit(slot: int) -> str:
    return f"{slot:040d}"


@pytest.fixture(params=[KINDS[0], *in_the_long_run(*KINDS[1:])])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tracked(kind: str, tmp_path: Path) -> Iterator[Ticketed]:
    """Return an instance whose alert makes tickets."""
    with ticketed(tmp_path / "instance", kind) as made:
        yield made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["both", *in_the_long_run("worse", "up")])
def test_a_change_that_is_fixed_closes_its_ticket_with_the_fixing_revision(
    tmp_path: Path, kind: str, direction: str
) -> None:
    with ticketed(tmp_path / "i", kind, alert=f'notify = ["code"]\ndirection = "{direction}"') as tracked:
        tracked.feed(parse=PARSE[:20])
        tracked.feed(parse=PARSE[20:FIX], first=20)
        (ticket,) = tracked.tickets
        assert (ticket.open, tracked.fields(ticket).failing) == (True, commit(20))
        tracked.feed(parse=PARSE[FIX:44], first=FIX)
        assert (ticket.open, tracked.fields(ticket).fixed) == (False, commit(FIX))
        said, verdict = ticket.comments
        assert "Fixed: parse (kind=p) is back at the earlier level with 0000000000, after 20 % slower" in said
        assert "the measured traces are back at the level before the change" in verdict
        (known,) = tracked.known()
        assert (known.open, known.fixed, known.verdict) == (False, commit(FIX), FixVerdict.FIXED)
        tracked.feed(parse=PARSE[44:], first=44)
        assert len(ticket.comments) == 2


def test_a_ticket_is_closed_here_as_soon_as_it_is_closed_there(tracked: Ticketed) -> None:
    tracked.feed(parse=PARSE[:20])
    tracked.feed(parse=PARSE[20:FIX], first=20)
    tracked.world.measure({"parse": PARSE[FIX:44]}, first=FIX)
    tracked.announce()
    (row,) = tracked.store.findings.tickets.all(tracked.world.repository)
    assert not row.open


@pytest.mark.parametrize("direction", ["better", "up"])
def test_an_improvement_that_is_lost_closes_its_ticket_without_a_fixing_revision(
    tmp_path: Path, kind: str, direction: str
) -> None:
    with ticketed(tmp_path / "i", kind, alert=f'notify = ["code"]\ndirection = "{direction}"') as tracked:
        tracked.world.units["parse"] = "ops/s"
        tracked.feed(parse=PARSE[:20])
        tracked.feed(parse=PARSE[20:FIX], first=20)
        (ticket,) = tracked.tickets
        assert ticket.title.startswith("project: Improvement: ")
        tracked.feed(parse=PARSE[FIX:], first=FIX)
        assert (ticket.open, tracked.fields(ticket).fixed, len(ticket.comments)) == (False, "", 1)
        assert "Improvement lost: parse (kind=p) is back at the earlier level" in ticket.comments[0]
        assert tracked.verdicts() == [FixVerdict.NONE]


def test_a_change_that_was_over_when_it_was_announced_makes_no_ticket(tracked: Ticketed) -> None:
    tracked.feed(parse=PARSE[:20])
    tracked.feed(parse=PARSE[20:], first=20)
    assert tracked.tickets == []


@pytest.mark.parametrize(
    ("place", "by_person"),
    [
        (23, False),
        (32, True),
        pytest.param(23, True, marks=pytest.mark.long),
        pytest.param(32, False, marks=pytest.mark.long),
    ],
)
def test_changes_that_are_merged_keep_their_tickets_and_each_follows_its_own_findings(
    tmp_path: Path, place: int, kind: str, *, by_person: bool
) -> None:
    with ticketed(tmp_path / "i", kind, alert="" if by_person else 'notify = ["code"]') as tracked:
        render = levels((place, 10.0), (60 - place, 14.0))
        tracked.feed(parse=PARSE[:20], render=render[:20])
        tracked.feed(parse=PARSE[20:FIX], render=render[20:FIX], first=20)
        if by_person:
            for name in ("parse", "render"):
                targets = Targets((tracked.point(name).change_id,))
                made = create_ticket(tracked.instance, targets, "code", who="ann")
                decide(tracked.store, targets, who="ann", ticket=made.name)
        first, second = sorted(tracked.tickets, key=lambda each: tracked.fields(each).failing)
        merge(
            tracked.store,
            Targets((tracked.point("parse").change_id, tracked.point("render").change_id)),
            who="ann",
        )
        tracked.round()
        assert tracked.point("parse").change_id == tracked.point("render").change_id
        assert [tracked.fields(each).failing for each in (first, second)] == [commit(20), commit(place)]

        # One is fixed: its ticket says so and is closed, the other stays.
        tracked.feed(parse=PARSE[FIX:50], render=render[FIX:50], first=FIX)
        assert [each.open for each in (first, second)] == [False, True]
        assert "Fixed: parse" in first.comments[0]
        assert second.comments == []
        assert tracked.verdicts() == [FixVerdict.FIXED, FixVerdict.NONE]

        # A person closes the other one: its verdict is about its own findings.
        tracked.server.touch(second, open=False, fixed=commit(FIX))
        tracked.feed(parse=PARSE[50:], render=render[50:], first=50)
        assert tracked.verdicts() == [FixVerdict.FIXED, FixVerdict.NOT_FIXED]


@pytest.mark.parametrize(
    ("apart", "by_person"),
    [
        ("parse", False),
        ("render", True),
        pytest.param("parse", True, marks=pytest.mark.long),
        pytest.param("render", False, marks=pytest.mark.long),
    ],
)
def test_both_parts_of_a_split_keep_the_ticket_which_is_closed_when_both_are_over(
    tmp_path: Path, apart: str, kind: str, *, by_person: bool
) -> None:
    with ticketed(tmp_path / "i", kind, alert="" if by_person else 'notify = ["code"]') as tracked:
        render = levels((20, 10.0), (30, 14.0), (10, 10.0))
        tracked.feed(parse=PARSE[:20], render=render[:20])
        tracked.feed(parse=PARSE[20:30], render=render[20:30], first=20)
        if by_person:
            targets = Targets((tracked.point("parse").change_id,))
            made = create_ticket(tracked.instance, targets, "code", who="ann")
            decide(tracked.store, targets, who="ann", ticket=made.name)
        (ticket,) = tracked.tickets
        before = tracked.fields(ticket)
        split(tracked.store, Targets(points=(tracked.point(apart).id,)), who="ann")
        tracked.feed(parse=PARSE[30:FIX], render=render[30:FIX], first=30)
        assert tracked.point("parse").change_id != tracked.point("render").change_id
        assert {tracked.point(name).linked_ticket for name in ("parse", "render")} == {tracked.known()[0].name}
        assert (tracked.tickets, tracked.fields(ticket)) == ([ticket], before)
        assert len(ticket.comments) == (0 if by_person else 1)  # what was split off is announced like a new change

        # What is fixed is said, and the ticket stays open for the rest.
        tracked.feed(parse=PARSE[FIX:50], render=render[FIX:50], first=FIX)
        assert "Fixed: parse" in ticket.comments[-1]
        assert ticket.open

        # A person closes it: the verdict is about all that it covers.
        tracked.server.touch(ticket, open=False, fixed=commit(FIX))
        tracked.round()
        assert tracked.verdicts() == [FixVerdict.NOT_FIXED]
        tracked.server.touch(ticket, open=True, fixed="")
        tracked.round()
        tracked.feed(parse=PARSE[50:], render=render[50:], first=50)
        assert (ticket.open, tracked.fields(ticket).fixed) == (False, commit(50))
        assert tracked.verdicts() == [FixVerdict.FIXED]


def test_a_part_that_was_split_off_gets_no_second_ticket_but_may_be_linked_to_another(tracked: Ticketed) -> None:
    render = levels((20, 10.0), (40, 14.0))
    tracked.feed(parse=PARSE[:20], render=render[:20])
    tracked.feed(parse=PARSE[20:30], render=render[20:30], first=20)
    split(tracked.store, Targets(points=(tracked.point("render").id,)), who="ann")
    for name in ("parse", "render"):
        again = create_ticket(tracked.instance, Targets((tracked.point(name).change_id,)), "code", who="ann")
        assert again.name == tracked.known()[0].name
    decide(tracked.store, Targets(points=(tracked.point("render").id,)), who="ann", ticket="ELSE-1")
    tracked.feed(parse=PARSE[30:], render=render[30:], first=30)
    (ticket,) = tracked.tickets
    assert (ticket.open, tracked.verdicts()) == (False, [FixVerdict.FIXED])


def test_an_undone_merge_and_an_undone_split_leave_the_tickets_as_they_were(tracked: Ticketed) -> None:
    render = levels((32, 10.0), (28, 14.0))
    tracked.feed(parse=PARSE[:20], sort=PARSE[:20], render=render[:20])
    tracked.feed(parse=PARSE[20:FIX], sort=PARSE[20:FIX], render=render[20:FIX], first=20)
    links = {name: tracked.point(name).linked_ticket for name in ("parse", "sort", "render")}
    merge(tracked.store, Targets((tracked.point("parse").change_id, tracked.point("render").change_id)), who="ann")
    tracked.round()
    undo_last(tracked.store, who="ann")
    tracked.round()
    split(tracked.store, Targets(points=(tracked.point("sort").id,)), who="ann")
    tracked.round()
    undo_last(tracked.store, who="ann")
    tracked.round()
    assert {name: tracked.point(name).linked_ticket for name in links} == links
    assert [tracked.fields(each).failing for each in tracked.tickets] == [commit(20), commit(32)]


def test_a_ticket_that_the_store_lost_before_its_change_was_located_is_known_and_corrected(tracked: Ticketed) -> None:
    for slot in range(0, 48, 3):
        tracked.world.put(slot, {"parse": 10.0 if slot < 14 else 12.0})
    tracked.round()
    (ticket,) = tracked.tickets
    assert tracked.fields(ticket).failing == commit(15)

    # It is lost here, and the change is located.
    findings = tracked.store.findings
    (known,) = tracked.known()
    findings.tracker_tickets.forget(known)
    findings.tickets.remove(tracked.world.repository, known.name)
    findings.tracker_tickets.set_cursor("code", TrackerCursor())
    match_tickets(tracked.store, tracked.world.repository)
    for slot in (13, 14):
        tracked.world.put(slot, {"parse": 10.0 if slot < 14 else 12.0})
    tracked.announce()
    assert tracked.point("parse").linked_ticket == ""

    tracked.server.touch(ticket)
    tracked.round()
    assert tracked.point("parse").linked_ticket == known.name
    assert tracked.fields(ticket).failing == commit(14)


@pytest.mark.parametrize("apart", [False, True])
def test_the_improvement_at_the_place_of_a_fixed_change_does_not_count_for_its_ticket(
    tracked: Ticketed, *, apart: bool
) -> None:
    render = levels((20, 14.0), (40, 10.0))
    tracked.feed(parse=PARSE[:20], render=render[:20])
    tracked.feed(parse=PARSE[20:FIX], render=render[20:FIX], first=20)
    (ticket,) = tracked.tickets
    assert tracked.point("render").linked_ticket
    if apart:
        split(tracked.store, Targets(points=(tracked.point("render").id,)), who="ann")
    tracked.feed(parse=PARSE[FIX:], render=render[FIX:], first=FIX)
    assert not ticket.open
    assert tracked.verdicts() == [FixVerdict.FIXED]
