"""Find out whether the values of 1,024 neighbouring traces may have changed, without reading them.

Every row that holds values has a checksum (:mod:`knickpoint.store.points.checksums`). A digest of the checksums of all rows
of a chunk, with the order of the commits that they are about, stands for the values of its traces on one line. Where it is
the same as before, no value changed; where it differs, a value may have changed, or its rows only lie differently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, or_, select

from knickpoint.model.commit import Line
from knickpoint.store.database import Database
from knickpoint.store.points.tile_codec import segment_points
from knickpoint.store.tables.runs import part as run_part
from knickpoint.store.tables.tiles import hot, sealed, segment
from knickpoint.store.tables.traces import chunk as chunk_table
from knickpoint.store.traces.trace_chunks import CHUNK

__all__ = ["chunk_digests"]

_BYTES = 8
_OF_A_RUN = -1
"""Stands before the number of a run, in the place in which tiles have their width."""


@dataclass(slots=True)
class _Rows:
    """The numbers of the rows of one chunk, and the ranges of slots that they are about; not ``sure`` without checksums."""

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
