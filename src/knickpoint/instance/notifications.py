"""The notifications of an instance: what its configuration says, put together with its store and its channels."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from knickpoint.access.sessions import session_key
from knickpoint.instance.alert_round import preview_new_suspects, rank_new_suspects
from knickpoint.instance.config import Config
from knickpoint.instance.instance import Instance
from knickpoint.model.alert import AlertKind
from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Delivery, Message, NotificationKind, PlannedDelivery, Recipient
from knickpoint.model.plain_text import plain_line
from knickpoint.notify.channel import Channel, ChannelContext, open_channel
from knickpoint.notify.links import LINK_PATH, LinkAction, LinkClaim, sign_link
from knickpoint.notify.planner import Planner, ProblemPlanner
from knickpoint.notify.recipients import TRACKERS, Audience, read_schedule
from knickpoint.notify.sender import Outcome, Sender, WriteMessage
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.people import Directory
from knickpoint.store import Store

if TYPE_CHECKING:
    from knickpoint.notify.messages import NotificationFacts, Templates


# The text of a message about an alert that fails, at the time when it is sent.


_LONGEST: Final = 500


def problem_facts(store: Store, config: Config, delivery: Delivery) -> NotificationFacts | None:
    """Return the facts of a problem or of its end; None where there is nothing to say.

    A problem that is over is not mentioned to those who did not hear of it, and neither is its end.
    """
    from knickpoint.notify.messages import NotificationFacts

    number = delivery.thread.rpartition("-")[2]
    problem = store.problems.get(int(number)) if number.isascii() and number.isdigit() else None
    if problem is None:
        return None
    alert, since = plain_line(problem.alert, _LONGEST), f"{problem.opened:%Y-%m-%d %H:%M} UTC"
    if delivery.kind is NotificationKind.SOLVED:
        if not store.notifications.was_sent(NotificationKind.PROBLEM, delivery.thread, delivery.recipient):
            return None
        headline = f"The alert {alert} works again"
        details = f"It had failed since {since}."
    else:
        if problem.closed is not None:
            return None
        headline = f"The alert {alert} fails, and finds nothing new"
        details = (
            f"{plain_line(problem.reason, _LONGEST)} It has failed since {since}, and is run again as usual. "
            "There is one message once it works again."
        )
    return NotificationFacts(
        kind=delivery.kind.value,
        instance=plain_line(config.name, _LONGEST),
        recipient=plain_line(delivery.recipient.person, _LONGEST),
        problem=headline,
        problem_details=details,
        address=config.server.address,
    )


_FACTS_KEPT_SECONDS: Final = 30.0
"""How long the facts of a change are used for further recipients before they are read again."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


def audience_of(instance: Instance) -> Audience:
    """Return the people and channels of an instance.

    Raises:
        ConfigError: two people have the same address.
    """
    config = instance.config
    return Audience(
        config.channels, Directory(config.people), config.notify.suspect_probability, config.notify.machine_owners
    )


def idle_channels(instance: Instance) -> list[str]:
    """Return the channels, by name, that no alert for work names, so that no change reaches them.

    Trackers may do without.
    """
    named = {name for alert in instance.alerts if alert.kind is AlertKind.WORK for name in alert.notify}
    channels = instance.config.channels.values()
    return sorted(each.name for each in channels if each.kind not in TRACKERS and each.name not in named)


def channel_context(instance: Instance) -> ChannelContext:
    """Return the facts about an instance that its channels need."""
    config = instance.config
    return ChannelContext(instance.directory, config.server.address, instance.outgoing, config.name, instance.store)


