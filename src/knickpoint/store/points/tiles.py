"""Read and write single commits of traces: hot tiles and segments, in front of what is sealed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from knickpoint.store.array_codec import narrow, pack, unpack
from knickpoint.store.database import Database
from knickpoint.store.tables.tiles import hot, sealed, segment
from knickpoint.store.traces.traces import CHUNK

__all__ = [
    "POINTS",
    "Tiles",
    "chunks_of",
    "dense_of",
    "floats",
    "hot_row",
    "hot_rows",
    "listed_ids",
    "segment_of",
    "sparse_of",
]

_KINDS: Final[dict[int, type[np.floating[Any]]]] = {4: np.float32, 8: np.float64}

POINTS: Final = {width: np.dtype([("place", "<u2"), ("slot", "<u2"), ("value", f"<f{width}")]) for width in (4, 8)}
"""A point of a sparse sealed tile: place in the chunk, slot minus the tile's first slot, value."""


_BETWEEN: Final = (
    (segment.c.repository_id == bindparam("own"))
    & (segment.c.slot == bindparam("at"))
    & (segment.c.lowest <= bindparam("last"))
    & (segment.c.highest >= bindparam("first"))
)
_SEGMENT_AT: Final = select(segment.c.id).where(_BETWEEN).limit(1)
_SEGMENTS_AT: Final = select(segment).where(_BETWEEN).order_by(segment.c.id)
_SEGMENT: Final = segment.insert()


def floats(row: Any) -> NDArray[np.floating[Any]]:
    """Return the values of a row with ``width`` and ``data``; read-only."""
    return np.frombuffer(row.data, dtype=_KINDS[row.width])


def dense_of(row: Any) -> NDArray[np.floating[Any]]:
    """Return a dense sealed tile as an array (traces, span), NaN for missing; read-only."""
    return floats(row).reshape(-1, row.span)


def sparse_of(row: Any) -> NDArray[Any]:
    """Return the points of a sparse sealed tile as records of :data:`POINTS`, by place and then slot."""
    return np.frombuffer(row.data, dtype=POINTS[row.width])


def listed_ids(ids: NDArray[np.int64]) -> bytes:
    """Return sorted trace ids in the shortest form that :func:`segment_of` reads: neighbours take no bytes."""
    lowest, highest = int(ids[0]), int(ids[-1])
    if highest - lowest + 1 == len(ids):
        return b""
    starts = np.flatnonzero(np.diff(ids, prepend=lowest - 2) != 1)
    if len(starts) * 4 < len(ids):
        ranges = pack(ids[starts] - lowest, np.diff(starts, append=len(ids)))
        if len(ranges) < 4 * len(ids):
            return ranges
    return ((ids - lowest).astype("<u4") if highest - lowest < 2**32 else ids.astype("<i8")).tobytes()


def segment_of(row: Any) -> tuple[NDArray[np.int64], NDArray[np.floating[Any]]]:
    """Return the sorted trace ids and the values of a segment; NaN takes a point away."""
    if not row.ids:
        return np.arange(row.lowest, row.lowest + row.count), floats(row)
    if len(row.ids) == 4 * row.count:
        return np.frombuffer(row.ids, dtype="<u4").astype(np.int64) + row.lowest, floats(row)
    if len(row.ids) == 8 * row.count:
        return np.frombuffer(row.ids, dtype="<i8"), floats(row)
    starts, lengths = unpack(row.ids, 2)
    within = np.arange(row.count) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(starts + row.lowest, lengths) + within, floats(row)


