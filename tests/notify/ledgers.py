"""Write changes and announcements into a store as the announcer leaves them, and collect what channels are handed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import update

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Condition, Direction, SuspectRange
from knickpoint.model.notification import Announcement, AnnouncementKind, Delivery, Message, Sent
from knickpoint.model.settlement import FindingKind
from knickpoint.notify.planner import Planner
from knickpoint.notify.recipients import Audience, Schedule, read_schedule
from knickpoint.notify.sender import Sender
from knickpoint.notify.settings import ChannelKind, ChannelSettings, NotifySettings
from knickpoint.people import Directory
from knickpoint.store import Store
from knickpoint.store.tables.findings import STATEMENTS_OF_CHANGES, change, change_point

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
MAIL = ChannelSettings("mail", ChannelKind.MAIL, to=("perf@example.org", "team@example.org"))
ROOM = ChannelSettings("room", ChannelKind.WEBHOOK)
ALERTS = (Alert("a", notify=("mail",)), Alert("b", notify=("room", "mail")))


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def _blank(table: Any, **values: object) -> dict[str, object]:
    required = {each.name: each.type.python_type() for each in table.columns if not each.nullable}
    return {**required, **values}


@dataclass
class Announcer:
    """Adds changes and their announcements to the ledgers of a store."""

    store: Store
    repository_id: int
    clock: Clock
    written: list[Announcement] = field(default_factory=list)

    def open(
        self, kind: AnnouncementKind = AnnouncementKind.REGRESSED, *, alerts: Sequence[str] = ("a",), slot: int = 4
    ) -> Announcement:
        """Announce a change of a trace of its own; the chain, the change and the change point have one id."""
        key = self.store.findings.announcements.next_id()
        place = {"line": "main", "previous": slot - 1, "slot": slot, "repository_id": self.repository_id}
        with self.store.transaction() as connection:
            connection.execute(
                change_point.insert().values(
                    _blank(
                        change_point,
                        **place,
                        id=key,
                        trace_id=key,
                        trace_key=f",name=t{key},",
                        unit="ms",
                        direction=Direction.REGRESSION.value,
                        condition=Condition.PRESENT.value,
                        kind=FindingKind.STEP.value,
                        certainty="settled",
                        status="new",
                        alerts="[" + ",".join(f'"{name}"' for name in alerts) + "]",
                        change_id=key,
                        announced=key,
                        absent_since=-1,
                        alert_kind="work",
                        alert_severity=1,
                        before_level=10.0,
                        after_level=12.0,
                        size=2.0,
                        relative_size=0.2,
                        method="threshold",
                    )
                )
            )
            connection.execute(change.insert().values(_blank(change, **place, id=key, traces=1)))
            self.store.database.later(STATEMENTS_OF_CHANGES, [key])
            return self._append(key, key, 0, kind)

    def follow(self, chain: int, kind: AnnouncementKind, *, unsent: str = "") -> Announcement:
        """Announce what became of a change; ``unsent`` says why nobody is told."""
        (rows,) = self.store.findings.announcements.chains([chain]).values()
        key = self.store.findings.announcements.next_id()
        return self._append(key, chain, len(rows), kind, unsent)

    def hold(self, chain: int, reason: str) -> None:
        """Hold the finding of a chain back, or end that with ""."""
        self._change(chain, held=reason)

    def take(self, chain: int, person: str) -> None:
        """Assign the finding of a chain."""
        self._change(chain, assignee=person)

    def _change(self, chain: int, **values: str) -> None:
        with self.store.transaction() as connection:
            connection.execute(update(change_point).where(change_point.c.announced == chain).values(values))
            self.store.database.later(STATEMENTS_OF_CHANGES, [chain])

    def _append(self, key: int, chain: int, number: int, kind: AnnouncementKind, unsent: str = "") -> Announcement:
        written = Announcement(
            id=key,
            chain=chain,
            number=number,
            repository_id=self.repository_id,
            change_id=chain,
            kind=kind,
            time=self.clock(),
            suspect_range=SuspectRange("main", 3, 4),
            direction=Direction.REGRESSION,
            finding_kind=FindingKind.STEP,
            condition=Condition.PRESENT,
            traces=1,
            lead=chain,
            trace_key=f",name=t{chain},",
            unit="ms",
            before_level=10.0,
            after_level=12.0,
            size=2.0,
            relative_size=0.2,
            provisional=kind is AnnouncementKind.PROVISIONAL,
            unsent=unsent,
        )
        self.store.findings.announcements.append([written])
        self.written.append(written)
        return written


@dataclass
class Mailbox:
    """A channel that keeps what it is handed; ``failures`` are raised first, one for each message."""

    taken: list[Message] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    after: list[BaseException] = field(default_factory=list)

    def send(self, message: Message) -> Sent:
        if self.failures:
            raise self.failures.pop(0)
        self.taken.append(message)
        if self.after:
            raise self.after.pop(0)
        return Sent(f"<{message.key}@example.org>")

    def close(self) -> None:
        """Do nothing."""

    def heard(self) -> list[tuple[str, int]]:
        """Return receiver and announcement of each message, repetitions by key counted once."""
        by_key = {message.key: message for message in self.taken}
        ids = [(each, each.data["announcements"]) for each in by_key.values()]
        return sorted((each.recipient.receiver, key) for each, keys in ids if isinstance(keys, tuple) for key in keys)


def plain_message(delivery: Delivery, _now: datetime) -> Message:
    """Return a message that names its announcements."""
    data = {"announcements": delivery.announcements, "kind": delivery.kind.value}
    return Message(delivery.key, delivery.thread, delivery.recipient, "subject", "text", data=data)


@dataclass
class Office:
    """A planner and a sender of one store, with a clock that a test advances."""

    store: Store
    clock: Clock
    mailbox: Mailbox
    settings: NotifySettings = field(default_factory=NotifySettings)
    channels: tuple[ChannelSettings, ...] = (MAIL, ROOM)
    holders: int = 0

    def __post_init__(self) -> None:
        self.store.findings.alerts_in_force.replace(ALERTS)
        self.store.notifications.switch(on=True)
        self.restart()

    @property
    def schedule(self) -> Schedule:
        return read_schedule(self.settings)

    @property
    def planner(self) -> Planner:
        by_name = {each.name: each for each in self.channels}
        return Planner(
            self.store,
            Audience(by_name, Directory(), 0.2, self.settings.machine_owners),
            self.schedule,
            escalate_hours=self.settings.escalate_hours,
        )

    def restart(self) -> None:
        """Replace the sender, as a new process after a kill."""
        self.holders += 1
        self.sender = Sender(
            self.store,
            {each.name: each for each in self.channels},
            lambda _settings: self.mailbox,
            plain_message,
            self.schedule,
            self.settings.attempts,
            f"sender {self.holders}",
            self.clock,
        )

    def plan(self) -> None:
        """Plan all that was announced."""
        while (plan := self.planner.next_plan(self.clock(), self.planner.newest())) is not None:
            self.planner.write(plan, self.clock())

    def finish(self) -> None:
        """Plan and send until no delivery waits."""
        self.plan()
        for _ in range(2_000):
            due = self.store.notifications.next_due()
            if due is None:
                return
            self.clock.now = max(self.clock.now, due)
            if not self.sender.step():  # a channel pauses, or a sender that was killed has the lease
                self.clock.advance(60)
        raise AssertionError("deliveries never end")
