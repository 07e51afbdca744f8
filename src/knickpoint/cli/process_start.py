"""Start a process that lives long: what it loads is left to the garbage collector only afterwards, or never."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["collecting_later"]


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
