"""What a sender does with failures, pauses, holds and crashes of its store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.notify.ledgers import START, Announcer, Clock, Mailbox, Office

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import AnnouncementKind, Delivery, DeliveryState, NotificationKind
from knickpoint.notify.channel import DeliveryError
from knickpoint.notify.sender import Outcome
from knickpoint.notify.settings import ChannelKind, ChannelSettings, NotifySettings
from knickpoint.store import Store, create_store

_ROOM = (ChannelSettings("room", ChannelKind.WEBHOOK), ChannelSettings("mail", ChannelKind.MAIL, to=()))
_BUSY = "the server is busy"


class Notifications:
    """A store with an announcer, and an office that sends to one room."""

    def __init__(self, store: Store, settings: NotifySettings, channels: tuple[ChannelSettings, ...] = _ROOM) -> None:
        self.store, self.clock, self.mailbox = store, Clock(), Mailbox()
        self.announcer = Announcer(store, store.commits.add_repository("main").id, self.clock)
        self.office = Office(store, self.clock, self.mailbox, settings, channels)

    def announce(self, number: int = 1) -> list[int]:
        """Announce changes that the room hears of, and plan them; return their chains."""
        chains = [self.announcer.open(alerts=["b"]).chain for _ in range(number)]
        self.office.plan()
        return chains

    def fail(self, *failures: BaseException) -> list[Outcome]:
        """Send what is due, with these failures first."""
        self.mailbox.failures = list(failures)
        return [outcome for _, outcome, _ in self.office.sender.step()]

    def deliveries(self) -> list[Delivery]:
        return self.store.notifications.newest(limit=1000)

    @property
    def delivery(self) -> Delivery:
        (found,) = self.deliveries()
        return found

    def said(self) -> list[tuple[int, ...]]:
        """Return the announcements of each message that was taken."""
        about = [each.data["announcements"] for each in self.mailbox.taken]
        return [each for each in about if isinstance(each, tuple)]


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Store]:
    with create_store(tmp_path / "empty.db") as made:
        yield made


@pytest.fixture
def world(empty: Store) -> Notifications:
    return Notifications(empty, NotifySettings(attempts=4))


@pytest.fixture
def digests(empty: Store) -> Notifications:
    """Send digests to one mail address."""
    channels = (_ROOM[0], ChannelSettings("mail", ChannelKind.MAIL, to=("perf@example.org",)))
    return Notifications(empty, NotifySettings(digest=("13:00",)), channels)


def test_the_pauses_between_attempts_grow(world: Notifications) -> None:
    world.announce()
    pauses = []
    for _ in range(3):
        assert world.fail(DeliveryError(_BUSY)) == [Outcome.AGAIN]
        pauses.append((world.delivery.due - world.clock()).total_seconds())
        world.office.restart()  # without the pause of the channel
        world.clock.now = world.delivery.due
    assert 22.5 <= pauses[0] < pauses[1] < pauses[2] <= 150


def test_a_delivery_that_waits_is_not_tried_before_its_time(world: Notifications) -> None:
    world.announce()
    world.fail(DeliveryError(_BUSY))
    world.clock.now = world.delivery.due - timedelta(seconds=1)
    assert not world.fail()
    assert world.delivery.attempts == 1


def test_the_attempts_end(world: Notifications) -> None:
    world.announce()
    outcomes = []
    while world.delivery.state is DeliveryState.WAITING:
        world.clock.now = max(world.clock(), world.delivery.due)
        outcomes += world.fail(DeliveryError(_BUSY))
        world.clock.advance(7 * 3600)
    assert outcomes == [Outcome.AGAIN] * 3 + [Outcome.FAILED]
    assert world.delivery.answer == _BUSY


def test_a_receiver_that_asks_to_wait_is_heard(world: Notifications) -> None:
    world.announce()
    world.fail(DeliveryError(_BUSY, wait_seconds=5000))
    assert world.delivery.due == START + timedelta(seconds=5000)


def test_a_receiver_that_asks_for_a_year_gets_a_day(world: Notifications) -> None:
    world.announce()
    world.fail(DeliveryError(_BUSY, wait_seconds=3e7))
    assert world.delivery.due == START + timedelta(days=1)


def test_a_lasting_failure_is_not_tried_again(world: Notifications) -> None:
    world.announce()
    assert world.fail(DeliveryError("no such mailbox", lasting=True)) == [Outcome.FAILED]
    assert (world.delivery.attempts, world.delivery.answer) == (1, "no such mailbox")


def test_a_lasting_failure_does_not_hold_up_the_others(world: Notifications) -> None:
    world.announce(2)
    assert world.fail(DeliveryError("no such mailbox", lasting=True)) == [Outcome.FAILED, Outcome.SENT]


def test_a_channel_that_fails_pauses_and_spares_the_attempts_of_the_others(world: Notifications) -> None:
    world.announce(8)
    world.fail(*[DeliveryError(_BUSY) for _ in range(8)])
    assert sorted(each.attempts for each in world.deliveries()) == [0] * 5 + [1] * 3


def test_a_wait_that_a_receiver_asks_for_pauses_its_channel(world: Notifications) -> None:
    world.announce(3)
    world.fail(DeliveryError(_BUSY, wait_seconds=600))
    world.clock.advance(599)
    assert not world.fail()
    world.clock.advance(2)
    assert world.fail() == [Outcome.SENT] * 3


def test_a_pause_of_one_channel_leaves_the_others_alone(empty: Store) -> None:
    channels = (_ROOM[0], ChannelSettings("mail", ChannelKind.MAIL, to=("perf@example.org",)))
    world = Notifications(empty, NotifySettings(), channels)
    world.announce()
    first, second = sorted(world.deliveries(), key=lambda each: each.id)
    world.fail(DeliveryError(_BUSY, wait_seconds=600))
    states = {each.id: each.state for each in world.deliveries()}
    assert states == {first.id: DeliveryState.WAITING, second.id: DeliveryState.SENT}


def test_a_delivery_whose_channel_is_gone_is_dropped_with_the_reason(world: Notifications) -> None:
    world.announce()
    world.office.channels = ()
    world.office.restart()
    assert world.fail() == [Outcome.DROPPED]
    assert world.delivery.answer == "the channel 'room' no longer exists"


def test_an_unexpected_error_of_a_channel_counts_as_a_failure(world: Notifications) -> None:
    world.announce()
    assert world.fail(ZeroDivisionError("of a package")) == [Outcome.AGAIN]
    assert "of a package" in world.delivery.answer


def test_a_wrong_setting_is_tried_again(world: Notifications) -> None:
    world.announce()
    assert world.fail(ConfigError("the token is missing")) == [Outcome.AGAIN]


def test_a_failed_delivery_that_is_sent_again_has_all_its_attempts(world: Notifications) -> None:
    world.announce()
    world.fail(DeliveryError("no such mailbox", lasting=True))
    assert world.store.notifications.send_again([world.delivery.id], world.clock()) == 1
    assert world.delivery.attempts == 0
    assert world.fail() == [Outcome.SENT]


def test_a_change_that_is_withdrawn_before_it_is_sent_is_not_sent(world: Notifications) -> None:
    (chain,) = world.announce()
    world.announcer.follow(chain, AnnouncementKind.WITHDRAWN)
    assert world.fail() == [Outcome.DROPPED]
    assert not world.mailbox.taken


def test_a_held_change_waits_until_that_ends(world: Notifications) -> None:
    (chain,) = world.announce()
    world.announcer.hold(chain, "machine moved")
    assert not world.fail()
    world.announcer.hold(chain, "")
    world.clock.advance(1000)
    assert world.fail() == [Outcome.SENT]


def test_a_digest_goes_without_what_is_held_which_follows(digests: Notifications) -> None:
    chains = digests.announce(3)
    mails = [each for each in digests.deliveries() if each.kind is NotificationKind.DIGEST]
    assert [each.announcements for each in mails] == [tuple(chains)]
    digests.announcer.hold(chains[1], "machine moved")
    digests.office.sender.step()  # the room, of which each change is one delivery
    digests.mailbox.taken.clear()
    digests.clock.advance(3600)
    digests.office.sender.step()
    assert digests.said() == [(chains[0], chains[2])]
    digests.announcer.hold(chains[1], "")
    digests.clock.advance(1000)
    digests.office.sender.step()
    assert sorted(digests.said()) == [(chains[0], chains[2]), (chains[1],), (chains[1],)]
    assert len({each.key for each in digests.mailbox.taken}) == 3


def test_a_digest_that_was_tried_stays_together_while_some_of_it_is_held(digests: Notifications) -> None:
    chains = digests.announce(2)
    digests.office.sender.step()
    digests.mailbox.taken.clear()
    digests.clock.advance(3600)
    digests.fail(DeliveryError("the answer was lost", unclear=True))
    digests.announcer.hold(chains[0], "machine moved")
    digests.clock.advance(3600)
    assert not digests.fail()
    digests.announcer.hold(chains[0], "")
    digests.clock.advance(3600)
    digests.office.sender.step()
    assert digests.said() == [tuple(chains)]
