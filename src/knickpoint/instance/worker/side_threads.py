"""Threads that run beside the rounds of a worker and end with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

__all__ = ["side_threads"]


@contextmanager
def side_threads(stop: threading.Event, targets: Mapping[str, Callable[[threading.Event], None]]) -> Iterator[None]:
    """Run ``targets``, by the name of their thread, while a ``with`` lasts; at its end, set ``stop`` and wait for them.

    Each target is called with ``stop`` and returns soon after that is set.
    """
    threads = [
        threading.Thread(target=target, args=(stop,), name=f"knickpoint-{name}", daemon=True)
        for name, target in targets.items()
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
