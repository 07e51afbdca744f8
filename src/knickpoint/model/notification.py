"""Notifications: messages that a channel carries to a recipient, and the ledger of their deliveries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final

from knickpoint.model.announcement import Announcement

__all__ = [
    "MOST_IN_DIGEST",
    "Attachment",
    "Delivery",
    "DeliveryState",
    "Message",
    "NotificationKind",
    "PlannedDelivery",
    "Problem",
    "Purpose",
    "Recipient",
    "Sent",
    "SentMark",
]

MOST_IN_DIGEST: Final = 50
"""Announcements in one digest; what exceeds it goes into a further one."""


class NotificationKind(Enum):
    """What a notification is about.

    CHANGE carries announcements of one chain as soon as they may be sent, DIGEST those of many together. PROVISIONAL is
    about findings that are not settled, for those who ask. ESCALATION reminds of a change that no person took.
    PROBLEM is about the instance itself: an alert that fails, or a test of a channel, which no delivery ledger has. SOLVED
    is the end of a problem.
    """

    CHANGE = "change"
    DIGEST = "digest"
    PROVISIONAL = "provisional"
    ESCALATION = "escalation"
    PROBLEM = "problem"
    SOLVED = "solved"


class Purpose(Enum):
    """What a receiver hears of an announcement for; of each announcement at most once for each purpose.

    A provisional finding is announced to those who ask, and once more when it is settled. An escalation repeats what its
    receiver may have heard already. A problem is about no announcement.
    """

    CHANGE = "change"
    PROVISIONAL = "provisional"
    ESCALATION = "escalation"
    PROBLEM = "problem"


class DeliveryState(Enum):
    """The state of a delivery.

    WAITING until it is due, SENDING while a sender holds it, SENT once the receiver took it. A delivery that failed for now
    is WAITING again; one that cannot succeed, or failed too often, is FAILED. DROPPED was not sent, because what it says
    was no longer true or the channel is gone.
    """

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Recipient:
    """Who gets a message: the name of a channel, and the address within it, "" where the channel has one receiver.

    ``person`` is the name of the person in the directory of people, "" for a list or a room.
    """

    channel: str
    address: str = ""
    person: str = ""

    @property
    def receiver(self) -> str:
        """Who hears of it, whichever channel and address it takes: a person, an address of no known person, or a room."""
        if self.person:
            return f"person:{self.person}"
        return f"address:{self.address.casefold()}" if self.address else f"channel:{self.channel}"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file within a message, such as a plot: its name, its media type, and its content."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """What a channel sends, ready to go.

    ``key`` is the same in every attempt, and different for different messages: the base of a Message-ID and the idempotency
    key of a webhook. Messages with the same ``thread`` belong together. ``subject`` is one line, ``text`` is plain text,
    ``html`` refers to its ``attachments`` as ``cid:NAME``. ``data`` is the same as JSON values, for machines; mails, which
    people read, have none. ``address`` leads to the dashboard, "" where the instance has no public address. ``mute`` is the
    link with which the recipient ends such messages, "" where there is none.
    """

    key: str
    thread: str
    recipient: Recipient
    subject: str
    text: str
    html: str = ""
    attachments: tuple[Attachment, ...] = ()
    data: Mapping[str, object] = field(default_factory=dict)
    address: str = ""
    mute: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a receiver answered: the ``reference`` that it gave, such as a Message-ID or the key of an issue, and a link."""

    reference: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class SentMark:
    """That the delivery with the id ``key`` was answered with ``answer`` at ``time``."""

    key: int
    answer: Sent
    time: datetime


@dataclass(frozen=True, slots=True)
class Delivery:
    """One row of the delivery ledger: which announcements go to which recipient, and how far that is.

    ``key`` is unique: the same announcements never make a second delivery to the same recipient. ``due`` is when the next
    attempt may start, ``attempts`` counts those that were started, ``answer`` is the last failure in words, "" without one.
    """

    id: int
    key: str
    kind: NotificationKind
    recipient: Recipient
    repository_id: int
    announcements: tuple[int, ...]
    thread: str
    created: datetime
    due: datetime
    state: DeliveryState = DeliveryState.WAITING
    attempts: int = 0
    answer: str = ""
    sent: datetime | None = None
    reference: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class PlannedDelivery:
    """A delivery before it is in the ledger.

    A delivery that waits for the same recipient with the same kind and thread, and that no sender has tried, takes its
    announcements in, up to :data:`MOST_IN_DIGEST`.
    """

    key: str
    kind: NotificationKind
    purpose: Purpose
    recipient: Recipient
    announcements: tuple[Announcement, ...]
    thread: str
    due: datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """An alert that fails: why, since when, and when it worked again, None while it does not.

    Its messages are one thread.
    """

    id: int
    alert: str
    reason: str
    opened: datetime
    closed: datetime | None = None

    @property
    def thread(self) -> str:
        """The thread of its messages."""
        return f"problem-{self.id}"
