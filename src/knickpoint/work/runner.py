"""The interface behind which work is shared out, and its simplest form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

__all__ = ["Runner", "Serial"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """Apply a function to items, somewhere.

    The results come in the order of the items, whichever is ready first. Items are taken as they are
    needed, so that a stream of blocks never has to be in memory as a whole. An error of the function
    reaches the caller as it is. Where work leaves the process, the function is one of a module's top level,
    and items and results can be pickled.
    """

    @property
    def cores(self) -> int:
        """How many cores a function may use by itself, 0 for all there are."""
        ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order."""
        ...

    def close(self) -> None:
        """Give back what the runner holds."""
        ...


class Serial:
    """Do one item after the other in this process; a function may use every core by itself."""

    cores = 0

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order."""
        return map(function, items)

    def close(self) -> None:
        """Do nothing: there is nothing to give back."""
