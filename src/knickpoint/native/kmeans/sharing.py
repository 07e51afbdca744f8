"""Share blocks of rows between threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Share", "sharing"]

Share = Callable[[Callable[[int], Any], range], Iterator[Any]]
"""Calls a function for each block, as ``map`` does, in any order; the answers come in the order of the blocks."""


@contextmanager
def sharing(threads: int, blocks: range) -> Iterator[Share]:
    """Give ``map``, or the ``map`` of a pool of threads that lives as long as the context.

    A single block is work for the calling thread: handing it over takes longer than the work.
    """
    if min(threads, len(blocks)) <= 1:
        yield map
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        yield pool.map