def chunks_of(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the chunks of sorted trace ids, each once."""
    chunks = ids // CHUNK
    if not len(chunks):
        return chunks
    first = np.empty(len(chunks), dtype=np.bool_)
    first[0] = True
    np.not_equal(chunks[1:], chunks[:-1], out=first[1:])
    return np.asarray(chunks[first])


def hot_rows(
    slot: int, ids: NDArray[np.int64], values: NDArray[np.float64], chunks: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return rows of the table of hot tiles with the points of sorted ``ids`` in ``chunks``, nothing elsewhere."""
    lows = np.searchsorted(ids, chunks * CHUNK).tolist()
    highs = np.searchsorted(ids, (chunks + 1) * CHUNK).tolist()
    stored = narrow(values)
    rows = []
    for chunk, low, high in zip(chunks.tolist(), lows, highs, strict=True):
        first, last = int(ids[low]) - chunk * CHUNK if low < high else -1, high - low - 1
        if stored.itemsize == 4 and first == 0 and int(ids[high - 1]) - chunk * CHUNK == last:
            rows.append({"chunk": chunk, "slot": slot, "width": 4, "data": stored[low:high].tobytes()})
        else:
            rows.append(hot_row(chunk, slot, ids[low:high] - chunk * CHUNK, values[low:high]))
    return rows


def hot_row(chunk: int, slot: int, places: NDArray[np.int64], values: NDArray[np.float64]) -> dict[str, Any]:
    """Return a row of the table of hot tiles: ``values`` at ``places``, nothing elsewhere."""
    stored = narrow(values)
    if len(places) and int(places[-1]) + 1 != len(places):
        column = np.full(int(places[-1]) + 1, np.nan, dtype=stored.dtype)
        column[places] = stored
        stored = column
    return {"chunk": chunk, "slot": slot, "width": stored.itemsize, "data": stored.tobytes()}


class Tiles:
    """Hold the values of chunks."""

    def __init__(self, database: Database) -> None:
        self._database = database
        insert = database.insert(hot)
        fresh = {"width": insert.excluded.width, "data": insert.excluded.data}
        self._write = insert.on_conflict_do_update(index_elements=["chunk", "slot"], set_=fresh)

    def columns(self, connection: Connection, chunks: NDArray[np.int64], slot: int) -> NDArray[np.float64]:
        """Return the values of ``chunks`` at ``slot``, shape (chunks, 1024), NaN for missing, segments left out."""
        columns = np.full((len(chunks), CHUNK), np.nan)
        number = {chunk: place for place, chunk in enumerate(chunks.tolist())}
        listed = {"numbers": self._database.listed(chunks)}
        query = select(sealed).where(self._database.among(sealed.c.chunk))
        query = query.where(sealed.c.first <= slot, sealed.c.first + sealed.c.span > slot)
        for row in connection.execute(query, listed):
            column = columns[number[row.chunk]]
            if row.sparse:
                points = sparse_of(row)
                points = points[points["slot"] == slot - row.first]
                column[points["place"]] = points["value"]
            else:
                tile = dense_of(row)
                column[: len(tile)] = tile[:, slot - row.first]
        query = select(hot).where(self._database.among(hot.c.chunk))
        for row in connection.execute(query.where(hot.c.slot == slot), listed):
            values = floats(row)
            column = columns[number[row.chunk]]
            column[:] = np.nan
            column[: len(values)] = values
        return columns

    def change(
        self,
        connection: Connection,
        repository_id: int,
        slot: int,
        ids: NDArray[np.int64],
        values: NDArray[np.float64],
    ) -> None:
        """Set points of some traces (sorted) at ``slot``; NaN takes a point away, the others stay."""
        if not len(ids):
            return
        chunks, begins = np.unique(ids // CHUNK, return_index=True)
        columns = self.columns(connection, chunks, slot)
        columns[np.repeat(np.arange(len(chunks)), np.diff(begins, append=len(ids))), ids % CHUNK] = values
        rows = []
        for chunk, column in zip(chunks.tolist(), columns, strict=True):
            held = np.flatnonzero(~np.isnan(column))
            rows.append(hot_row(chunk, slot, held, column[held]))
        self.write_rows(connection, rows)
        over = np.zeros(len(ids), dtype=np.bool_)
        for row in connection.execute(_SEGMENTS_AT, _asked(repository_id, slot, ids)):
            over |= np.isin(ids, segment_of(row)[0], assume_unique=True)
        if over.any():
            self.write_segment(connection, repository_id, slot, ids[over], values[over])

    def has_segments(self, connection: Connection, repository_id: int, slot: int, ids: NDArray[np.int64]) -> bool:
        """Whether segments may stand before what tiles say of sorted ``ids`` at ``slot``."""
        if not len(ids):
            return False
        asked = _asked(repository_id, slot, ids)
        return self._database.quick(connection, _SEGMENT_AT, asked).fetchone() is not None

    def write_rows(self, connection: Connection, rows: list[dict[str, Any]]) -> None:
        """Store hot tiles as rows of their table."""
        if len(rows) == 1:
            self._database.quick(connection, self._write, rows[0])
        elif rows:
            connection.execute(self._write, rows)

    def write_segment(  # noqa: PLR0917  # one row
        self,
        connection: Connection,
        repository_id: int,
        slot: int,
        ids: NDArray[np.int64],
        values: NDArray[np.float64],
        listed: bytes | None = None,
    ) -> None:
        """Store points of some traces (sorted) in front of all that is there; ``listed`` is :func:`listed_ids`."""
        if not len(ids):
            return
        stored = narrow(values)
        row = {
            "repository_id": repository_id,
            "slot": slot,
            "lowest": int(ids[0]),
            "highest": int(ids[-1]),
            "count": len(ids),
            "width": stored.itemsize,
            "ids": listed_ids(ids) if listed is None else listed,
            "data": stored.tobytes(),
        }
        self._database.quick(connection, _SEGMENT, row)

    def points(
        self, connection: Connection, repository_id: int, ids: NDArray[np.int64], slot: int
    ) -> NDArray[np.float64]:
        """Return the stored point of each trace (sorted) at ``slot``, NaN for none."""
        chunks, numbers = np.unique(ids // CHUNK, return_inverse=True)
        values = self.columns(connection, chunks, slot)[numbers, ids % CHUNK]
        if len(ids):
            for row in connection.execute(_SEGMENTS_AT, _asked(repository_id, slot, ids)):
                held, stored = segment_of(row)
                place = np.minimum(np.searchsorted(held, ids), len(held) - 1)
                here = held[place] == ids
                values[here] = stored[place[here]]
        return values


def _asked(repository_id: int, slot: int, ids: NDArray[np.int64]) -> dict[str, int]:
    """Return the parameters that name the segments at ``slot`` over sorted ``ids``."""
    return {"own": repository_id, "at": slot, "first": int(ids[0]), "last": int(ids[-1])}
