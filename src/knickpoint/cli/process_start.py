"""Start a process that lives long: its garbage collection, and the free memory that its C library retains."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["collecting_later", "limit_retained_memory"]

_MALLOC_OPTIONS: Final = {
    "MALLOC_ARENA_MAX": (-8, 2),
    "MALLOC_TRIM_THRESHOLD_": (-1, 4 << 20),
    "MALLOC_MMAP_THRESHOLD_": (-3, 4 << 20),
}
"""Variables of the GNU C library, and for each the number of its option in ``malloc.h`` and the value that it gets."""


def limit_retained_memory() -> None:
    """Limit the free memory that the GNU C library retains for the threads of this process; call it before there are threads.

    By default they allocate from up to eight arenas for each core, each of which keeps what is freed between parts that
    are in use, and up to 64 MB at its end. So in a process that answers in some twenty threads the memory grows for hours,
    although what is in use does not. Two arenas are enough there, and 4 MB at the end of each. What the environment sets
    stays, and other C libraries are as they are.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None  # musl has none
    if set_option is None:
        return
    for variable, (option, value) in _MALLOC_OPTIONS.items():
        if variable not in os.environ:
            set_option(option, value)


@contextmanager
def collecting_later() -> Iterator[Callable[[], None]]:
    """Hold back the garbage collector while a process starts, and give what to call when everything is loaded.

    A start makes some 200,000 objects that live as long as the process. The collector would walk them hundreds of times
    on the way, a fifth of the time to ready, and again at each full collection, while requests wait. So the collector
    leaves them out until the ``with`` ends.
    """
    was_on = gc.isenabled()
    gc.disable()

    def loaded() -> None:
        gc.freeze()
        if was_on:
            gc.enable()

    try:
        yield loaded
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()
