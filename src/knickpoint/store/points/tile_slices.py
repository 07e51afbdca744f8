"""Read single traces out of sealed tiles that this process found intact lately, without reading whole tiles.

A list of findings shows fifty traces of fifty chunks, and each dense tile of theirs has the values of 1,024 traces: a
quarter of a megabyte. A checksum covers a whole tile, so a tile is read whole once, and checked; for as long as the
process relies on that (:class:`knickpoint.store.points.checksums.RowChecks`), the database is asked for the values of
the wanted traces alone. Only PostgreSQL can do that without reading all of the tile itself.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, Integer, bindparam, cast, func, select

from knickpoint.store.database import Database
from knickpoint.store.points.checksums import RowChecks, sealed_name
from knickpoint.store.points.frame_matrix import FrameMatrix
from knickpoint.store.tables.tiles import sealed
from knickpoint.store.traces.trace_chunks import CHUNK

__all__ = ["TileSlices"]

_MOST_TRACES: Final = 16
"""Traces of a chunk, on average, for which parts of tiles cost less than whole ones."""


class _Head(NamedTuple):
    """What a sealed tile is, without its data."""

    chunk: int
    first: int
    span: int
    width: int
    sparse: int
    checksum: int | None


class _Part(NamedTuple):
    """The values of one trace in a dense tile; none where the trace is newer than the tile."""

    chunk: int
    first: int
    span: int
    width: int
    data: bytes


class TileSlices:
    """Put the values of single traces into a matrix."""

    def __init__(self, database: Database, checks: RowChecks) -> None:
        self._database = database
        self._checks = checks
        tile = sealed.c
        low, high = bindparam("low", type_=BigInteger), bindparam("high", type_=BigInteger)
        within = (tile.first <= high) & (tile.first + tile.span > low)
        heads = (tile.chunk, tile.first, tile.span, tile.width, tile.sparse, tile.checksum)
        self._heads = select(*heads).where(database.among(tile.chunk), within)
        trace = database.numbers().c.value
        place = cast(trace % CHUNK, Integer)
        size = tile.span * tile.width
        part = func.substr(tile.data, place * size + 1, size).label("part")
        self._parts = (
            select(tile.chunk, tile.first, tile.span, tile.width, part)
            .where(tile.chunk == trace // CHUNK, within)
            .order_by(tile.chunk, tile.first, trace)
        )

    def put(self, connection: Connection, matrix: FrameMatrix, low: int, high: int) -> NDArray[np.int64]:
        """Put in what is known to be intact; return the chunks of which whole tiles have to be read.

        Args:
            connection: a connection that sees one moment.
            matrix: gets the values of its traces.
            low: the first slot.
            high: the last slot.
        """
        chunks = matrix.chunks
        if self._database.embedded or not matrix.distinct or len(matrix.ids) > _MOST_TRACES * len(chunks):
            return chunks
        values = {"numbers": self._database.listed(chunks), "low": low, "high": high}
        heads = [_Head._make(row) for row in self._database.quick(connection, self._heads, values)]
        unsure = {
            head.chunk for head in heads if head.sparse or not self._checks.is_known(sealed_name(head), head.checksum)
        }
        sure = np.array([chunk for chunk in chunks.tolist() if chunk not in unsure], dtype=np.int64)
        if len(sure):
            ids = matrix.ids[np.isin(matrix.ids // CHUNK, sure)]
            rows = self._database.quick(connection, self._parts, values | {"numbers": self._database.listed(ids)})
            for (chunk, first, span, width), parts in groupby(map(_Part._make, rows), key=lambda part: part[:4]):
                # A trace that is newer than a tile has no part there; such traces have the last places.
                block = np.frombuffer(b"".join(part.data for part in parts), dtype=f"<f{width}").reshape(-1, span)
                columns, places = matrix.columns(first, span)
                matrix.put_block(chunk, columns, block[:, places])
        return np.setdiff1d(chunks, sure)
