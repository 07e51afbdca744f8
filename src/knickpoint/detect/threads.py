"""How many threads the work of many series is shared among."""

from __future__ import annotations

import os

__all__ = ["available_threads"]


def available_threads() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
