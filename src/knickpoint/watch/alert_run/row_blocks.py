"""Choose rows among those that were judged together, without an object for each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from knickpoint.watch.detection.judged_rows import JudgedRows

__all__ = ["RowBlock", "row_blocks"]


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some of the rows that were judged together, by number, and the ids of their traces."""

    judged: JudgedRows
    rows: NDArray[np.int64]
    ids: NDArray[np.int64]

    def only(self, chosen: NDArray[np.bool_]) -> RowBlock:
        """Return the rows that are ``chosen``, a mask of them."""
        return replace(self, rows=self.rows[chosen], ids=self.ids[chosen])

    def among(self, ids: NDArray[np.int64]) -> RowBlock:
        """Return the rows whose traces are among ``ids``, ascending."""
        if not ids.size:
            return self.only(np.zeros(self.ids.size, dtype=np.bool_))
        nearest = ids[np.minimum(np.searchsorted(ids, self.ids), ids.size - 1)]
        return self.only(nearest == self.ids)

    def without_steps(self, stored: Collection[int]) -> NDArray[np.bool_]:
        """Return a mask of the rows in which nothing was found, and whose traces are not among ``stored``.

        The first row of a group that was judged together is none of them: it has the clusters of the group.
        """
        found = self.judged.sightings
        pairs = zip(self.rows.tolist(), self.ids.tolist(), strict=True)
        still = np.fromiter((row not in found and key not in stored for row, key in pairs), np.bool_, self.ids.size)
        return still & (self.rows > 0) if self.judged.group else still


def row_blocks(found: Iterable[JudgedRows], most: int) -> Iterator[list[RowBlock]]:
    """Yield all rows of ``found`` in their order, ``most`` at a time, however many were judged together."""
    block: list[RowBlock] = []
    room = most
    for judged in found:
        ids = np.fromiter((trace.id for trace in judged.traces), np.int64, len(judged.traces))
        first = 0
        while first < ids.size:
            rows = np.arange(first, min(first + room, ids.size))
            block.append(RowBlock(judged, rows, ids[rows]))
            first += rows.size
            room -= rows.size
            if not room:
                yield block
                block, room = [], most
    if block:
        yield block
