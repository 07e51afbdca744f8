"""Start a process that lives long: what of its memory is collected, and where its threads allocate."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["collecting_later", "limit_arenas"]

_ARENA_MAX: Final = -8
"""The number of the option in ``malloc.h`` of the GNU C library."""

_ARENAS: Final = 2


def limit_arenas() -> None:
    """Have all threads of this process allocate from two arenas of the GNU C library; call it before there are threads.

    By default there are up to eight for each core, and each keeps what its threads free, between parts that are in use. So
    in a process that answers in some twenty threads the free parts grow for hours. Elsewhere than on the GNU C library,
    and where the environment sets ``MALLOC_ARENA_MAX``, nothing changes.
    """
    if sys.platform != "linux" or "MALLOC_ARENA_MAX" in os.environ:
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if set_option is not None:
        set_option(_ARENA_MAX, _ARENAS)


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
