"""Send what is due: claim deliveries, hand each over, and mark it with the answer.

The stages of one delivery: *begin* it, which counts the attempt; write its message from the facts of now; hand it to
its channel; mark it. A mark is written with the beginning of the next delivery, in one transaction, so that a sender
that dies leaves one delivery at most that was answered and has no mark. A mark that the store did not take is kept and
written before anything else is sent. A channel that fails several times in a row pauses, so that one server that is
down does not use up the attempts of every delivery.

People have failed deliveries sent again, or drop them; the audit log says who did.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from knickpoint.model.access import AuditKind
from knickpoint.model.errors import KnickpointError, StoreError
from knickpoint.model.notification import (
    Announcement,
    AnnouncementKind,
    Delivery,
    DeliveryState,
    Message,
    NotificationKind,
    SentMark,
)
from knickpoint.model.plain_text import counted
from knickpoint.notify.channel import Channel, DeliveryError
from knickpoint.notify.messages.fact_reader import LedgerView
from knickpoint.notify.recipients import AUTOMATIC, TRACKERS, Schedule
from knickpoint.notify.settings import ChannelSettings
from knickpoint.store import Store
from knickpoint.store.findings.tickets import thread_of

# How long a delivery waits after a failure; pure, and without randomness.


_FIRST_SECONDS: Final = 30.0
_LONGEST_SECONDS: Final = 6 * 3600.0
_LONGEST_WAIT_SECONDS: Final = 86_400.0
"""What a receiver that asks for a longer wait gets."""

_SPREAD: Final = 0.25
"""Half of the part of a pause that depends on the delivery: what failed together does not come back together."""


def pause_after(key: str, attempts: int, wait_seconds: float = 0.0) -> timedelta:
    """Return the pause of a delivery after its attempt number ``attempts``, at least 1.

    The pause doubles from 30 seconds to 6 hours, and is up to a quarter shorter or longer, as a digest of ``key`` and
    the number says. It is never shorter than what the receiver asked for, up to a day.
    """
    exact = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(attempts - 1, 30))
    digest = hashlib.sha256(f"{key}/{attempts}".encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32
    spread = exact * (1 - _SPREAD + 2 * _SPREAD * share)
    return timedelta(seconds=max(spread, min(wait_seconds, _LONGEST_WAIT_SECONDS)))


_LOG: Final = logging.getLogger("knickpoint.notify")

LEASE_SECONDS: Final = 300.0
"""How long a sender may take for one delivery before another one repeats it.

