"""Map over items in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Final, Self, TypeVar

from knickpoint.model.errors import InputError, ServiceError
from knickpoint.work.bounded_calls import results_in_order
from knickpoint.work.runner import Place

__all__ = ["Processes"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Processes:
    """Hold a pool of ``workers`` processes, started at the first use and kept until :meth:`close`.

    Each call has one core. Use it as a context manager; a script that does so from its top level needs the
    usual ``if __name__ == "__main__":``.
    """

    cores = 1
    place: Final = Place.THIS_MACHINE
    unread = ""

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise InputError(f"{workers} processes cannot do anything", remedy="Give 1 or more, or none for all cores.")
        self.workers = workers or len(os.sched_getaffinity(0))
        self._pool: ProcessPoolExecutor | None = None

    def connect(self) -> None:
        """Do nothing: processes are started at the first use."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order; two items a process are under way at most.

        Raises:
            ServiceError: a process was killed, as by a system that is out of memory. The next call starts new ones.
        """
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=context)
        pool = self._pool

        def submit(item: Item) -> Future[Result]:
            return pool.submit(function, item)

        try:
            yield from results_in_order(submit, items, at_once=2 * self.workers)
        except BrokenProcessPool as error:
            self.close()
            raise ServiceError(
                "a process ended while it worked",
                where=f"{self.workers} processes of this machine",
                remedy="Check whether the memory suffices, and give fewer processes.",
            ) from error

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        """Return the runner."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        self.close()
