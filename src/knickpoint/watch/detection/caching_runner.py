"""A runner of this process that detects ahead of its caller, and caches where series had steps.

While the caller describes and compares what was found in some traces, the next ones are searched: kernels let other threads run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import TypeVar, cast

from knickpoint.watch.detection.shards import detect_shard
from knickpoint.watch.detection.view_cache import ViewCache
from knickpoint.work import Serial

__all__ = ["CachingRunner"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class CachingRunner(Serial):
    """Work in this process, one item ahead of the caller, with a cache of the steps of earlier shards."""

    works_ahead = True

    def __init__(self) -> None:
        self._cache = ViewCache()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order; while the caller handles one, the next is under way."""
        cached: object = partial(detect_shard, cache=self._cache)
        same = function is detect_shard
        return _one_ahead(cast("Callable[[Item], Result]", cached) if same else function, items)


def _one_ahead(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Map in one other thread; a single item needs none."""
    rest = iter(items)
    first = list(islice(rest, 2))
    if len(first) < 2:
        yield from map(function, first)
        return
    thread = ThreadPoolExecutor(1, thread_name_prefix="ahead")
    try:
        under_way = thread.submit(function, first[0])
        for item in chain(first[1:], rest):
            following = thread.submit(function, item)
            yield under_way.result()
            under_way = following
        yield under_way.result()
    finally:  # the caller may stop early
        thread.shutdown(cancel_futures=True)
