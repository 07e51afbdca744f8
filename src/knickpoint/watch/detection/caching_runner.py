"""A runner of this process that caches where series had steps, so that it detects in each of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar, cast

from knickpoint.watch.detection.shards import detect_shard
from knickpoint.watch.detection.view_cache import ViewCache
from knickpoint.work import Serial

__all__ = ["CachingRunner"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class CachingRunner(Serial):
    """Work in this process, one item after the other, with a cache of the steps of earlier shards."""

    def __init__(self) -> None:
        self._cache = ViewCache()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order."""
        cached: object = partial(detect_shard, cache=self._cache)
        same = function is detect_shard
        return map(cast("Callable[[Item], Result]", cached) if same else function, items)
