"""Keep the chunks of traces that were decoded last, as lists of findings name the same traces again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

from knickpoint.store.traces.trace_chunks import StoredChunk

__all__ = ["DecodedChunks"]

_MOST: Final = 128
"""Chunks that are kept; about 150 kB each."""


class DecodedChunks:
    """Decode rows of the table of chunks, or find them decoded; safe for threads.

    A chunk is known by its bytes, so it does not matter which transaction read it, or whether that was undone.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[bytes, bytes, StoredChunk]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, rows: Iterable[Any]) -> dict[int, StoredChunk]:
        """Return the chunks of ``rows`` by id."""
        rows = list(rows)
        if len(rows) > _MOST:
            return {row.id: StoredChunk.of(row) for row in rows}
        return {row.id: self._one(row) for row in rows}

    def _one(self, row: Any) -> StoredChunk:
        with self._lock:
            known = self._known.get(row.id)
            if known is not None and known[:2] == (row.keys, row.facts):
                self._known.move_to_end(row.id)
                return known[2]
        chunk = StoredChunk.of(row)
        with self._lock:
            self._known[row.id] = (row.keys, row.facts, chunk)
            self._known.move_to_end(row.id)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return chunk
