"""Keep a bounded number of calls under way, and yield their results in the order of the items.

So the values of a large store never have to be in memory as a whole, and all workers have something to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

__all__ = ["PendingCall", "results_in_order"]

Item = TypeVar("Item")
Result_co = TypeVar("Result_co", covariant=True)
Result = TypeVar("Result")


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
