"""The interface of everything that maps a function over items, and its simplest implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Final, Protocol, TypeVar

__all__ = ["Place", "Runner", "Serial"]

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
        unread: why the values of the newest detection had to be sent to its workers, although they might have read them from
            the store; empty where they read them, or nothing leaves this process. Who detects sets it.
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
