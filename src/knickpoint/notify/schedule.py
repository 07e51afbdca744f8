"""When messages go out: at once or at the times of digests, and never in quiet hours. All functions are pure.

Times of the day are those of a clock on a wall in the time zone. A time that the clock skips is as late after the skip as
it would have been, and one that the clock shows twice is meant at its first time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from knickpoint.model.errors import ConfigError
from knickpoint.notify.settings import NotifySettings

__all__ = ["Schedule", "read_schedule"]

_TIME: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_DAYS: Final = 3
"""Days on which the next time of the day is looked for; with a skipped one, it is at most the day after tomorrow."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When messages go out.

    ``digest`` are the times of the day of digests, none where messages go out at once. ``quiet`` are the beginning and
    the end of the quiet hours, None without them; they may include midnight.
    """

    zone: ZoneInfo
    digest: tuple[time, ...] = ()
    quiet: tuple[time, time] | None = None

    def due(self, now: datetime) -> datetime:
        """Return when a message that is planned ``now`` goes out."""
        return self.after_quiet(self._next_digest(now) if self.digest else now)

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

    def _next_digest(self, now: datetime) -> datetime:
        days = list(_days(self._local(now)))
        return min(found for day in days for clock in self.digest if (found := self._instant(day, clock)) >= now)

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
        return Schedule(zone, times)
    begin, dash, end = settings.quiet.partition("-")
    quiet = _read_time(begin.strip(), "quiet", where), _read_time(end.strip() if dash else "", "quiet", where)
    if quiet[0] == quiet[1]:
        raise ConfigError(
            f"quiet is {settings.quiet!r}, the whole day",
            where=where,
            remedy="Give hours that end, or set paused = true.",
        )
    return Schedule(zone, times, quiet)


def _read_time(text: str, name: str, where: str) -> time:
    found = _TIME.fullmatch(text)
    if not found:
        example = 'quiet = "22:00-07:00"' if name == "quiet" else 'digest = ["08:00", "16:00"]'
        raise ConfigError(
            f"{name} has {text!r}, which is no time of the day", where=where, remedy=f"Write it as in {example}."
        )
    return time(int(found[1]), int(found[2]))


def _days(first: date) -> Iterator[date]:
    return (first + timedelta(days=number) for number in range(_DAYS))
