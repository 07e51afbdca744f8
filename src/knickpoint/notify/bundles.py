"""Put what a recipient hears of into deliveries: one for each change, or digests. All functions are pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from knickpoint.model.announcement import Announcement
from knickpoint.model.notification import MOST_IN_DIGEST, NotificationKind, PlannedDelivery, Purpose, Recipient
from knickpoint.notify.recipients import AUTOMATIC
from knickpoint.notify.schedule import Schedule
from knickpoint.notify.settings import ChannelSettings
from knickpoint.store.findings.tracker_tickets import change_thread

__all__ = ["MOST_AT_ONCE", "Heard", "bundle", "escalate"]

MOST_AT_ONCE: Final = 20
"""Changes for one person or room that are planned together and go out as messages of their own; more become digests."""

_KIND_OF_PURPOSE: Final = {
    Purpose.CHANGE: NotificationKind.CHANGE,
    Purpose.PROVISIONAL: NotificationKind.PROVISIONAL,
    Purpose.ESCALATION: NotificationKind.ESCALATION,
}


@dataclass(frozen=True, slots=True)
class Heard:
    """One receiver hears of one announcement."""

    recipient: Recipient
    purpose: Purpose
    announcement: Announcement


def bundle(
    heard: Sequence[Heard], channels: Mapping[str, ChannelSettings], schedule: Schedule, now: datetime
) -> list[PlannedDelivery]:
    """Return the deliveries of what was planned together, in the order of their first announcement."""
    planned: list[PlannedDelivery] = []
    by_recipient: dict[tuple[Recipient, Purpose], list[Announcement]] = {}
    for each in heard:
        by_recipient.setdefault((each.recipient, each.purpose), []).append(each.announcement)
    for (recipient, purpose), announcements in by_recipient.items():
        chains = _by_chain(announcements)
        automatic = channels[recipient.channel].kind in AUTOMATIC
        due = now if automatic else schedule.due(now)
        if automatic or not (schedule.digest or len(chains) > MOST_AT_ONCE):
            kind = _KIND_OF_PURPOSE[purpose]
            threads = [change_thread(each[0].chain) for each in chains]
            planned += [
                _delivery((kind, purpose), recipient, each, thread, due)
                for each, thread in zip(chains, threads, strict=True)
            ]
            continue
        # What is due together is one thread, so that later plans join the same digest while it waits.
        thread = f"digest-{purpose.value}-{due.isoformat()}" if schedule.digest else f"digest-{announcements[-1].id}"
        for begin in range(0, len(chains), MOST_IN_DIGEST):
            together = [each for chain in chains[begin : begin + MOST_IN_DIGEST] for each in chain]
            planned.append(_delivery((NotificationKind.DIGEST, purpose), recipient, together, thread, due))
    return sorted(planned, key=lambda each: each.announcements[0].id)


def escalate(recipient: Recipient, newest: Announcement, schedule: Schedule, now: datetime) -> PlannedDelivery:
    """Return the reminder of a change that no person took."""
    due = schedule.after_quiet(now)
    thread = change_thread(newest.chain)
    return _delivery((NotificationKind.ESCALATION, Purpose.ESCALATION), recipient, [newest], thread, due)


def _by_chain(announcements: Iterable[Announcement]) -> list[list[Announcement]]:
    found: dict[int, list[Announcement]] = {}
    for each in announcements:
        found.setdefault(each.chain, []).append(each)
    return list(found.values())


def _delivery(
    sort: tuple[NotificationKind, Purpose],
    recipient: Recipient,
    announcements: Sequence[Announcement],
    thread: str,
    due: datetime,
) -> PlannedDelivery:
    kind, purpose = sort
    about = [f"{each.id} {each.time.isoformat()}" for each in announcements]
    text = "\n".join((kind.value, purpose.value, recipient.receiver, *about))
    key = hashlib.sha256(text.encode()).hexdigest()[:40]
    return PlannedDelivery(key, kind, purpose, recipient, tuple(announcements), thread, due)
