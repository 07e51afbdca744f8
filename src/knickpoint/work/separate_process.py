"""Call functions in a process of its own, which stays for the next call."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import ParamSpec, TypeVar

__all__ = ["SeparateProcess"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class SeparateProcess:
    """A process that makes one call after another, started by the first and kept until :meth:`close`; safe for threads.

    It ends with the process that started it, however that ends. What is called, and what it returns, is pickled.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None

    def call(
        self, function: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs
    ) -> Result:
        """Return what ``function`` returns there, or raise what it raises; the calls of several threads take turns.

        Raises:
            BrokenProcessPool: the process was ended, as by a system that is out of memory. The next call starts another one.
        """
        with self._lock:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_follow_parent)
            pool = self._pool
        try:
            return pool.submit(function, *arguments, **named).result()
        except BrokenProcessPool:
            self._drop(pool)
            raise

    def close(self) -> None:
        """End the process after what it does now."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def _drop(self, broken: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._pool is broken:
                self._pool = None
        broken.shutdown(wait=False)


def _follow_parent() -> None:
    """Let the process that started this one decide when it ends, and end when that is gone, instead of waiting for calls.

    Ctrl-C and a service manager signal both processes, while the first one still finishes what it has begun.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
