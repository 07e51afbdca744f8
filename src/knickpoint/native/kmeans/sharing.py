"""Share blocks of rows between threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Share", "sharing"]

Share = Callable[[Callable[[int], Any], range], Iterator[Any]]
"""Calls a function for each block, as ``map`` does, in any order; the answers come in the order of the blocks."""


@contextmanager
def sharing(threads: int) -> Iterator[Share]:
    """Give ``map``, or for several threads the ``map`` of a pool that lives as long as the context."""
    if threads <= 1:
        yield map
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        yield pool.map
