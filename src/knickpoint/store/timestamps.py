"""Times as the database keeps them: seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["moment"]


def moment(seconds: float) -> datetime:
    """Turn seconds since 1970 into an aware time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
