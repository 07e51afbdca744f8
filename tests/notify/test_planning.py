"""What is planned besides changes that settled: escalations, and first signs for those who ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.notify.ledgers import MAIL, Announcer, Clock, Mailbox, Office

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Commit
from knickpoint.model.notification import (
    AnnouncementKind,
    DeliveryState,
    NotificationKind,
    PlannedDelivery,
    Purpose,
    Recipient,
)
from knickpoint.model.settlement import Certainty
from knickpoint.model.suspects import Suspect, SuspectFacts, Suspects
from knickpoint.notify.planner import Heard, bundle
from knickpoint.notify.recipients import read_schedule
from knickpoint.notify.settings import ChannelKind, ChannelSettings, NotifySettings
from knickpoint.store import Store, create_store
from knickpoint.store.findings.statements import RankedChange

_HOUR = 3600.0
_ROOM = ChannelSettings("room", ChannelKind.CHAT)
_ASKS = ChannelSettings("asks", ChannelKind.WEBHOOK, provisional=True)
_OWNED = Alert("a", notify=("room",), owners=("eve",))


@pytest.fixture
def empty_store(tmp_path: Path) -> Iterator[Store]:
    with create_store(tmp_path / "empty.db") as made:
        yield made


@pytest.fixture
def announcer(empty_store: Store) -> Announcer:
    return Announcer(empty_store, empty_store.commits.add_repository("textmill").id, Clock())


@pytest.fixture
def office(announcer: Announcer) -> Office:
    """Return an office that escalates after a day, with an alert that has an owner and a room."""
    settings = NotifySettings(escalate_hours=24)
    made = Office(announcer.store, announcer.clock, Mailbox(), settings, (MAIL, _ROOM, _ASKS))
    made.store.findings.alerts_in_force.replace([_OWNED])
    return made


def kinds(office: Office) -> list[NotificationKind]:
    return [NotificationKind(str(message.data["kind"])) for message in office.mailbox.taken]


def test_a_change_that_no_person_took_is_escalated_once_after_the_stated_time(
    office: Office, announcer: Announcer
) -> None:
    announcer.open()
    office.finish()
    office.clock.advance(23.9 * _HOUR)
    assert office.planner.remind(office.clock()) == 0
    office.clock.advance(0.2 * _HOUR)
    assert [office.planner.remind(office.clock()) for _ in range(2)] == [1, 0]
    office.finish()
    assert kinds(office) == [NotificationKind.CHANGE, NotificationKind.ESCALATION]


@pytest.mark.parametrize("what", ["taken", "recovered", "withdrawn"])
def test_what_a_person_took_or_is_over_is_not_escalated(office: Office, announcer: Announcer, what: str) -> None:
    opened = announcer.open()
    office.finish()
    if what == "taken":
        announcer.take(opened.chain, "eve")
    else:
        announcer.follow(opened.chain, AnnouncementKind(what))
    office.clock.advance(25 * _HOUR)
    assert office.planner.remind(office.clock()) == 0


def test_what_is_held_back_is_escalated_once_it_is_not_any_more(office: Office, announcer: Announcer) -> None:
    opened = announcer.open()
    office.finish()
    announcer.hold(opened.chain, "the machine moved")
    office.clock.advance(25 * _HOUR)
    assert office.planner.remind(office.clock()) == 0
    announcer.hold(opened.chain, "")
    assert office.planner.remind(office.clock()) == 1


def test_nothing_is_escalated_where_no_time_is_stated(office: Office, announcer: Announcer) -> None:
    office.settings = NotifySettings(escalate_hours=0)
    announcer.open()
    office.finish()
    office.clock.advance(1000 * _HOUR)
    assert office.planner.remind(office.clock()) == 0


def test_a_first_sign_goes_to_those_who_ask_and_the_settled_change_to_all(office: Office, announcer: Announcer) -> None:
    office.store.findings.alerts_in_force.replace([replace(_OWNED, notify=("room", "asks"))])
    first = announcer.open(AnnouncementKind.PROVISIONAL)
    office.finish()
    heard = [(message.recipient.channel, message.data["kind"]) for message in office.mailbox.taken]
    assert heard == [("asks", "provisional")]
    announcer.follow(first.chain, AnnouncementKind.REGRESSED)
    office.finish()
    heard = [(message.recipient.channel, message.data["kind"]) for message in office.mailbox.taken[1:]]
    assert sorted(heard) == [("asks", "change"), ("room", "change")]


def test_what_people_are_not_told_reaches_their_tickets(office: Office, announcer: Announcer) -> None:
    tracker = ChannelSettings("code", ChannelKind.GITHUB)
    office.channels = (*office.channels, tracker)
    office.store.findings.alerts_in_force.replace([replace(_OWNED, notify=("room", "code"))])
    opened = announcer.open()
    office.plan()
    announcer.follow(opened.chain, AnnouncementKind.MOVED, unsent="the change was long ago")
    plan = office.planner.next_plan(office.clock(), office.planner.newest())
    assert plan is not None
    assert [each.recipient.channel for each in plan.deliveries] == ["code"]


@pytest.mark.parametrize(
    ("machine", "probability", "hears"),
    [("", 0.85, "ada@example.org"), ("The machine changed: cpu A → B.", 0.3, "lab@example.org")],
)
def test_a_change_of_the_machine_goes_to_its_owner_and_not_to_the_author(
    announcer: Announcer, machine: str, probability: float, hears: str
) -> None:
    store = announcer.store
    (repository,) = store.commits.repositories()
    commit = Commit("a" * 40, "Ada", "ada@example.org", announcer.clock(), "Parse twice")
    (slot,) = store.commits.add(repository, [commit]).values()
    settings = NotifySettings(machine_owners=("lab@example.org",))
    office = Office(store, announcer.clock, Mailbox(), settings, (replace(MAIL, to=(), authors=True),))
    announced = announcer.open()
    place = SuspectRange("main", 3, 4)
    ranked = Suspects(place, 1 - probability, SuspectFacts.GIT, (Suspect(slot, probability),), machine=machine)
    store.findings.suspects.put({RankedChange(announced.id, place, 1, 0, Certainty.SETTLED): ranked})
    office.finish()
    assert [message.recipient.address for message in office.mailbox.taken] == [hears]


def _bundled(announcer: Announcer, settings: NotifySettings, *parts: tuple[str, float]) -> list[PlannedDelivery]:
    """Plan, for the room and the webhook, changes of the units and relative sizes of ``parts``."""
    rows = [replace(announcer.open(), unit=unit, relative_size=size) for unit, size in parts]
    channels = {each.name: each for each in (_ROOM, _ASKS)}
    heard = [Heard(Recipient(name), Purpose.CHANGE, row) for row in rows for name in channels]
    return bundle(heard, channels, read_schedule(settings), announcer.clock())


def _to_room(planned: Sequence[PlannedDelivery]) -> dict[tuple[int, ...], PlannedDelivery]:
    return {tuple(row.id for row in each.announcements): each for each in planned if each.recipient.channel == "room"}


def test_small_changes_of_what_is_counted_wait_for_the_digest_of_the_day(announcer: Announcer) -> None:
    parts = (("B", 0.002), ("ns", 0.002), ("instructions", -0.004), ("allocs/op", 0.02))
    planned = _bundled(announcer, NotifySettings(), *parts)
    room = _to_room(planned)
    assert {each.kind for each in room.values()} == {NotificationKind.CHANGE, NotificationKind.DIGEST}
    assert {ids: each.kind for ids, each in room.items()}[1, 3] is NotificationKind.DIGEST
    assert (room[1, 3].due.hour, room[1, 3].due.minute) == (8, 0)
    assert room[2,].due == room[4,].due == announcer.clock()
    others = [each for each in planned if each.recipient.channel == "asks"]
    assert all(each.kind is NotificationKind.CHANGE and each.due == announcer.clock() for each in others)


def test_the_share_below_which_changes_wait_is_configured(announcer: Announcer) -> None:
    assert len(_to_room(_bundled(announcer, NotifySettings(digest_below=0), ("B", 0.002), ("B", 0.003)))) == 2
    larger = _bundled(announcer, NotifySettings(digest_below=0.05), ("B", 0.04))
    assert [each.kind for each in _to_room(larger).values()] == [NotificationKind.DIGEST]


def test_the_delivery_says_why_it_did_not_go_out_at_once(office: Office, announcer: Announcer) -> None:
    (small,) = _to_room(_bundled(announcer, NotifySettings(), ("kB", 0.001))).values()
    office.store.notifications.add([small], office.clock())
    (waiting,) = office.store.notifications.newest()
    assert (waiting.state, waiting.answer) == (DeliveryState.WAITING, "")
    assert waiting.why == "small changes of what is counted wait for the digest of the day"
