"""Read some traces out of sealed tiles that this process found intact lately, without reading whole tiles.

A list of findings shows fifty traces of fifty chunks, and each dense tile of theirs has the values of 1,024 traces: a
quarter of a megabyte. A checksum covers a whole tile, so a tile is read whole once, and checked; for as long as the
process relies on that (:class:`knickpoint.store.points.checksums.RowChecks`), the database is asked for the values of
the wanted traces alone. Only PostgreSQL can do that without reading all of the tile itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, TextClause, bindparam, select, text

from knickpoint.store.database import Database
from knickpoint.store.points.checksums import RowChecks, sealed_name
from knickpoint.store.points.frame_matrix import FrameMatrix
from knickpoint.store.tables.tiles import sealed
from knickpoint.store.traces.trace_chunks import CHUNK

__all__ = ["TileSlices"]

_FEW_TRACES: Final = 16
"""Traces of a chunk, on average, for which PostgreSQL finds each part in the stored tile; of more, it puts the tile together once."""

_MOST_TRACES: Final = 256
"""Traces of a chunk, on average, for which parts of tiles cost less than whole ones."""


def _cut(data: str, more: str = "") -> TextClause:
    """Return the statement that cuts the values of the wanted traces out of ``data``: a row for each tile, in the order of the places."""
    return text(
        "SELECT tile.chunk, tile.first, tile.span, tile.width, (SELECT string_agg("  # noqa: S608
        f"substr({data}, place * tile.span * tile.width + 1, tile.span * tile.width), CAST('' AS bytea) ORDER BY place)"
        " FROM unnest(CAST(wanted.places AS integer[])) AS placed(place))"
        " FROM unnest(CAST(:chunks AS bigint[]), CAST(:places AS text[])) AS wanted(chunk, places)"
        f" JOIN sealed_tile AS tile ON tile.chunk = wanted.chunk {more}"
        " WHERE tile.first <= :high AND tile.first + tile.span > :low"
    )


_CUT_FEW: Final = _cut("tile.data")
_CUT_MORE: Final = _cut(
    "made.whole", "CROSS JOIN LATERAL (SELECT tile.data || CAST('' AS bytea) AS whole OFFSET 0) AS made"
)
"""Without OFFSET, the tile would be put together for each part."""


class _Head(NamedTuple):
    """What a sealed tile is, without its data."""

    chunk: int
    first: int
    span: int
    width: int
    sparse: int
    checksum: int | None


class _Parts(NamedTuple):
    """The values of some traces in a dense tile, by place; those that are newer than the tile have none, and the last places."""

    chunk: int
    first: int
    span: int
    width: int
    data: bytes


class TileSlices:
    """Put the values of some traces into a matrix."""

    def __init__(self, database: Database, checks: RowChecks) -> None:
        self._database = database
        self._checks = checks
        tile = sealed.c
        low, high = bindparam("low", type_=BigInteger), bindparam("high", type_=BigInteger)
        within = (tile.first <= high) & (tile.first + tile.span > low)
        heads = (tile.chunk, tile.first, tile.span, tile.width, tile.sparse, tile.checksum)
        self._heads = select(*heads).where(database.among(tile.chunk), within)

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
            places = np.split(ids % CHUNK, np.flatnonzero(np.diff(ids // CHUNK)) + 1)
            listed = ["{" + ",".join(map(str, own.tolist())) + "}" for own in places]
            wanted = {"chunks": sure.tolist(), "places": listed, "low": low, "high": high}
            cut = _CUT_FEW if len(ids) <= _FEW_TRACES * len(sure) else _CUT_MORE
            for row in map(_Parts._make, self._database.quick(connection, cut, wanted)):
                block = np.frombuffer(row.data, dtype=f"<f{row.width}").reshape(-1, row.span)
                columns, slots = matrix.columns(row.first, row.span)
                matrix.put_block(row.chunk, columns, block[:, slots])
        return np.setdiff1d(chunks, sure)
