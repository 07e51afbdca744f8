"""Wait until something is so, for a limited time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

__all__ = ["PAUSE", "wait_until"]

PAUSE: Final = threading.Event()
"""Is never set: what waits for it lets time pass."""


def wait_until(what: str, is_so: Callable[[], bool], *, seconds: float = 60.0, every: float = 0.1) -> None:
    """Ask ``is_so`` again and again; fail with ``what`` where it is not so after ``seconds``."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds:.0f} s, it is not so: {what}")
        PAUSE.wait(every)
