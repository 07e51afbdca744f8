"""Share blocks of rows between threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["Share", "sharing"]

Share = Callable[[Callable[[int], Any], range], Iterable[Any]]
"""Calls a function for each block, as ``map`` does, in any order; the answers come in the order of the blocks."""


@contextmanager
def sharing(threads: int, blocks: range) -> Iterator[Share]:
    """Give ``map``, or a ``map`` whose work the calling thread shares with a pool that lives as long as the context.

    A single block is work for the calling thread: handing it over takes longer than the work.
    """
    others = min(threads, len(blocks)) - 1
    if others < 1:
        yield map
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(others) as pool:
        yield lambda function, places: _share(pool, others, function, places)


def _share(pool: ThreadPoolExecutor, others: int, function: Callable[[int], Any], blocks: range) -> list[Any]:
    """Call ``function`` for each of ``blocks`` here and in as many ``others``: whoever is done takes the next one.

    So a busy core slows nobody down, and a pass costs one message for each thread, not one for each block.
    """
    waiting = deque(enumerate(blocks))
    answers: list[Any] = [None] * len(blocks)

    def work() -> None:
        while True:
            try:
                place, block = waiting.popleft()
            except IndexError:
                return
            answers[place] = function(block)

    helping = [pool.submit(work) for _ in range(others)]
    work()
    for future in helping:
        if not future.cancel():
            future.result()
    return answers
