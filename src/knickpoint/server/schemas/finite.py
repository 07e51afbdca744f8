"""Turn numbers into what JSON can hold."""

from __future__ import annotations

import math

__all__ = ["finite"]


def finite(value: float | None) -> float | None:
    """Return ``value``, or None where it is no finite number."""
    return value if value is not None and math.isfinite(value) else None
