"""Read and write single commits of chunks: the hot tiles, in front of what is sealed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from knickpoint.store.database import Database
from knickpoint.store.packing import narrow
from knickpoint.store.tables.tiles import hot, sealed, segment
from knickpoint.store.traces import CHUNK

__all__ = ["Tiles", "dense_of", "floats", "segment_of"]


_KINDS: Final[dict[int, type[np.floating[Any]]]] = {4: np.float32, 8: np.float64}


def floats(row: Any) -> NDArray[np.floating[Any]]:
    """Return the values of a row with ``width`` and ``data``; read-only."""
    return np.frombuffer(row.data, dtype=_KINDS[row.width])


def dense_of(row: Any) -> NDArray[np.floating[Any]]:
    """Return a sealed tile as an array (traces, span), NaN for missing; read-only where it is stored so."""
    kind = _KINDS[row.width]
    if not row.sparse:
        return np.frombuffer(row.data, dtype=kind).reshape(-1, row.span)
    count = len(row.data) // (6 + row.width)
    places = np.frombuffer(row.data, dtype="<u2", count=count)
    slots = np.frombuffer(row.data, dtype="<u4", count=count, offset=2 * count)
    tile = np.full((CHUNK, row.span), np.nan, dtype=kind)
    tile[places, slots] = np.frombuffer(row.data, dtype=kind, count=count, offset=6 * count)
    return tile


def segment_of(row: Any) -> tuple[NDArray[np.int64], NDArray[np.floating[Any]]]:
    """Return the sorted trace ids and the values of a segment."""
    ids = np.frombuffer(row.ids, dtype="<u4" if len(row.ids) == 4 * row.count else "<i8").astype(np.int64)
    if len(row.ids) == 4 * row.count:
        ids += row.lowest
    return ids, floats(row)


class Tiles:
    """Hold the values of chunks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def columns(self, connection: Connection, chunks: Iterable[int], slot: int) -> dict[int, NDArray[np.float64]]:
        """Return the values of each chunk at ``slot``, 1,024 each, NaN for missing; fresh arrays."""
        wanted = list(chunks)
        found = {chunk: np.full(CHUNK, np.nan) for chunk in wanted}
        numbers = self._database.numbers()
        listed = {"numbers": self._database.listed(wanted)}
        query = select(sealed).join(numbers, sealed.c.chunk == numbers.c.value)
        query = query.where(sealed.c.first <= slot, sealed.c.first + sealed.c.span > slot)
        for row in connection.execute(query, listed):
            tile = dense_of(row)
            found[row.chunk][: len(tile)] = tile[:, slot - row.first]
        query = select(hot).join(numbers, hot.c.chunk == numbers.c.value).where(hot.c.slot == slot)
        for row in connection.execute(query, listed):
            values = floats(row)
            found[row.chunk][:] = np.nan
            found[row.chunk][: len(values)] = values
        return found

    def write(self, connection: Connection, slot: int, columns: Mapping[int, NDArray[np.float64]]) -> None:
        """Store the whole column of each chunk at ``slot``, in place of what was there."""
        rows = []
        for chunk, values in columns.items():
            held = np.flatnonzero(~np.isnan(values))
            stored = narrow(values[: int(held[-1]) + 1 if len(held) else 0])
            rows.append({"chunk": chunk, "slot": slot, "width": stored.itemsize, "data": stored.tobytes()})
        self.write_rows(connection, rows)

    def write_rows(self, connection: Connection, rows: list[dict[str, Any]]) -> None:
        """Store hot tiles as rows of their table."""
        if not rows:
            return
        insert = self._database.insert(hot)
        fresh = {"width": insert.excluded.width, "data": insert.excluded.data}
        connection.execute(insert.on_conflict_do_update(index_elements=["chunk", "slot"], set_=fresh), rows)

    def points(
        self, connection: Connection, repository_id: int, ids: NDArray[np.int64], slot: int
    ) -> NDArray[np.float64]:
        """Return the stored point of each trace at ``slot``, NaN for none."""
        columns = self.columns(connection, np.unique(ids // CHUNK).tolist(), slot)
        values = np.array([columns[trace // CHUNK][trace % CHUNK] for trace in ids.tolist()], dtype=np.float64)
        query = select(segment).where(segment.c.repository_id == repository_id, segment.c.slot == slot)
        for row in connection.execute(query.order_by(segment.c.id)):
            held, stored = segment_of(row)
            place = np.minimum(np.searchsorted(held, ids), len(held) - 1)
            here = held[place] == ids
            values[here] = stored[place[here]]
        return values
