"""Who hears of an announcement, and when: lists, authors, owners, digests, quiet hours. All functions are pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from knickpoint.model.alert import Alert, AlertKind, AlertSeverity
from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Recipient
from knickpoint.notify.settings import ChannelKind, ChannelSettings, NotifySettings
from knickpoint.people import Directory, Person

# Who hears of an announcement: lists, rooms, authors of suspects and owners. All functions are pure.
#
# A person is a receiver once, whichever channels and addresses lead there; the first in the order of the alerts and
# their channels counts.


TRACKERS: Final = frozenset({ChannelKind.GITHUB, ChannelKind.GITLAB, ChannelKind.JIRA})
"""Channels whose messages are tickets: one for each change, and only for settled ones."""

AUTOMATIC: Final = TRACKERS | {ChannelKind.WEBHOOK, ChannelKind.OTHER}
"""Channels to programs, which get each change at once: neither digests nor quiet hours mean anything to them."""


@dataclass(frozen=True, slots=True)
class AuthorOfSuspect:
    """The author of a commit that may have caused the change, or the owner of a machine that did, and the probability.

    ``configured`` is set for an owner: the configuration names the person.
    """

    person: Person
    probability: float
    configured: bool = False


@dataclass(frozen=True, slots=True)
class Audience:
    """The people and channels of an instance.

    ``least_probability`` is that of the suspects whose authors get mails, unless they are strangers to the channel.
    ``machine_owners`` get them in place of the authors where the machine changed.
    """

    channels: Mapping[str, ChannelSettings]
    directory: Directory
    least_probability: float
    machine_owners: tuple[str, ...] = ()

    def of_change(
        self, alerts: Sequence[Alert], suspects: Sequence[AuthorOfSuspect], *, provisional: bool = False
    ) -> list[Recipient]:
        """Return who hears of a change that ``alerts`` found; with ``provisional``, only those who ask for that.

        Only alerts that are for work count. Owners of an alert of high severity hear of a settled change.
        """
        return _once(self._of_change(alerts, suspects, provisional=provisional))

    def of_escalation(self, alerts: Sequence[Alert]) -> list[Recipient]:
        """Return the owners of ``alerts``, by mail; by chat where an alert has no mail channel."""
        return _once(self._of_escalation(alerts))

    def of_problem(self, alert: Alert) -> list[Recipient]:
        """Return the owners of an alert that fails; without any, who hears of its changes, but no tracker."""
        owners = self.of_escalation([alert])
        all_channels = self.of_change([alert], ())
        return owners or [each for each in all_channels if self.channels[each.channel].kind not in TRACKERS]

    def still_there(self, recipient: Recipient) -> bool:
        """Return True if a former recipient still gets messages: the channel is configured, the person is not muted."""
        person = self.directory.person_of_address(recipient.address) if recipient.address else Person()
        return recipient.channel in self.channels and not person.mute

    def list_address(self, channel: str, address: str) -> Recipient | None:
        """Return the recipient behind an address that the configuration names, None where no mail can go there."""
        person = self.directory.person_of_address(address)
        return _by_mail(channel, person)

    def _of_change(
        self, alerts: Sequence[Alert], suspects: Sequence[AuthorOfSuspect], *, provisional: bool
    ) -> Iterator[Recipient | None]:
        likely = [each for each in suspects if each.probability >= self.least_probability]
        for alert, channel in self._channels(alerts):
            if provisional and not (channel.provisional and channel.kind not in TRACKERS):
                continue
            if channel.kind is not ChannelKind.MAIL:
                yield Recipient(channel.name)
                continue
            yield from (self.list_address(channel.name, address) for address in channel.to)
            yield from (_by_mail(channel.name, each.person) for each in likely if _may_write(channel, each))
            if alert.severity is AlertSeverity.HIGH and not provisional:
                yield from (_by_mail(channel.name, self.directory.owner(owner)) for owner in alert.owners)

    def _of_escalation(self, alerts: Sequence[Alert]) -> Iterator[Recipient | None]:
        for alert in alerts:
            channels = [channel for _, channel in self._channels([alert])]
            mail = next((channel for channel in channels if channel.kind is ChannelKind.MAIL), None)
            if mail is not None:
                yield from (_by_mail(mail.name, self.directory.owner(owner)) for owner in alert.owners)
            elif alert.owners:
                yield from (Recipient(each.name) for each in channels if each.kind is ChannelKind.CHAT)

    def _channels(self, alerts: Sequence[Alert]) -> Iterator[tuple[Alert, ChannelSettings]]:
        """Yield the channels of the alerts for work; names of channels that are gone are passed over."""
        for alert in alerts:
            if alert.kind is AlertKind.WORK:
                yield from ((alert, self.channels[name]) for name in alert.notify if name in self.channels)


def _may_write(channel: ChannelSettings, author: AuthorOfSuspect) -> bool:
    """Whether ``author`` belongs to the company: by the configuration, by a section of people, or by the domain."""
    domain = author.person.mail.rpartition("@")[2].casefold()
    named = author.configured or bool(author.person.name)
    return channel.authors or named or domain in {each.casefold() for each in channel.domains}


def _by_mail(channel: str, person: Person) -> Recipient | None:
    return Recipient(channel, person.mail, person.name) if person.mail and not person.mute else None


def _once(recipients: Iterable[Recipient | None]) -> list[Recipient]:
    """Return the recipients in order, each receiver once."""
    found: dict[str, Recipient] = {}
    for recipient in recipients:
        if recipient is not None:
            found.setdefault(recipient.receiver, recipient)
    return list(found.values())


# When messages go out: at once or at the times of digests, and never in quiet hours. All functions are pure.
#
# Times of the day are those of a clock on a wall in the time zone. A time that the clock skips is as late after the
# skip as it would have been, and one that the clock shows twice is meant at its first time.


_TIME: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_DAILY: Final = time(8)
"""When small changes of counted things go out, where no times of digests are configured."""

_DAYS: Final = 3
"""Days on which the next time of the day is looked for; with a skipped one, it is at most the day after tomorrow."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When messages go out.

    ``digest`` are the times of the day of digests, none where messages go out at once. ``quiet`` are the beginning and
    the end of the quiet hours, None without them; they may include midnight. Counted things that moved by less than
    ``digest_below`` always wait for a digest.
    """

    zone: ZoneInfo
    digest: tuple[time, ...] = ()
    quiet: tuple[time, time] | None = None
    digest_below: float = 0.0

    def due(self, now: datetime) -> datetime:
        """Return when a message that is planned ``now`` goes out."""
        return self.after_quiet(self._next(self.digest, now) if self.digest else now)

    def due_daily(self, now: datetime) -> datetime:
        """Return when a digest that is planned ``now`` goes out, without configured times once a day."""
        return self.after_quiet(self._next(self.digest or (_DAILY,), now))

    def after_quiet(self, moment: datetime) -> datetime:
        """Return ``moment``, or the end of the quiet hours that it lies in."""
        if self.quiet is None:
            return moment
        begin, end = self.quiet
        for day in _days(self._local(moment) - timedelta(days=1)):
            first = self._instant(day, begin)
            last = self._instant(day if begin < end else day + timedelta(days=1), end)
            if first <= moment < last:
                return last
        return moment

    def _next(self, clocks: Sequence[time], now: datetime) -> datetime:
        days = list(_days(self._local(now)))
        return min(found for day in days for clock in clocks if (found := self._instant(day, clock)) >= now)

    def _local(self, moment: datetime) -> date:
        return moment.astimezone(self.zone).date()

    def _instant(self, day: date, clock: time) -> datetime:
        return datetime.combine(day, clock, self.zone).astimezone(UTC)


def read_schedule(settings: NotifySettings, where: str = "[notify]") -> Schedule:
    """Return the schedule that the settings describe.

    Raises:
        ConfigError: a time of the day or the time zone cannot be read.
    """
    try:
        zone = ZoneInfo(settings.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(
            f"time_zone is {settings.time_zone!r}, which is unknown here",
            where=where,
            remedy='Use a name of the time zone database, as in time_zone = "Europe/Berlin".',
        ) from error
    digest = () if settings.digest in {(), ("now",)} else settings.digest
    times = tuple(sorted({_read_time(text, "digest", where) for text in digest}))
    if not settings.quiet:
        return Schedule(zone, times, digest_below=settings.digest_below)
    begin, dash, end = settings.quiet.partition("-")
    quiet = _read_time(begin.strip(), "quiet", where), _read_time(end.strip() if dash else "", "quiet", where)
    if quiet[0] == quiet[1]:
        raise ConfigError(
            f"quiet is {settings.quiet!r}, the whole day",
            where=where,
            remedy="Give hours that end, or set paused = true.",
        )
    return Schedule(zone, times, quiet, settings.digest_below)


def _read_time(text: str, name: str, where: str) -> time:
    found = _TIME.fullmatch(text)
    if not found:
        example = 'quiet = "22:00-07:00"' if name == "quiet" else 'digest = ["08:00", "16:00"]'
        raise ConfigError(
            f"{name} has {text!r}, which is not a time of the day", where=where, remedy=f"Write it as in {example}."
        )
    return time(int(found[1]), int(found[2]))


def _days(first: date) -> Iterator[date]:
    return (first + timedelta(days=number) for number in range(_DAYS))
