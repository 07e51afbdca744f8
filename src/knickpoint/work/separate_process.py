"""Call functions in a process of its own, which stays for the next call."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import ParamSpec, TypeVar

from knickpoint.model.errors import ServiceError

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
            ServiceError: the process was ended, as by a system that is out of memory. The next call starts another one.
        """
        with self._lock:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_end_with_parent)
            pool = self._pool
        try:
            return pool.submit(function, *arguments, **named).result()
        except BrokenProcessPool as error:
            self._drop(pool)
            raise ServiceError(
                "the process that did this was ended",
                where="a process of this machine",
                remedy="Check whether the memory suffices, and try again.",
            ) from error

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


def _end_with_parent() -> None:
    """End this process when the one that started it is gone: it would wait for calls without an end."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