No channel waits that long for an answer.
"""

_BATCH: Final = 16
_FAILURES_TO_PAUSE: Final = 3
_HELD_PAUSE: Final = timedelta(minutes=15)
_VIEW_AGE: Final = timedelta(seconds=5)
"""How long the ledger is taken to be as it was read."""
_UNFINISHED: Final = frozenset({DeliveryState.WAITING, DeliveryState.SENDING})

WriteMessage = Callable[[Delivery, datetime], Message | None]
"""Writes the message of a delivery from the facts of now; None where there is nothing left to say."""


class Outcome(Enum):
    """What became of a delivery that a sender claimed."""

    SENT = "sent"
    AGAIN = "again"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass
class Sender:
    """Sends the deliveries of an instance, one after the other; any number of senders may share one store.

    Attributes:
        store: where deliveries are.
        channels: the channels by name.
        open_channel: opens a channel.
        write: writes the messages.
        schedule: when messages may go out.
        attempts: how often a delivery is tried before it counts as failed.
        holder: name of the sender, unique among all that run.
        clock: the time, in UTC.
    """

    store: Store
    channels: Mapping[str, ChannelSettings]
    open_channel: Callable[[ChannelSettings], Channel]
    write: WriteMessage
    schedule: Schedule
    attempts: int
    holder: str
    clock: Callable[[], datetime]
    _open: dict[str, Channel] = field(default_factory=dict, init=False)
    _failures: Counter[str] = field(default_factory=Counter, init=False)
    _pauses: dict[str, datetime] = field(default_factory=dict, init=False)
    _unmarked: list[SentMark] = field(default_factory=list, init=False)
    _view: LedgerView = field(init=False)
    _viewed: datetime = field(init=False)

    def __post_init__(self) -> None:
        self._look()

    def step(self, stop: threading.Event | None = None) -> list[tuple[Delivery, Outcome, str]]:
        """Claim some due deliveries, and send them; return what became of each, with the reason where it was not sent.

        ``stop`` ends it after the current delivery; what was not begun is given back.

        Raises:
            StoreError: the store cannot be read or written.
        """
        self._write_marks()
        now = self.clock()
        paused = [name for name, until in self._pauses.items() if until > now]
        claimed = self.store.notifications.claim(now, LEASE_SECONDS, _BATCH, holder=self.holder, without=paused)
        self._look()
        found: list[tuple[Delivery, Outcome, str]] = []
        for number, delivery in enumerate(claimed):
            name = delivery.recipient.channel
            overdue = self.clock() - now > timedelta(seconds=LEASE_SECONDS / 2)
            if overdue or (stop is not None and stop.is_set()):
                self.store.notifications.release([each.id for each in claimed[number:]], self.holder, self.clock())
                break
            until = self._pauses.get(name, now)
            if until > self.clock():
                self.store.notifications.release([delivery.id], self.holder, until)
                continue
            outcome = self._handle(delivery)
            if outcome is not None:
                found.append((delivery, *outcome))
        self._write_marks()
        if not claimed:
            self.close()
        return found

    def close(self) -> None:
        """End the connections of all channels."""
        for name in list(self._open):
            self._close(name)

    def _handle(self, delivery: Delivery) -> tuple[Outcome, str] | None:
        """Send one delivery, or find out why not; None where it waits, or another sender has it."""
        settings = self.channels.get(delivery.recipient.channel)
        if settings is None:
            return self._drop(delivery, f"the channel {delivery.recipient.channel!r} no longer exists")
        if self.clock() - self._viewed > _VIEW_AGE:
            self._look()
        earlier = self._earlier(delivery)
        until = self._postponed(delivery, settings, earlier)
        if until is not None:
            self.store.notifications.release([delivery.id], self.holder, until)
            return None
        wanted, reason = self._still_true(delivery, earlier)
        if wanted is None:
            return self._drop(delivery, reason)
        wanted = self._without_held(wanted)
        if wanted is None:
            return None
        if not self._begin(delivery):
            return None
        return self._attempt(wanted, settings)

    def _attempt(self, delivery: Delivery, settings: ChannelSettings) -> tuple[Outcome, str] | None:
        """Hand a delivery over, and mark it with the answer."""
        try:
            message = self.write(delivery, self.clock())
            if message is None:
                return self._drop(delivery, "there is nothing left to say")
            answer = self._channel(settings).send(message)
        except StoreError:
            raise  # not the fault of the delivery: its lease ends
        except KnickpointError as error:
            return self._failed(delivery, str(error), error if isinstance(error, DeliveryError) else None)
        except Exception as error:  # noqa: BLE001  # a package's channel may raise anything; other deliveries go on
            _LOG.exception("delivery %d failed", delivery.id)
            return self._failed(delivery, f"it failed unexpectedly, the log has the details: {error!r}", None)
        self._failures.pop(settings.name, None)
        self._unmarked.append(SentMark(delivery.id, answer, self.clock()))
        return Outcome.SENT, ""

    # What is not sent now, or not at all

    def _earlier(self, delivery: Delivery) -> list[Delivery]:
        """Return the earlier deliveries about the same chains to the same receiver.

        Those without their mark are sent, too.
        """
        unmarked = {mark.key for mark in self._unmarked}
        found = self.store.notifications.earlier(delivery)
        return [replace(each, state=DeliveryState.SENT) if each.id in unmarked else each for each in found]

    def _postponed(self, delivery: Delivery, settings: ChannelSettings, earlier: Sequence[Delivery]) -> datetime | None:
        """Return until when a delivery waits: for the end of quiet hours, for what it corrects."""
        now = self.clock()
        if settings.kind not in AUTOMATIC and (until := self.schedule.after_quiet(now)) > now:
            return until
        awaited = [each.due for each in earlier if each.state in _UNFINISHED]
        if awaited and delivery.kind is not NotificationKind.ESCALATION:
            return max(now + timedelta(seconds=1), *awaited)
        return None

    def _without_held(self, delivery: Delivery) -> Delivery | None:
        """Return the delivery with the announcements that are not held back; None where it waits.

        The others become a delivery of their own, which waits. Where an attempt was made with all of them, they stay
        together: the receiver may have taken it, and the parts would then be said twice.
        """
        held = self._held(delivery)
        if not held:
            return delivery
        until = self.clock() + _HELD_PAUSE
        if delivery.attempts or held >= set(delivery.announcements):
            self.store.notifications.release([delivery.id], self.holder, until)
            return None
        if not self.store.notifications.set_aside(delivery, held, self.holder, until):
            return None
        return replace(delivery, announcements=tuple(key for key in delivery.announcements if key not in held))

    def _held(self, delivery: Delivery) -> set[int]:
        """Return the announcements of a delivery that are held back, as the machine moved and perhaps not the code."""
        announced = self._view.get(delivery.announcements)
        members = self._view.members({each.chain for each in announced})
        found = [each for each in announced if any(point.held for point in members[each.chain])]
        return {each.id for each in found if (stated := self._view.statement(each)) is not None and stated.held}

    def _still_true(self, delivery: Delivery, earlier: Sequence[Delivery]) -> tuple[Delivery | None, str]:
        """Return the delivery with the announcements that are still worth sending; None and the reason without any.

        A change that was withdrawn before its receiver heard of it is not mentioned, and neither is a correction of
        what the receiver never got.
        """
        if not delivery.announcements:
            return delivery, ""
        announced = self._view.get(delivery.announcements)
        known = self._heard_chains(earlier)
        chains = self._view.chains({each.chain for each in announced})
        kept: list[int] = []
        reason = "its announcements are no longer in the ledger"
        for chain in dict.fromkeys(each.chain for each in announced):
            rows = [each for each in announced if each.chain == chain]
            heard = chain in known or self._has_ticket(delivery, chains[chain][-1])
            reason = _why_not(rows, chains[chain][-1], heard=heard)
            kept += [] if reason else [each.id for each in rows]
        return (replace(delivery, announcements=tuple(sorted(kept))), "") if kept else (None, reason)

    def _has_ticket(self, delivery: Delivery, newest: Announcement) -> bool:
        """Whether the receiver is a tracker with a ticket about a change, which a person may have made."""
        name = delivery.recipient.channel
        if name not in self.channels or self.channels[name].kind not in TRACKERS:
            return False
        tickets = self.store.findings.tracker_tickets
        linked = {point.linked_ticket for point in self._view.members({newest.chain})[newest.chain]} - {""}
        return tickets.of_thread(name, [thread_of(newest.change_id)]) is not None or any(
            tickets.by_channel(name, ticket) for ticket in linked
        )

    def _heard_chains(self, earlier: Sequence[Delivery]) -> set[int]:
        """Return the chains of which the receiver got a message before."""
        sent = [key for each in earlier if each.state is DeliveryState.SENT for key in each.announcements]
        return {each.chain for each in self._view.get(sent)}

    def _drop(self, delivery: Delivery, reason: str) -> tuple[Outcome, str] | None:
        dropped = self.store.notifications.drop(delivery.id, self.holder, reason)
        return (Outcome.DROPPED, reason) if dropped else None

    def _failed(self, delivery: Delivery, reason: str, error: DeliveryError | None) -> tuple[Outcome, str] | None:
        """Mark a failure: for good, or until the next attempt."""
        name, now = delivery.recipient.channel, self.clock()
        attempts = delivery.attempts + 1
        self._close(name)
        if (error is not None and error.lasting) or attempts >= self.attempts:
            marked = self.store.notifications.fail(delivery.id, self.holder, reason)
            return (Outcome.FAILED, reason) if marked else None
        wait = error.wait_seconds if error is not None else 0.0
        due = now + pause_after(delivery.key, attempts, wait)
        self._failures[name] += 1
        if wait or self._failures[name] >= _FAILURES_TO_PAUSE:
            pause = pause_after(name, self._failures[name], wait)
            self._pauses[name] = now + pause
        marked = self.store.notifications.retry(delivery.id, self.holder, due, reason)
        return (Outcome.AGAIN, reason) if marked else None

    # Marks and channels

    def _look(self) -> None:
        """Read the ledger anew from here on."""
        self._view, self._viewed = LedgerView(self.store), self.clock()

    def _begin(self, delivery: Delivery) -> bool:
        """Begin a delivery, and write the marks of those before it; return whether this sender still has it."""
        begun = self.store.notifications.begin(
            delivery.id, self.holder, self.clock(), LEASE_SECONDS, marks=self._unmarked
        )
        self._unmarked.clear()
        return begun

    def _write_marks(self) -> None:
        """Mark what was sent; what the store does not take stays for the next time."""
        if self._unmarked:
            self.store.notifications.mark_sent(self._unmarked, self.holder)
            self._unmarked.clear()

    def _channel(self, settings: ChannelSettings) -> Channel:
        if settings.name not in self._open:
            self._open[settings.name] = self.open_channel(settings)
        return self._open[settings.name]

    def _close(self, name: str) -> None:
        channel = self._open.pop(name, None)
        if channel is None:
            return
        try:
            channel.close()
        except Exception:  # noqa: BLE001  # the connection is given up either way
            _LOG.info("channel %s could not be closed in order", name, exc_info=True)


def _why_not(rows: Sequence[Announcement], newest: Announcement, *, heard: bool) -> str:
    """Return the reason for which announcements of one chain are not sent, "" if they are."""
    if heard:
        return ""
    if newest.kind is AnnouncementKind.WITHDRAWN:
        return "the change was withdrawn before it was sent"
    opening = any(each.kind.opens or each.kind is AnnouncementKind.RETURNED or each.number == 0 for each in rows)
    return "" if opening else "what it corrects was not sent"


_MOST_NAMED = 20


def retry_deliveries(store: Store, ids: Collection[int], *, who: str, now: datetime) -> int:
    """Have failed deliveries tried again, with all their attempts; return how many."""
    with store.transaction():
        count = store.notifications.send_again(ids, now)
        _record(store, "due again", ids, count, who)
    return count


def drop_deliveries(store: Store, ids: Collection[int], *, who: str) -> int:
    """Drop deliveries that wait or failed; return how many."""
    with store.transaction():
        count = store.notifications.give_up(ids, f"dropped by {who}")
        _record(store, "dropped", ids, count, who)
    return count


def _record(store: Store, what: str, ids: Collection[int], count: int, who: str) -> None:
    """Write the entry of the audit log, where anything changed."""
    if not count:
        return
    named = ", ".join(f"D{key}" for key in sorted(ids)[:_MOST_NAMED])
    further = ", …" if len(ids) > _MOST_NAMED else ""
    about = f"{what}: {counted(count, 'delivery', 'deliveries')} of {named}{further}"
    store.audit.append(AuditKind.DELIVERIES_CHANGED, who, about)