def try_channel(instance: Instance, name: str, *, to: str = "") -> Message:
    """Send a test message through a channel, to its first address or ``to``; return the message.

    Raises:
        ConfigError: there is no such channel, it cannot be opened, or a mail channel has no address.
        DeliveryError: the receiver did not take it.
    """
    from knickpoint.notify.messages import NotificationFacts, load_templates, message_for

    config = instance.config
    settings = config.channels.get(name)
    if settings is None:
        known = ", ".join(config.channels) or "none"
        raise ConfigError(f"there is no channel {name!r}", remedy=f"Channels of the configuration: {known}.")
    address = to or next(iter(settings.to), "")
    if settings.kind is ChannelKind.MAIL and not address:
        raise ConfigError("there is no address to send to", where=f"[channels.{name}]", remedy="Give one with --to.")
    now = _utc_now()
    facts = NotificationFacts(
        kind=NotificationKind.PROBLEM.value,
        instance=config.name,
        problem=f"This is a test of the channel {name}",
        problem_details="A person asked for it with knick notify --test. There is nothing to do.",
        address=config.server.address,
    )
    key = secrets.token_hex(20)
    delivery = Delivery(
        0, key, NotificationKind.PROBLEM, Recipient(name, address), 0, (), f"test-{key}", created=now, due=now
    )
    message = message_for(delivery, facts, load_templates(settings, instance.directory))
    channel = open_channel(settings, channel_context(instance))
    try:
        channel.send(message)
    finally:
        channel.close()
    return message


@dataclass(frozen=True)
class SignedLinks:
    """Makes the signed links of messages.

    Attributes:
        address: the public address of the dashboard, "" without one; then there are no links.
        key: that of the instance.
        expires: until when the links are good.
    """

    address: str
    key: bytes = field(repr=False)
    expires: datetime

    def noise(self, change: int, recipient: Recipient) -> str:
        """Return the link with which ``recipient`` marks a change as noise, "" where there is none."""
        return self._link(change, LinkAction.NOISE, recipient)

    def take(self, change: int, recipient: Recipient) -> str:
        """Return the link with which ``recipient`` takes a change, "" where there is none."""
        return self._link(change, LinkAction.TAKE, recipient)

    def mute(self, recipient: Recipient) -> str:  # noqa: ARG002  # people are muted in the configuration
        """Return "": people are muted by [people.NAME], and lists by the channel."""
        return ""

    def _link(self, change: int, action: LinkAction, recipient: Recipient) -> str:
        if not (self.address and recipient.address):
            return ""  # what goes into rooms and tickets can be read by others than its recipient
        claim = LinkClaim(change, action, recipient.address, recipient.person, self.expires)
        return urljoin(self.address, f"{LINK_PATH}{sign_link(claim, self.key)}")


