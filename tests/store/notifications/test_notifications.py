"""The delivery ledger on both databases: planned once, sent under a lease, marked with the answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from knickpoint.model.change_point import Condition, Direction, SuspectRange
from knickpoint.model.errors import StoreError
from knickpoint.model.notification import (
    Announcement,
    AnnouncementKind,
    Delivery,
    DeliveryState,
    NotificationKind,
    PlannedDelivery,
    Purpose,
    Recipient,
    Sent,
    SentMark,
)
from knickpoint.model.settlement import FindingKind
from knickpoint.store import Store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = 60.0
ANN = Recipient("mail", "ann@example.org", "ann")


def announced(key: int, *, chain: int = 0, kind: AnnouncementKind = AnnouncementKind.REGRESSED) -> Announcement:
    return Announcement(
        id=key,
        chain=chain or key,
        number=0 if not chain or chain == key else key - chain,
        repository_id=1,
        change_id=chain or key,
        kind=kind,
        time=NOW,
        suspect_range=SuspectRange("main", 3, 4),
        direction=Direction.REGRESSION,
        finding_kind=FindingKind.STEP,
        condition=Condition.PRESENT,
        traces=1,
        lead=1,
        trace_key=",name=a,",
        unit="ms",
        before_level=10.0,
        after_level=12.0,
        size=2.0,
        relative_size=0.2,
    )


def planned(*announcements: Announcement, to: Recipient = ANN, due: datetime = NOW) -> PlannedDelivery:
    first = announcements[0]
    return PlannedDelivery(
        f"{to.receiver}-{first.id}",
        NotificationKind.CHANGE,
        Purpose.CHANGE,
        to,
        announcements,
        f"{first.chain}",
        due,
    )


def plan(store: Store, *deliveries: PlannedDelivery, before: int = 0, after: int = 1) -> list[int] | None:
    return store.notifications.plan(deliveries, before=before, after=after, now=NOW)


def claim(store: Store, seconds: float = 0.0, holder: str = "one") -> list[Delivery]:
    return store.notifications.claim(NOW + timedelta(seconds=seconds), LEASE, 10, holder=holder)


def state_of(store: Store, key: int) -> DeliveryState:
    (delivery,) = store.notifications.get([key])
    return delivery.state


@pytest.fixture(autouse=True)
def switched_on(store: Store) -> None:
    store.notifications.switch(on=True)


def test_notifications_begin_behind_the_newest_announcement(store: Store) -> None:
    store.notifications.switch(on=False)
    assert store.notifications.cursor() is None
    store.findings.announcements.append([announced(1), announced(2)])
    store.notifications.switch(on=True)
    assert store.notifications.cursor() == 2


def test_switching_on_again_changes_nothing(store: Store) -> None:
    store.findings.announcements.append([announced(1)])
    store.notifications.switch(on=True)
    assert store.notifications.cursor() == 0


def test_a_plan_moves_the_cursor_with_its_deliveries(store: Store) -> None:
    assert plan(store, planned(announced(1))) == [1]
    assert store.notifications.cursor() == 1


def test_what_another_planner_has_planned_is_not_planned_again(store: Store) -> None:
    plan(store, planned(announced(1)))
    assert plan(store, planned(announced(1))) is None
    assert len(store.notifications.newest()) == 1


def test_an_announcement_reaches_a_receiver_in_one_delivery(store: Store) -> None:
    plan(store, planned(announced(1)))
    other = Recipient("another", "ann@example.com", "ann")
    with pytest.raises(StoreError):
        plan(store, planned(announced(1), to=other), before=1, after=2)
    assert store.notifications.cursor() == 1


def test_a_delivery_that_waits_takes_in_what_follows(store: Store) -> None:
    plan(store, planned(announced(1)))
    assert plan(store, planned(announced(2, chain=1)), before=1, after=2) == [1]
    (delivery,) = store.notifications.newest()
    assert delivery.announcements == (1, 2)


def test_a_delivery_that_was_tried_takes_in_nothing(store: Store) -> None:
    plan(store, planned(announced(1)))
    claim(store)
    store.notifications.begin(1, "one", NOW, LEASE)
    store.notifications.retry(1, "one", NOW, "busy")
    assert plan(store, planned(announced(2, chain=1)), before=1, after=2) == [2]
    assert [each.id for each in store.notifications.earlier(store.notifications.get([2])[0])] == [1]


def test_a_claimed_delivery_is_not_claimed_again_before_its_lease_ends(store: Store) -> None:
    plan(store, planned(announced(1)))
    assert [each.id for each in claim(store)] == [1]
    assert claim(store, LEASE - 1, holder="two") == []
    assert [each.id for each in claim(store, LEASE + 1, holder="two")] == [1]


def test_a_sender_that_lost_its_lease_can_neither_begin_nor_mark(store: Store) -> None:
    plan(store, planned(announced(1)))
    claim(store)
    claim(store, LEASE + 1, holder="two")
    assert not store.notifications.begin(1, "one", NOW, LEASE)
    assert not store.notifications.sent(1, "one", Sent("late"), NOW)
    assert store.notifications.sent(1, "two", Sent("<key@host>", "http://here"), NOW)
    (delivery,) = store.notifications.get([1])
    assert (delivery.state, delivery.reference, delivery.sent) == (DeliveryState.SENT, "<key@host>", NOW)


def test_only_what_was_begun_counts_as_an_attempt(store: Store) -> None:
    plan(store, planned(announced(1)))
    claim(store)
    store.notifications.release([1], "one", NOW)
    (delivery,) = claim(store)
    assert delivery.attempts == 0
    store.notifications.begin(1, "one", NOW, LEASE)
    assert store.notifications.get([1])[0].attempts == 1


def test_a_delivery_that_failed_is_due_later_with_its_reason(store: Store) -> None:
    plan(store, planned(announced(1)))
    claim(store)
    store.notifications.retry(1, "one", NOW + timedelta(minutes=5), "try later")
    assert claim(store, 299) == []
    (delivery,) = claim(store, 300)
    assert delivery.answer == "try later"


def test_deliveries_of_channels_that_pause_are_left_alone(store: Store) -> None:
    room = Recipient("chat")
    plan(store, planned(announced(1)), planned(announced(1), to=room))
    taken = store.notifications.claim(NOW, LEASE, 10, holder="one", without=["mail"])
    assert [each.recipient for each in taken] == [room]


def test_a_person_drops_what_failed_or_tries_it_again(store: Store) -> None:
    plan(store, planned(announced(1)), planned(announced(2)))
    claim(store)
    for key in (1, 2):
        store.notifications.fail(key, "one", "no such mailbox")
    assert store.notifications.send_again([1], NOW) == 1
    assert store.notifications.give_up([1, 2], "dropped by ann") == 2
    assert {state_of(store, 1), state_of(store, 2)} == {DeliveryState.DROPPED}


def test_what_was_sent_is_neither_dropped_nor_sent_again(store: Store) -> None:
    plan(store, planned(announced(1)))
    claim(store)
    assert store.notifications.give_up([1], "dropped by ann") == 0
    store.notifications.sent(1, "one", Sent(), NOW)
    assert (store.notifications.give_up([1], ""), store.notifications.send_again([1], NOW)) == (0, 0)


def test_deliveries_are_found_by_change_and_repository(store: Store) -> None:
    store.findings.announcements.append([announced(1), announced(2)])
    plan(store, planned(announced(1)), planned(announced(2)))
    assert [each.announcements for each in store.notifications.newest(change=2)] == [(2,)]
    assert [each.id for each in store.notifications.newest(repositories=[1])] == [2, 1]
    assert store.notifications.newest(repositories=[2]) == []
    assert store.notifications.counts() == {("mail", DeliveryState.WAITING): 2}


def test_chains_that_were_planned_are_kept_until_they_are_escalated(store: Store) -> None:
    store.notifications.plan([planned(announced(1))], before=0, after=1, now=NOW, watch=True)
    assert store.notifications.untaken(NOW - timedelta(hours=1), 10) == []
    assert store.notifications.untaken(NOW, 10) == [1]
    store.notifications.remind([], [1], NOW)
    assert store.notifications.untaken(NOW, 10) == []


def test_a_signed_link_is_used_once(store: Store) -> None:
    later = NOW + timedelta(days=1)
    assert store.links.use("abc", "ann", now=NOW, expires=later)
    assert not store.links.use("abc", "ben", now=NOW, expires=later)
    assert store.links.is_used("abc")


def test_used_links_are_forgotten_once_they_have_expired(store: Store) -> None:
    store.links.use("abc", "ann", now=NOW, expires=NOW)
    store.links.use("def", "ann", now=NOW + timedelta(seconds=1), expires=NOW + timedelta(days=1))
    assert not store.links.is_used("abc")


def test_what_was_sent_is_marked_with_the_beginning_of_the_next_delivery(store: Store) -> None:
    store.notifications.switch(on=True)
    store.notifications.plan([planned(announced(1)), planned(announced(2))], before=0, after=2, now=NOW)
    store.notifications.claim(NOW, LEASE, 2, holder="me")
    marks = [SentMark(1, Sent("<one@host>"), NOW)]
    assert store.notifications.begin(2, "me", NOW, LEASE, marks=marks)
    first, second = store.notifications.get([1, 2])
    assert (first.state, first.reference) == (DeliveryState.SENT, "<one@host>")
    assert (second.state, second.attempts) == (DeliveryState.SENDING, 1)
