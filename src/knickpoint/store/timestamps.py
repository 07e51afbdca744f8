"""Times as the database keeps them: seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

__all__ = ["moment"]

_LATEST: Final = 253402300799.0
"""The last second of the calendar. The end of it, as a number of seconds, rounds up to the year 10000."""


def moment(seconds: float) -> datetime:
    """Turn seconds since 1970 into an aware time in UTC; what is later than the calendar becomes its last second."""
    return datetime.fromtimestamp(min(seconds, _LATEST), UTC)
