"""The interface of everything that maps a function over items, and its simplest implementation."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from enum import Enum
from typing import Final, Protocol, Self, TypeVar

from knickpoint.model.errors import InputError, ServiceError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Place(Enum):
    """Where the calls of a runner take place, and so what they can read."""

    HERE = "in this process"
    THIS_MACHINE = "in other processes of this machine, which read the same files"
    CLUSTER = "on other machines, which may reach the same servers"


class Runner(Protocol):
    """Apply a function to items, in this process or elsewhere.

    The results come in the order of the items, whichever is ready first. A runner takes items as it needs
    them, so that a stream of blocks never has to be in memory as a whole. An error of the function
    reaches the caller as it is. Where work leaves the process, the function is defined at the top level of a module,
    and items and results can be pickled.

    Attributes:
        unread: why the values of the newest detection had to be sent to its workers, although they might have read them
            from the store; empty where they read them, or nothing leaves this process. Who detects sets it.
    """

    unread: str

    @property
    def cores(self) -> int:
        """How many cores one call of a function may use, 0 for all."""
        ...

    @property
    def place(self) -> Place:
        """Where the calls take place."""
        ...

    def connect(self) -> None:
        """Make sure that work can begin; nothing has to be done before :meth:`map`, which does the same.

        Raises:
            ServiceError: who does the work does not answer.
        """
        ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order."""
        ...

    def close(self) -> None:
        """Release the processes or connections of the runner."""
        ...


class Serial:
    """Work on one item after the other in this process; one call of a function may use every core."""

    cores = 0
    place: Final = Place.HERE
    unread = ""

    def connect(self) -> None:
        """Do nothing: this process is there."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order."""
        return map(function, items)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


# Keep a bounded number of calls under way, and yield their results in the order of the items.
#
# So the values of a large store never have to be in memory as a whole, and all workers have something to do.


Result_co = TypeVar("Result_co", covariant=True)


class PendingCall(Protocol[Result_co]):
    """A call under way: a future of any kind."""

    def result(self) -> Result_co:
        """Wait for the call and return what it returned, or raise what it raised."""
        ...

    def cancel(self) -> object:
        """Do not start the call if it has not begun."""
        ...


def results_in_order(
    submit: Callable[[Item], PendingCall[Result]], items: Iterable[Item], *, at_once: int
) -> Iterator[Result]:
    """Submit ``items``, at most ``at_once`` of them under way, and yield the results in their order.

    When the caller stops early or a call fails, what has not begun is cancelled.
    """
    under_way: deque[PendingCall[Result]] = deque()
    try:
        for item in items:
            under_way.append(submit(item))
            if len(under_way) >= at_once:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for pending in under_way:
            pending.cancel()


# Map over items in processes of this machine.


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
