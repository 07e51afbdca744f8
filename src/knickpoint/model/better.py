"""The better direction of a value: lower, higher, or unknown."""

from __future__ import annotations

from enum import Enum

__all__ = ["Better"]


class Better(Enum):
    """Which direction of a value is better."""

    LOWER = "lower"
    HIGHER = "higher"
    UNKNOWN = "unknown"
