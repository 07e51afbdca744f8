"""Better: which direction of a value is good news."""

from __future__ import annotations

from enum import Enum

__all__ = ["Better"]


class Better(Enum):
    """Say which direction of a value is good news."""

    LOWER = "lower"
    HIGHER = "higher"
    UNKNOWN = "unknown"
