"""Hold back Python's cyclic garbage collector while a large document is built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

__all__ = ["held_back"]

_LOCK: Final = Lock()
_holders: list[bool] = []
"""Who holds it back now; the first one knows whether it was on before."""


@contextmanager
def held_back() -> Iterator[None]:
    """Run the body without cyclic collection, in all threads; it comes back with the last one that leaves.

    A parsed document is a large number of new objects without a cycle among them, which the collector would walk
    again and again: a third of the time of reading.
    """
    with _LOCK:
        _holders.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            was_on = _holders.pop()
            if was_on and not _holders:
                gc.enable()
            elif was_on:
                _holders[0] = True
