"""Read the many ways in which tools write a point in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

_LATEST: Final = 253402300799.0
"""The last second of the year 9999; what is larger counts milli-, micro- or nanoseconds."""
_LONGEST: Final = 100
_FRACTION: Final = re.compile(r"(\.\d{6})\d+")
_OFFSET: Final = re.compile(r"\s+([+-]\d\d:?\d\d)$")
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]*)?")
_COMPACT: Final = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?")
"""A date and time without anything between.

As microseconds or milliseconds since 1970 it would be one of the seventies.
"""
_PATTERNS: Final = ("%a %b %d %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y %z", "%Y/%m/%d %H:%M:%S")


def read_moment(value: str | float | None) -> datetime | None:
    """Return the aware time, in UTC, in ``value``, or None where there is none.

    Numbers count seconds since 1970, or milli-, micro- or nanoseconds where they are too large for that (beyond the
    year 2286 in seconds), unless they write a date and a time: 20260403101112. A time without zone is taken as UTC.
    """
    compact = _COMPACT.fullmatch(
        value.strip() if isinstance(value, str) else f"{value:.0f}" if _is_whole(value) else ""
    )
    if compact is not None:
        return _of_calendar([int(part or 0) for part in compact.groups()])
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _LONGEST:
            return None
        if _NUMBER.fullmatch(text) and len(text.partition(".")[0]) >= 9:
            return read_moment(float(text))
        return _read_text(text)
    if value is None or not 0 < value < _LATEST * 1e9:
        return None
    seconds = float(value)
    while seconds >= 1e10:
        seconds /= 1000
    return datetime.fromtimestamp(seconds, UTC)


def _of_calendar(parts: Sequence[int]) -> datetime | None:
    """Return the time of year, month, day, hour, minute and second, None where the calendar has no such day."""
    year, month, day, hour, minute, second = parts
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def _is_whole(value: float | None) -> bool:
    return value is not None and 0 < value < _LATEST * 1e9 and value == int(value)


def _read_text(text: str) -> datetime | None:
    plain = _OFFSET.sub(r"\1", _FRACTION.sub(r"\1", text.removesuffix(" UTC").removesuffix(" GMT")))
    try:
        return in_utc(datetime.fromisoformat(plain))
    except ValueError:
        pass
    for pattern in _PATTERNS:
        try:
            return in_utc(datetime.strptime(text, pattern))  # noqa: DTZ007 - made aware at once
        except ValueError:
            continue
    return None


def in_utc(moment: datetime) -> datetime | None:
    """Return ``moment`` in UTC, one without zone taken as UTC; None where it falls out of the calendar there."""
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        return None