@dataclass
class Notifications:
    """Plans and sends the notifications of an instance; any number of processes may do so.

    Attributes:
        instance: the open instance.
        name: name of the worker or the command, for the leases.
        announce: receives one line about each delivery that was not sent.
        clock: the time, in UTC.
        write: writes messages. Default: from the facts in the store, with the templates of the channel.
    """

    instance: Instance
    name: str
    announce: Callable[[str], None] = lambda _line: None
    clock: Callable[[], datetime] = _utc_now
    write: WriteMessage | None = None

    @cached_property
    def planner(self) -> Planner:
        """The planner; opening it reads the schedule and the people of the configuration."""
        config = self.instance.config
        return Planner(
            self.instance.store,
            audience_of(self.instance),
            read_schedule(config.notify),
            improvements=config.findings.improvements,
            escalate_hours=config.notify.escalate_hours,
        )

    @cached_property
    def _problems(self) -> ProblemPlanner:
        planner = self.planner
        return ProblemPlanner(self.instance.store, planner.audience, planner.schedule, self.instance.alerts)

    @cached_property
    def _sender(self) -> Sender:
        config = self.instance.config
        return Sender(
            self.instance.store,
            config.channels,
            self._open,
            self.write or _Writer(self.instance),
            self.planner.schedule,
            config.notify.attempts,
            f"{self.name}/{secrets.token_hex(4)}",
            self.clock,
        )

    def plan(self) -> int:
        """Plan the deliveries of what was announced, and the escalations that are due; return how many there are.

        The suspects are ranked before: their authors are recipients.
        """
        planner = self.planner
        count = 0
        upto = planner.newest()
        cursor = self.instance.store.notifications.cursor()
        if cursor is not None and cursor < upto:
            rank_new_suspects(self.instance)
            while (plan := planner.next_plan(self.clock(), upto)) is not None:
                if planner.write(plan, self.clock()):
                    count += len(plan.deliveries)
        if cursor is not None:
            count += self._problems.plan(self.clock())
        return count + planner.remind(self.clock())

    def preview(self) -> list[PlannedDelivery]:
        """Return the deliveries that the next plan would write, without writing them."""
        planner, now = replace(self.planner, unwritten_suspects=preview_new_suspects(self.instance)), self.clock()
        plan = planner.next_plan(now, planner.newest())
        return [*(plan.deliveries if plan else ()), *planner.reminders(now)[0], *self._problems.preview(now)]

    def send(self, stop: threading.Event | None = None) -> int:
        """Send some of what is due; return how many deliveries ended or failed. While paused, nothing is sent."""
        if self.instance.config.notify.paused:
            return 0
        done = self._sender.step(stop)
        for delivery, outcome, reason in done:
            if outcome in {Outcome.FAILED, Outcome.DROPPED}:
                self.announce(f"delivery {delivery.id} to {_shown(delivery.recipient)} {outcome.value}: {reason}")
        return len(done)

    def step(self, stop: threading.Event | None = None) -> bool:
        """Plan, and send some of what is due; return whether there was anything to do."""
        if not self.instance.config.channels:
            return False
        planned = self.plan()
        return self.send(stop) > 0 or planned > 0

    def drain(self, stop: threading.Event | None = None, *, seconds: float = 60.0) -> int:
        """Plan, and send what is due until nothing is, or ``seconds`` are over.

        Return how many deliveries were handled.
        """
        if not self.instance.config.channels:
            return 0
        self.plan()
        end = time.monotonic() + seconds
        count = 0
        while not (stop is not None and stop.is_set()) and time.monotonic() < end and (done := self.send(stop)):
            count += done
        self.close()
        return count

    def close(self) -> None:
        """End the connections of the channels."""
        self._sender.close()

    def _open(self, settings: ChannelSettings) -> Channel:
        return open_channel(settings, channel_context(self.instance))


def _shown(recipient: Recipient) -> str:
    return f"{recipient.channel} {recipient.address}".strip()


@dataclass
class _Writer:
    """Writes messages from the facts in the store; facts are read again after a while."""

    instance: Instance
    _templates: dict[str, Templates] = field(default_factory=dict, init=False)
    _read: Callable[[Delivery, datetime], NotificationFacts] | None = field(default=None, init=False)
    _until: float = field(default=0.0, init=False)

    def __call__(self, delivery: Delivery, now: datetime) -> Message | None:
        """Return the message of a delivery, None where nothing of it is left."""
        from knickpoint.notify.messages import load_templates, message_for

        name = delivery.recipient.channel
        if name not in self._templates:
            settings = self.instance.config.channels[name]
            self._templates[name] = load_templates(settings, self.instance.directory)
        if delivery.kind in {NotificationKind.PROBLEM, NotificationKind.SOLVED}:
            problem = problem_facts(self.instance.store, self.instance.config, delivery)
            return message_for(delivery, problem, self._templates[name]) if problem is not None else None
        if self._read is None or time.monotonic() >= self._until:
            self._read = self._new_reader(now)
            self._until = time.monotonic() + _FACTS_KEPT_SECONDS
        facts = self._read(delivery, now)
        return message_for(delivery, facts, self._templates[name]) if facts.changes else None

    def _new_reader(self, now: datetime) -> Callable[[Delivery, datetime], NotificationFacts]:
        from knickpoint.notify.messages.fact_reader import FactReader, FactSettings

        config = self.instance.config
        expires = now + timedelta(days=config.notify.link_days)
        key = session_key(self.instance.directory, config.access)
        links = SignedLinks(config.server.address, key, expires)
        settings = FactSettings(config.name, config.server.address, self.instance.alerts, links)
        return FactReader(self.instance.store, settings).read
