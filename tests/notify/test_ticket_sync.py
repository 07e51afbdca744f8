"""What people do in a tracker comes back, and a closed ticket is compared with the data, once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.notify.conftest import Reply, serving
from tests.notify.github_server import GitHubServer
from tests.notify.tracker_server import Stored
from tests.notify.tracker_world import COMMIT, World, message, open_channel

from knickpoint.instance.trackers import import_tickets
from knickpoint.model.notification import FixVerdict, TicketFields, TrackerTicket
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.notify.channel import DeliveryError
from knickpoint.notify.trackers.sync import sync_tickets
from knickpoint.notify.trackers.tracker_channel import LABEL, TicketDraft, markdown_block
from knickpoint.store import RunWrite, Store

FIX = f"{25:040d}"


@pytest.fixture
def world(store: Store) -> Iterator[World]:
    with serving(GitHubServer()) as server:
        yield World("github", server, store, open_channel("github", server, store))


def measure(store: Store, value: float, first: int = 25, last: int = 29) -> None:
    """Correct the values from the commit ``first`` on."""
    repository = store.commits.repository("textmill")
    for slot in range(first, last + 1):
        run = RunReport(ResultTable.of([Result({"benchmark": "sort", "os": "linux"}, (value,), "ms")]))
        store.runs.write(repository, [RunWrite(slot, run, str(slot), f"{slot} {value}", "test")])


def closed(world: World, fixed: str = FIX) -> Stored:
    world.channel.send(message())
    world.server.touch(world.ticket, open=False, fixed=fixed)
    return world.ticket


def known(world: World) -> TrackerTicket:
    (ticket,) = world.store.findings.tracker_tickets.all()
    return ticket


def test_state_title_and_assignee_come_back(world: World) -> None:
    world.channel.send(message())
    world.server.touch(world.ticket, title="Sorting is slow", assignee="ada")
    sync_tickets(world.channel, now=0.0)
    assert (known(world).title, known(world).assignee, known(world).open) == ("Sorting is slow", "ada", True)


def test_a_closed_ticket_is_closed_in_the_list_of_tickets(world: World) -> None:
    closed(world)
    sync_tickets(world.channel, now=0.0)
    (row,) = world.store.findings.tickets.all(world.store.commits.repository("textmill"))
    assert not row.open


@pytest.mark.parametrize(
    ("value", "verdict", "words"),
    [(10.0, FixVerdict.FIXED, "**Fixed**"), (20.0, FixVerdict.NOT_FIXED, "**Not fixed**")],
)
def test_a_closed_ticket_is_compared_with_the_data(world: World, value: float, verdict: FixVerdict, words: str) -> None:
    ticket = closed(world)
    measure(world.store, value)
    sync_tickets(world.channel, now=0.0)
    assert known(world).verdict is verdict
    assert [words in comment for comment in ticket.comments] == [True]


def test_a_fix_without_values_is_not_measured_yet_and_later_it_is(world: World) -> None:
    ticket = closed(world, fixed=f"{28:040d}")
    sync_tickets(world.channel, now=0.0)
    assert known(world).verdict is FixVerdict.NOT_MEASURED
    world.server.touch(ticket, fixed=FIX)
    measure(world.store, 10.0)
    sync_tickets(world.channel, now=0.0)
    assert known(world).verdict is FixVerdict.FIXED
    assert len(ticket.comments) == 2


def test_each_verdict_is_one_comment(world: World) -> None:
    ticket = closed(world)
    measure(world.store, 10.0)
    for _ in range(3):
        sync_tickets(world.channel, now=0.0)
    assert len(ticket.comments) == 1


def test_a_verdict_whose_answer_was_lost_is_no_second_comment(world: World) -> None:
    ticket = closed(world)
    world.server.replies = [Reply(500, after=True)]
    with pytest.raises(DeliveryError):
        sync_tickets(world.channel, now=0.0)
    sync_tickets(world.channel, now=0.0)
    assert len(ticket.comments) == 1


def test_a_fix_at_an_unknown_commit_is_not_measured(world: World) -> None:
    closed(world, fixed="f" * 40)
    sync_tickets(world.channel, now=0.0)
    assert known(world).verdict is FixVerdict.NOT_MEASURED


def test_a_closed_ticket_without_a_fixing_revision_has_no_verdict(world: World) -> None:
    closed(world, fixed="")
    assert sync_tickets(world.channel, now=0.0).compared == ()


def test_a_ticket_that_the_store_lost_is_known_by_its_block(world: World) -> None:
    change = TicketFields("textmill", "benchmark=sort", "", 1, "main", COMMIT, change=999)
    draft = TicketDraft("k9", "sort is slow", "", changes=(change,))
    world.server.add("sort is slow", markdown_block(draft), [LABEL])
    sync_tickets(world.channel, now=0.0)
    (point,) = world.store.findings.live_members(1)
    assert point.matched_ticket == "ada/textmill#1"


@pytest.mark.parametrize(
    "change",
    [
        TicketFields("another", "benchmark=sort", "", 1, "", COMMIT),
        TicketFields("textmill", "benchmark=~(", "", 1, "", COMMIT),
        TicketFields("textmill", "", "no key", 1, "", COMMIT),
        TicketFields("textmill", "", "", 1, "", COMMIT),
        TicketFields("textmill", "benchmark=sort", "", 1, "", "no commit"),
    ],
    ids=["repository", "query", "key", "neither", "commit"],
)
def test_a_block_that_names_nothing_known_covers_no_finding(world: World, change: TicketFields) -> None:
    world.server.add("t", markdown_block(TicketDraft("k9", "t", "", changes=(change,))), [LABEL])
    sync_tickets(world.channel, now=0.0)
    (point,) = world.store.findings.live_members(1)
    assert point.matched_ticket == ""


def test_a_ticket_of_others_is_left_alone(world: World) -> None:
    world.server.add("not ours", "no block", [LABEL])
    sync_tickets(world.channel, now=0.0)
    assert world.store.findings.tracker_tickets.all() == []


def test_a_tracker_that_asks_to_wait_is_not_asked_before(world: World) -> None:
    world.server.reads_fail = True
    world.server.replies = [Reply(429, (("Retry-After", "60"),))]
    with pytest.raises(DeliveryError):
        sync_tickets(world.channel, now=1000.0)
    assert sync_tickets(world.channel, now=1059.0).waits == 1.0
    assert len(world.server.requests) == 1
    sync_tickets(world.channel, now=1060.0)
    assert len(world.server.requests) == 2


def test_an_import_of_a_whole_list_keeps_the_tickets_of_trackers(world: World) -> None:
    world.channel.send(message())
    import_tickets(world.store, [], replace=True)
    (point,) = world.store.findings.live_members(1)
    assert point.matched_ticket == "ada/textmill#1"


def test_two_channels_of_one_project_share_its_tickets(world: World) -> None:
    world.channel.send(message())
    other = replace(world.channel, settings=replace(world.channel.settings, name="other"))
    other.send(message())
    assert len(world.server.tickets) == 1
