"""Notifications: messages that a channel carries to a recipient, and the ledger of their deliveries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final

from knickpoint.model.change_point import Condition, Direction, SuspectRange
from knickpoint.model.quantity_text import change_text
from knickpoint.model.settlement import FindingKind
from knickpoint.model.unit import is_counted

# Announcements: what is worth saying about a change, each thing once.
#
# An announcement is a row of the *announcement ledger*, written in the transaction of the run that made it true.
# Senders of mails and messages read the ledger; nothing here sends. Announcements about one change form a *chain*: the
# first one says that a level changed, each later one corrects or ends what was announced before. See
# ``docs/decisions/announcements.md``.


class AnnouncementKind(Enum):
    """What an announcement says.

    PROVISIONAL is about a change that is not settled yet. REGRESSED (worse, or of unknown direction) and IMPROVED
    announce a settled change; a chain begins with one of them, or has it after its PROVISIONAL row. MOVED widens the
    suspect range. GREW says that a drift has become twice as large as was announced last. LOCATED says that a bisection
    found the commit, BISECTED that one ended in another way. RECOVERED says that the level before a change is back, or
    that before an improvement whose loss is not a change of its own; FIXED says it of a change that a person had
    decided about. WITHDRAWN says that later data no longer show the change, RETURNED that they show it after all.
    """

    PROVISIONAL = "provisional"
    REGRESSED = "regressed"
    IMPROVED = "improved"
    MOVED = "moved"
    GREW = "grew"
    LOCATED = "located"
    BISECTED = "bisected"
    RECOVERED = "recovered"
    FIXED = "fixed"
    WITHDRAWN = "withdrawn"
    RETURNED = "returned"

    @property
    def opens(self) -> bool:
        """Whether it announces a settled change for the first time."""
        return self in {AnnouncementKind.REGRESSED, AnnouncementKind.IMPROVED}


@dataclass(frozen=True, slots=True)
class AnnouncementRule:
    """What is announced, and when.

    Attributes:
        improvements: whether senders hear of improvements; the ledger has them in any case.
        late_minutes: minutes for which a settled finding waits for late results of unmeasured commits in its suspect
            range.
    """

    improvements: bool = True
    late_minutes: float = 0.0


DEFAULT_ANNOUNCEMENT_RULE = AnnouncementRule()


@dataclass(frozen=True, slots=True)
class Announcement:
    """One row of the ledger, with the numbers at its moment.

    ``chain`` is the id of the first announcement about the change, ``number`` counts from 0 within the chain.
    ``change_id`` is the change that had most of the members then; ``traces`` counts its live members that are
    announced. The levels, the sizes and the trace are those of the ``lead``, the id of the member that got worse most.
    The change lies in ``suspect_range`` or at most ``interval`` values of the trace away from it. Where later data move
    it further, a MOVED row has the range over the announced place and the new one: so a change that moves to and fro is
    corrected once. ``condition`` is RECOVERED where an earlier level was back already. ``cause_id`` is the change that
    brought it back, 0 for none. ``provisional`` marks what only those may hear who ask for findings that are not
    settled: the PROVISIONAL row, and the WITHDRAWN row of what never settled. ``unsent`` is the reason for which nobody
    is told, "" where people are: it is about a change of long ago, or follows what nobody was told.
    """

    id: int
    chain: int
    number: int
    repository_id: int
    change_id: int
    kind: AnnouncementKind
    time: datetime
    suspect_range: SuspectRange
    direction: Direction
    finding_kind: FindingKind
    condition: Condition
    traces: int
    lead: int
    trace_key: str
    unit: str
    before_level: float
    after_level: float
    size: float
    relative_size: float
    interval: int = 0
    cause_id: int = 0
    provisional: bool = False
    unsent: str = ""

    @property
    def size_text(self) -> str:
        """The size in words, as it was announced: "12 % slower"."""
        noise = self.finding_kind is FindingKind.NOISE
        return change_text(self.size, self.relative_size, self.unit, noise=noise, before=self.before_level)

    def is_small(self, below: float) -> bool:
        """Return True if it is about a level of something counted, such as bytes, that moved by less than ``below``."""
        level = self.finding_kind is not FindingKind.NOISE
        return level and is_counted(self.unit) and abs(self.relative_size) < below


MOST_IN_DIGEST: Final = 50
"""Announcements in one digest; what exceeds it goes into a further one."""

SMALL_THREAD: Final = "digest-small-"
"""How the threads begin in which small changes of counted things wait for the digest of the day."""


class NotificationKind(Enum):
    """What a notification is about.

    CHANGE carries announcements of one chain as soon as they may be sent, DIGEST those of many together. PROVISIONAL is
    about findings that are not settled, for those who ask. ESCALATION reminds of a change that no person took. PROBLEM
    is about the instance itself: an alert that fails, or a test of a channel, which no delivery ledger has. SOLVED is
    the end of a problem.
    """

    CHANGE = "change"
    DIGEST = "digest"
    PROVISIONAL = "provisional"
    ESCALATION = "escalation"
    PROBLEM = "problem"
    SOLVED = "solved"


class Purpose(Enum):
    """What a receiver hears of an announcement for; of each announcement at most once for each purpose.

    A provisional finding is announced to those who ask, and once more when it is settled. An escalation repeats what
    its receiver may have heard already. A problem is about no announcement.
    """

    CHANGE = "change"
    PROVISIONAL = "provisional"
    ESCALATION = "escalation"
    PROBLEM = "problem"


class DeliveryState(Enum):
    """The state of a delivery.

    WAITING until it is due, SENDING while a sender holds it, SENT once the receiver took it. A delivery that failed for
    now is WAITING again; one that cannot succeed, or failed too often, is FAILED. DROPPED was not sent, because what it
    says was no longer true or the channel is gone.
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
        """Who hears of it, by any channel and address: a person, an address of an unknown person, or a room."""
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

    ``key`` is the same in every attempt, and different for different messages: the base of a Message-ID and the
    idempotency key of a webhook. Messages with the same ``thread`` belong together. ``subject`` is one line, ``text``
    is plain text, ``html`` refers to its ``attachments`` as ``cid:NAME``. ``data`` is the same as JSON values, for
    machines; mails, which people read, have none. ``address`` leads to the dashboard, "" where the instance has no
    public address. ``mute`` is the link with which the recipient ends such messages, "" where there is none.
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
    """The answer of a receiver: its ``reference``, such as a Message-ID or the key of an issue, and a link."""

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

    ``key`` is unique: the same announcements never make a second delivery to the same recipient. ``due`` is when the
    next attempt may start, ``attempts`` counts those that were started, ``answer`` is the last failure in words, ""
    without one.
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

    @property
    def why(self) -> str:
        """Why it failed or was dropped, or why it does not go out at once; "" where there is nothing to say."""
        small = self.thread.startswith(SMALL_THREAD)
        return self.answer or ("small changes of what is counted wait for the digest of the day" if small else "")


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


