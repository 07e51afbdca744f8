"""Read the times that people write for tokens and the audit log: a number of days, a date, or a date with a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.model.errors import InputError

__all__ = ["read_expiry", "read_since"]

_DAYS: Final = re.compile(r"([0-9]{1,5})d")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_AND_TIME: Final = re.compile(rf"{_DATE.pattern}[T ][0-9:.+Zz-]+")


def read_expiry(text: str, now: datetime) -> datetime:
    """Return the time that ``text`` names: ``90d`` from ``now``, the end of a date in UTC, or a date with a time.

    Raises:
        InputError: it is none of these, or not later than ``now``.
    """
    time = _read(text, now, days=1)
    if time <= now:
        raise InputError(f"{text!r} is not in the future", remedy="Give a later date, or a number of days as in 90d.")
    return time


def read_since(text: str, now: datetime) -> datetime:
    """Return the time that ``text`` names: ``7d`` before ``now``, the beginning of a date in UTC, or a date with a time.

    Raises:
        InputError: it is none of these.
    """
    return _read(text, now, days=-1)


def _read(text: str, now: datetime, *, days: int) -> datetime:
    """Read ``text``; numbers of days count in the direction of ``days``, and a date means its end if that is positive."""
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    try:
        if found := _DAYS.fullmatch(text):
            return now + timedelta(days=days * int(found[1]))
        if _DATE.fullmatch(text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC) + timedelta(days=max(0, days))
        if _DATE_AND_TIME.fullmatch(text):
            time = datetime.fromisoformat(text)
            return time if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        reason = f": {error}"
    else:
        reason = ""
    raise InputError(
        f"{shown!r} is no date and no number of days{reason}",
        remedy="Write 90d, 2027-05-31 or 2027-05-31T12:00+02:00.",
    ) from None
