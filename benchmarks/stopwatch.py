"""Time a call. Peers import this in environments of their own, so it needs nothing beside Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["fastest"]

Answer = TypeVar("Answer")


def fastest(call: Callable[[], Answer], repeats: int) -> tuple[float, Answer]:
    """Return the seconds of the fastest of ``repeats`` calls (one at least), and what the last one gave."""
    least = float("inf")
    for _ in range(max(1, repeats)):
        start = time.perf_counter()
        answer = call()
        least = min(least, time.perf_counter() - start)
    return least, answer
