"""A runner of this process that remembers where series had steps, so that each is detected in once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar, cast

from knickpoint.watch.detection.shards import detect_shard
from knickpoint.watch.detection.view_memory import ViewMemory
from knickpoint.work import Serial

__all__ = ["Remembering"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Remembering(Serial):
    """Work in this process, one item after the other, with a memory of the series that shards had."""

    def __init__(self) -> None:
        self._memory = ViewMemory()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order."""
        remembering: object = partial(detect_shard, memory=self._memory)
        same = function is detect_shard
        return map(cast("Callable[[Item], Result]", remembering) if same else function, items)
