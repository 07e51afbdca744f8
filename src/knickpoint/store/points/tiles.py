"""Read and write the points of single commits.

Three layers lie above each other: a segment stands before a hot tile, and a hot tile before a sealed one; of two
segments, the later one stands in front. A hot tile is a whole commit of its chunk, so it hides that commit of the
sealed tile below; a segment hides only the points that it names. Writes go to the upper layers and never touch what
is sealed; the sealer merges downwards (:mod:`knickpoint.store.points.sealer`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, or_, select

from knickpoint.model.commit import Line
from knickpoint.store.array_codec import narrow
from knickpoint.store.database import Database, Statement
from knickpoint.store.points.tile_codec import (
    HotRow,
    RowName,
    SealedRow,
    SegmentRow,
    dense_values,
    encode_ids,
    floats,
    hot_name,
    hot_row,
    require_intact,
    row_checksum,
    sealed_name,
    segment_name,
    segment_points,
    sparse_points,
)
from knickpoint.store.tables.commits import chunk as chunk_table
from knickpoint.store.tables.points import hot, sealed, segment
from knickpoint.store.tables.points import part as run_part
from knickpoint.store.traces.trace_chunks import CHUNK

_OVER: Final = (
    (segment.c.repository_id == bindparam("owner"))
    & (segment.c.lowest <= bindparam("last"))
    & (segment.c.highest >= bindparam("first"))
)
_SEGMENTS_AT: Final = select(segment).where(_OVER, segment.c.slot == bindparam("at")).order_by(segment.c.id)
_SPANS: Final = select(segment.c.slot, segment.c.lowest, segment.c.highest).where(
    _OVER, Database.among(segment.c.slot, "slots")
)
_SEALED_AT: Final = select(sealed).where(
    Database.among(sealed.c.chunk), sealed.c.first <= bindparam("at"), sealed.c.first + sealed.c.span > bindparam("at")
)
_HOT_AT: Final = select(hot).where(Database.among(hot.c.chunk), hot.c.slot == bindparam("at"))
_INSERT_SEGMENT: Final = segment.insert()
_SEGMENT_NUMBERS: Final = ("repository_id", "slot", "lowest", "highest", "count", "width")


class Tiles:
    """Hold the points of all chunks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def columns(self, connection: Connection, chunks: NDArray[np.int64], slot: int) -> NDArray[np.float64]:
        """Return the values of ``chunks`` at ``slot``, shape (chunks, 1024), NaN for missing, segments left out.

        Raises:
            DamagedRowError: a tile is not what was written.
        """
        columns = np.full((len(chunks), CHUNK), np.nan)
        number = {chunk: place for place, chunk in enumerate(chunks.tolist())}
        values = {"numbers": self._database.listed(chunks), "at": slot}
        # Sealed tiles first; then hot ones, each of which replaces the whole commit of its chunk.
        for row in map(SealedRow._make, self._database.quick(connection, _SEALED_AT, values)):
            require_intact(sealed_name(row), row.checksum, row.data)
            column = columns[number[row.chunk]]
            if row.sparse:
                points = sparse_points(row)
                points = points[points["slot"] == slot - row.first]
                column[points["place"]] = points["value"]
            else:
                tile = dense_values(row)
                column[: len(tile)] = tile[:, slot - row.first]
        for above in map(HotRow._make, self._database.quick(connection, _HOT_AT, values)):
            require_intact(hot_name(above), above.checksum, above.data)
            held = floats(above)
            column = columns[number[above.chunk]]
            column[:] = np.nan
            column[: len(held)] = held
        return columns

    def points(
        self, connection: Connection, repository_id: int, ids: NDArray[np.int64], slot: int
    ) -> NDArray[np.float64]:
        """Return the stored point of each trace (sorted) at ``slot``, NaN for none.

        Raises:
            DamagedRowError: one of the rows that may hold them is not what was written.
        """
        chunks, numbers = np.unique(ids // CHUNK, return_inverse=True)
        values = self.columns(connection, chunks, slot)[numbers, ids % CHUNK]
        if len(ids):
            for row in self._segments(connection, repository_id, slot, ids):
                held, stored = segment_points(row)
                place = np.minimum(np.searchsorted(held, ids), len(held) - 1)
                here = held[place] == ids
                values[here] = stored[place[here]]
        return values

    def segment_spans(
        self, connection: Connection, repository_id: int, slots: Sequence[int], first: int, last: int
    ) -> list[tuple[int, int, int]]:
        """Return slot, lowest and highest trace of the segments at ``slots`` that span some of ``first … last``."""
        values = {"slots": self._database.listed(slots), "owner": repository_id, "first": first, "last": last}
        return [(slot, low, high) for slot, low, high in self._database.quick(connection, _SPANS, values)]

    def change(
        self,
        connection: Connection,
        repository_id: int,
        slot: int,
        ids: NDArray[np.int64],
        values: NDArray[np.float64],
        *,
        hidden: bool,
    ) -> None:
        """Set points of some traces (sorted) at ``slot``; NaN takes a point away, the others stay.

        ``hidden`` is whether a segment may stand before them, as :meth:`segment_spans` says.

        Raises:
            DamagedRowError: a row that holds such points is not what was written.
        """
        if not len(ids):
            return
        # A hot tile is a whole commit of its chunk, so the points beside the new ones are read and written again.
        chunks, begins = np.unique(ids // CHUNK, return_index=True)
        columns = self.columns(connection, chunks, slot)
        columns[np.repeat(np.arange(len(chunks)), np.diff(begins, append=len(ids))), ids % CHUNK] = values
        rows = []
        for chunk, column in zip(chunks.tolist(), columns, strict=True):
            held = np.flatnonzero(~np.isnan(column))
            rows.append(hot_row(chunk, slot, held, column[held]))
        self.write_hot(connection, rows)
        if not hidden:
            return
        # Where a segment stands before the tile, the tile would not be seen: a later segment says the same.
        behind = np.zeros(len(ids), dtype=np.bool_)
        for row in self._segments(connection, repository_id, slot, ids):
            behind |= np.isin(ids, segment_points(row)[0], assume_unique=True)
        if behind.any():
            self.write_segment(connection, repository_id, slot, ids[behind], values[behind])

    def _segments(
        self, connection: Connection, repository_id: int, slot: int, ids: NDArray[np.int64]
    ) -> list[SegmentRow]:
        """Return the segments at ``slot`` that span some of sorted ``ids``, oldest first."""
        values = {"owner": repository_id, "at": slot, "first": int(ids[0]), "last": int(ids[-1])}
        rows = [SegmentRow._make(row) for row in self._database.quick(connection, _SEGMENTS_AT, values)]
        for row in rows:
            require_intact(segment_name(row), row.checksum, row.ids, row.data)
        return rows

    def write_hot(self, connection: Connection, rows: list[dict[str, Any]]) -> None:
        """Store hot tiles as rows of their table; each replaces the tile of its chunk and slot."""
        if len(rows) == 1:
            self._database.quick(connection, self._replacing_hot(), rows[0])
        elif rows:
            connection.execute(self._replacing_hot(), rows)

    def _replacing_hot(self) -> Statement:
        return self._database.replacing(hot, ("chunk", "slot"), ("width", "data", "checksum"))

    def write_segment(  # noqa: PLR0917  # one row
        self,
        connection: Connection,
        repository_id: int,
        slot: int,
        ids: NDArray[np.int64],
        values: NDArray[np.float64],
        encoded_ids: bytes | None = None,
    ) -> None:
        """Store points of some traces (sorted) in front of all others; ``encoded_ids`` is :func:`encode_ids`."""
        if not len(ids):
            return
        stored = narrow(values)
        numbers = (repository_id, slot, int(ids[0]), int(ids[-1]), len(ids), stored.itemsize)
        listed, data = encode_ids(ids) if encoded_ids is None else encoded_ids, stored.tobytes()
        row = dict(zip(_SEGMENT_NUMBERS, numbers, strict=True))
        checksum = row_checksum(RowName("segment", numbers), listed, data)
        self._database.quick(connection, _INSERT_SEGMENT, row | {"ids": listed, "data": data, "checksum": checksum})


# Find out whether the values of 1,024 neighbouring traces may have changed, without reading them.
#
# Every row that holds values has a checksum (:mod:`knickpoint.store.points.tile_codec`). A digest of the checksums of
# all rows of a chunk, with the order of the commits that they are about, stands for the values of its traces on one
# line. Where it is the same as before, no value changed; where it differs, a value may have changed, or its rows only
# lie differently.


_BYTES = 8
_OF_A_RUN = -1
"""Stands before the number of a run, in the place in which tiles have their width."""


@dataclass(slots=True)
class _Rows:
    """The numbers of the rows of one chunk, and the ranges of slots that they are about.

    Not ``sure`` without checksums.
    """

    numbers: list[tuple[int, ...]] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    sure: bool = True

    def add(self, slot: int, span: int, checksum: int | None, *numbers: int) -> None:
        self.spans.append((slot, span))
        self.numbers.append((slot, span, checksum or 0, *numbers))
        self.sure = self.sure and checksum is not None


def chunk_digests(
    database: Database, line: Line, chunks: NDArray[np.int64], *, samples: bool = False
) -> dict[int, int]:
    """Return for each of ``chunks`` (ascending) a digest of what its traces hold on ``line``, and of their directions.

    ``samples`` adds what runs measured behind the values.
    A chunk of which an older version wrote a row without a checksum is left out.
    """
    rows: dict[int, _Rows] = defaultdict(_Rows)
    with database.reading() as connection:
        versions = _read_rows(database, connection, line, chunks, rows)
        if samples:
            _read_parts(database, connection, line, chunks, rows)
    slots = np.asarray(line.slots, dtype=np.int64)
    known: dict[tuple[tuple[int, int], ...], bytes] = {}
    found = {}
    for chunk in chunks.tolist():
        held = rows[chunk]
        if not held.sure or chunk not in versions:
            continue
        spans = tuple(sorted(set(held.spans)))
        if spans not in known:  # neighbours are measured at the same commits
            known[spans] = _order(slots, spans)
        digest = blake2b(known[spans], digest_size=_BYTES)
        digest.update(repr((versions[chunk], sorted(held.numbers))).encode())
        found[chunk] = int.from_bytes(digest.digest(), "little", signed=True)
    return found


def _read_rows(
    database: Database, connection: Connection, line: Line, chunks: NDArray[np.int64], rows: dict[int, _Rows]
) -> dict[int, int]:
    """Add what the rows of all layers say to ``rows``, and return the versions of the names and directions."""
    listed = {"numbers": database.listed(chunks)}
    columns = (sealed.c.chunk, sealed.c.first, sealed.c.span, sealed.c.checksum, sealed.c.width, sealed.c.sparse)
    for row in connection.execute(select(*columns).where(database.among(sealed.c.chunk)), listed):
        rows[row.chunk].add(row.first, row.span, row.checksum, row.width, row.sparse)
    query = select(hot.c.chunk, hot.c.slot, hot.c.checksum, hot.c.width).where(database.among(hot.c.chunk))
    for tile in connection.execute(query, listed):
        rows[tile.chunk].add(tile.slot, 1, tile.checksum, tile.width)
    asked = set(chunks.tolist())
    for part in connection.execute(select(segment).where(segment.c.repository_id == line.repository.id)):
        for chunk in _chunks_of(part):
            if chunk in asked:
                rows[chunk].add(part.slot, 1, part.checksum, part.id)
    table = chunk_table.c
    versions = connection.execute(select(table.id, table.version).where(database.among(table.id)), listed)
    return {row.id: row.version for row in versions}


def _read_parts(
    database: Database, connection: Connection, line: Line, chunks: NDArray[np.int64], rows: dict[int, _Rows]
) -> None:
    """Add the parts of runs to ``rows``; those of runs over scattered traces count for every chunk."""
    columns = (run_part.c.chunk, run_part.c.slot, run_part.c.run_id, run_part.c.checksum)
    of_chunks = or_(database.among(run_part.c.chunk), run_part.c.chunk == -line.repository.id)
    for part in connection.execute(select(*columns).where(of_chunks), {"numbers": database.listed(chunks)}):
        for chunk in chunks.tolist() if part.chunk < 0 else (part.chunk,):
            rows[chunk].add(part.slot, 1, part.checksum, _OF_A_RUN, part.run_id)


def _chunks_of(row: Any) -> Iterable[int]:
    found: list[int] = np.unique(segment_points(row)[0] // CHUNK).tolist()
    return found


def _order(slots: NDArray[np.int64], spans: tuple[tuple[int, int], ...]) -> bytes:
    """Return those of ``slots``, in the order of the line, that lie in one of ``spans``."""
    begins = np.array([begin for begin, _ in spans], dtype=np.int64)
    longest = np.maximum.accumulate(np.array([begin + span for begin, span in spans], dtype=np.int64))
    place = np.searchsorted(begins, slots, side="right") - 1
    chosen = (place >= 0) & (slots < longest[place]) if begins.size else np.zeros(slots.size, dtype=np.bool_)
    return slots[chosen].tobytes()