# Tickets of a tracker: issues of GitHub, GitLab or Jira that a channel made, and what comes back from there.


class FixVerdict(Enum):
    """What the data say about a closed ticket with a fixing revision.

    NONE: the ticket is open, or its fixing revision is unknown. NOT_MEASURED: no trace of its findings has a value at
    or after that commit. FIXED: all measured traces are back at their level before. NOT_FIXED: one of them is not.
    """

    NONE = ""
    NOT_MEASURED = "not-measured"
    FIXED = "fixed"
    NOT_FIXED = "not-fixed"


@dataclass(frozen=True, slots=True)
class TicketFields:
    """The fields that map a ticket back to one change.

    Attributes:
        repository: name of the repository.
        query: text of a query that the traces of the change match.
        trace: key of the trace that changed most.
        traces: number of traces.
        line: name of the line, "" for the default line.
        failing: first failing revision: hash of the first commit measured at the new level.
        fixed: fixing revision, "" where it is unknown.
        change: id of the change.
        severity: `low`, `normal` or `high`.
        link: address of the change in the dashboard, "" without one.
    """

    repository: str
    query: str
    trace: str
    traces: int
    line: str
    failing: str
    fixed: str = ""
    change: int = 0
    severity: str = "normal"
    link: str = ""


@dataclass(frozen=True, slots=True)
class TrackerTicket:
    """A ticket as a tracker last described it.

    ``name`` is what people write: ``owner/name#12``, ``PERF-7``. ``fixed`` is the fixing revision as the tracker has
    it, "" without one. ``updated`` is the tracker's time. ``verdict`` is about ``checked``, the fixing revision that
    was compared with the data. ``id`` is 0 before it is stored.
    """

    channel: str
    name: str
    url: str
    title: str
    open: bool = True
    assignee: str = ""
    fixed: str = ""
    updated: datetime | None = None
    verdict: FixVerdict = FixVerdict.NONE
    checked: str = ""
    id: int = 0
