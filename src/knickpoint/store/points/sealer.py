"""Seal values: turn hot tiles and segments into sealed tiles, trace-major, 64 commits wide or sparse.

Writing wants one row a file, reading wants the history of a trace in one place. So a write appends to the upper layers
(:mod:`knickpoint.store.points.tiles`), and sealing turns them by 90 degrees once their commits have come to rest: once
64 commits are there, or newer ones follow. Everything that seals goes through :class:`Sealer`: the writer when a file
completes a block of small runs, the worker and the end of an import for the rest.

Sealing changes where values lie and never what they are; what is damaged stays where it is. A segment is merged into
sealed tiles first and removed later, in another transaction: in between, both say the same. If another sealer or a
correction got in between, the segments of a group are not all there any more, and the rest of that group is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from knickpoint.store.array_codec import narrow
from knickpoint.store.database import Database
from knickpoint.store.points.tile_codec import (
    DamagedRowError,
    floats,
    require_intact,
    sealed_row,
    segment_name,
    segment_points,
)
from knickpoint.store.points.tile_merge import (
    DENSE,
    POINT,
    SEGMENT_POINTS,
    SPAN,
    SegmentGroup,
    SegmentHead,
    TileMerge,
    group_segments,
    merge_tiles,
)
from knickpoint.store.tables.commits import chunk as chunk_table
from knickpoint.store.tables.commits import repository as repository_table
from knickpoint.store.tables.points import hot, sealed, segment
from knickpoint.store.traces.trace_chunks import CHUNK

_CHUNKS_AT_ONCE: Final = 64
"""Chunks of whole tiles that one transaction seals; writers get in between."""

_POINT_CHUNKS_AT_ONCE: Final = 1024
"""Chunks that one transaction seals point by point."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """What was sealed: commits of chunks, and segments."""

    tiles: int
    segments: int

    def __bool__(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.tiles or self.segments)


class Sealer:
    """Seal in the background, in transactions short enough to let writers in between, or within that of a writer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seal(self, *, everything: bool = False) -> Sealed:
        """Seal what has come to rest: segments and hot tiles of 64 commits that newer commits follow.

        ``everything`` seals the newest commits too, as before a backup or after an import. Safe beside
        writers, readers and other sealers; what a crash interrupts is sealed the next time.
        """
        # Segments stand in front of hot tiles, and merging takes the hot tiles of their commits along.
        segments = sum(self._seal_group(group) for group in self._segment_groups(everything=everything))
        tiles = 0
        for first, chunks in self._resting_tiles(everything=everything):
            for begin in range(0, len(chunks), _CHUNKS_AT_ONCE):
                merges = [TileMerge(chunk, first, first + SPAN) for chunk in chunks[begin : begin + _CHUNKS_AT_ONCE]]
                with self._database.transaction() as connection:
                    tiles += self._merge_intact(connection, merges)
        return Sealed(tiles, segments)

    def seal_block(self, connection: Connection, chunks: NDArray[np.int64], first: int) -> None:
        """Seal those of sorted ``chunks`` whose 64 commits from ``first`` on are all there, for the writer of the last.

        Where the first chunk is not full, the others are left to :meth:`seal`: looking would cost every write.
        """
        within = (hot.c.slot >= first) & (hot.c.slot < first + SPAN)
        held = connection.execute(select(func.count()).where(hot.c.chunk == int(chunks[0]), within)).scalar_one()
        if held < SPAN:
            return
        between = (hot.c.chunk >= int(chunks[0])) & (hot.c.chunk <= int(chunks[-1]))
        query = select(hot.c.chunk).where(between, within).group_by(hot.c.chunk).having(func.count() == SPAN)
        full = set(chunks.tolist()).intersection(connection.execute(query).scalars())
        self._merge_intact(connection, [TileMerge(chunk, first, first + SPAN) for chunk in sorted(full)])

    def _merge_intact(self, connection: Connection, merges: Sequence[TileMerge]) -> int:
        """Merge hot tiles of some chunks; those of chunks with a damaged tile stay as they are, so that it is named."""
        try:
            return merge_tiles(connection, self._database, merges)
        except DamagedRowError:
            if len(merges) == 1:
                return 0
        return sum(self._merge_intact(connection, [merge]) for merge in merges)

    def _seal_group(self, group: SegmentGroup) -> int:
        """Seal a group of segments; return how many went, none where one of them, or a tile below, is damaged."""
        try:
            return self._seal_matrix(group) if group.is_dense else self._seal_points(group)
        except DamagedRowError:
            return 0

    def _resting_tiles(self, *, everything: bool) -> Iterator[tuple[int, list[int]]]:
        """Return the chunks with hot tiles to seal, by the first slot of their 64 commits."""
        block = hot.c.slot.op(">>")(6)
        query = select(hot.c.chunk, block.label("block"), func.count().label("held"), chunk_table.c.repository_id)
        query = query.join(chunk_table, chunk_table.c.id == hot.c.chunk)
        query = query.group_by(hot.c.chunk, block, chunk_table.c.repository_id).order_by(block, hot.c.chunk)
        with self._database.reading() as connection:
            newest = {
                row.id: (row.next_slot - 1) // SPAN
                for row in connection.execute(select(repository_table.c.id, repository_table.c.next_slot))
            }
            rows = connection.execute(query).all()
        found: dict[int, list[int]] = {}
        for row in rows:
            if everything or row.held == SPAN or row.block < newest.get(row.repository_id, 0):
                found.setdefault(int(row.block) * SPAN, []).append(row.chunk)
        yield from found.items()

    def _segment_groups(self, *, everything: bool) -> Iterator[SegmentGroup]:
        """Return the segments to seal, those that may speak of the same points in one group."""
        columns = (segment.c.id, segment.c.repository_id, segment.c.slot, segment.c.lowest, segment.c.highest)
        query = select(*columns, segment.c.count).order_by(segment.c.id)
        with self._database.reading() as connection:
            owners = connection.execute(select(repository_table.c.id, repository_table.c.next_slot))
            next_slots = {row.id: row.next_slot for row in owners}
            heads = [SegmentHead(*row) for row in connection.execute(query)]
        return group_segments(heads, next_slots, everything=everything)

    def _seal_matrix(self, group: SegmentGroup) -> int:
        """Seal a group that covers much of some neighbouring traces × 64 commits; return how many segments went.

        Each chunk becomes a tile at once, unless it has tiles of these commits already.
        """
        low, high, first = group.lowest, group.highest, group.first
        with self._database.reading() as connection:
            segments = _read(connection, self._database, group.ids, low, high + 1)
        if not segments:
            return 0  # another sealer was quicker
        values, named = _matrix_of(segments, low, high, first)
        chunks = range(low // CHUNK, high // CHUNK + 1)
        for begin in range(0, len(chunks), _CHUNKS_AT_ONCE):
            some = chunks[begin : begin + _CHUNKS_AT_ONCE]
            with self._database.transaction() as connection:
                if not self._is_whole(connection, group):
                    return 0
                covered = _covered(connection, some, first)
                tiles, merges = [], []
                for chunk in some:
                    own = slice(max(0, chunk * CHUNK - low), min(high + 1, (chunk + 1) * CHUNK) - low)
                    skip = max(0, low - chunk * CHUNK)  # places of the chunk before the lowest trace
                    here = named[:, own]
                    if chunk in covered or here.sum() < DENSE * SPAN * (skip + here.shape[1]):
                        points = _named_points(values[:, own], here, skip, first)
                        if len(points):
                            merges.append(TileMerge(chunk, first, first + SPAN, [points]))
                    else:
                        tiles.append(_dense_row(chunk, first, values[:, own], skip))
                if tiles:
                    connection.execute(sealed.insert(), tiles)
                merge_tiles(connection, self._database, merges)
        return self._drop(group)

    def _seal_points(self, group: SegmentGroup) -> int:
        """Seal a group point by point, so many traces at a time that their points fit into memory."""
        chunks = range(group.lowest // CHUNK, group.highest // CHUNK + 1)
        step = -(-len(chunks) // max(1, -(-group.points // SEGMENT_POINTS)))
        for begin in chunks[::step]:
            with self._database.reading() as connection:
                segments = _read(connection, self._database, group.ids, begin * CHUNK, (begin + step) * CHUNK)
            merges = _merges_of(segments)
            for low in range(0, len(merges), _POINT_CHUNKS_AT_ONCE):
                with self._database.transaction() as connection:
                    if not self._is_whole(connection, group):
                        return 0
                    merge_tiles(connection, self._database, merges[low : low + _POINT_CHUNKS_AT_ONCE])
        return self._drop(group)

    def _is_whole(self, connection: Connection, group: SegmentGroup) -> bool:
        """Whether all segments are still there; what another sealer made of them may have been overwritten since."""
        query = select(func.count()).select_from(segment).where(self._database.among(segment.c.id))
        listed = self._database.listed(group.ids)
        return int(connection.execute(query, {"numbers": listed}).scalar_one()) == len(group.heads)

    def _drop(self, group: SegmentGroup) -> int:
        """Remove segments whose points are sealed now; return how many there were."""
        query = segment.delete().where(self._database.among(segment.c.id))
        with self._database.transaction() as connection:
            return connection.execute(query, {"numbers": self._database.listed(group.ids)}).rowcount


class _Segment(NamedTuple):
    """The points of a segment."""

    slot: int
    ids: NDArray[np.int64]
    values: NDArray[np.floating[Any]]


def _read(connection: Connection, database: Database, numbers: Sequence[int], low: int, high: int) -> list[_Segment]:
    """Return the segments of the traces ``low … high - 1``, oldest first."""
    query = select(segment).where(database.among(segment.c.id), segment.c.lowest < high, segment.c.highest >= low)
    rows = connection.execute(query.order_by(segment.c.id), {"numbers": database.listed(numbers)})
    found = []
    for row in rows:
        require_intact(segment_name(row), row.checksum, row.ids, row.data)
        begin, end = max(low, row.lowest) - row.lowest, min(high, row.highest + 1) - row.lowest
        if not row.ids:
            ids, values = np.arange(begin, end) + row.lowest, floats(row)[begin:end]
        else:
            ids, values = segment_points(row)
            begin, end = np.searchsorted(ids, [low, high]).tolist()
            ids, values = ids[begin:end], values[begin:end]
        if len(ids):
            found.append(_Segment(row.slot, ids.copy(), values.copy()))
    return found


def _matrix_of(
    segments: Sequence[_Segment], low: int, high: int, first: int
) -> tuple[NDArray[np.floating[Any]], NDArray[np.bool_]]:
    """Return values and which of them segments name, both 64 commits × traces ``low … high``; later ones win."""
    kind = np.float64 if any(each.values.itemsize > 4 for each in segments) else np.float32
    values = np.full((SPAN, high - low + 1), np.nan, dtype=kind)
    named = np.zeros(values.shape, dtype=np.bool_)
    for each in segments:
        begin, end = int(each.ids[0]) - low, int(each.ids[-1]) - low + 1
        at = slice(begin, end) if end - begin == len(each.ids) else each.ids - low
        values[each.slot - first, at] = each.values
        named[each.slot - first, at] = True
    return values, named


def _covered(connection: Connection, chunks: range, first: int) -> set[int]:
    """Return those of ``chunks`` that have tiles of the 64 commits from ``first`` on."""
    hots = select(hot.c.chunk).where(hot.c.chunk.between(chunks[0], chunks[-1]))
    hots = hots.where(hot.c.slot >= first, hot.c.slot < first + SPAN)
    tiles = select(sealed.c.chunk).where(sealed.c.chunk.between(chunks[0], chunks[-1]))
    tiles = tiles.where(sealed.c.first < first + SPAN, sealed.c.first + sealed.c.span > first)
    return {*connection.execute(hots).scalars(), *connection.execute(tiles).scalars()}


def _named_points(values: NDArray[np.floating[Any]], named: NDArray[np.bool_], skip: int, first: int) -> NDArray[Any]:
    """Return the points of a matrix (64 commits × places from ``skip`` on) that segments name."""
    columns, places = np.nonzero(named)
    points = np.empty(len(places), dtype=POINT)
    points["place"], points["slot"], points["value"] = places + skip, columns + first, values[columns, places]
    return points


def _dense_row(chunk: int, first: int, values: NDArray[np.floating[Any]], skip: int) -> dict[str, Any]:
    """Return a matrix (64 commits × places from ``skip`` on) as a dense tile."""
    tile = np.full((skip + values.shape[1], SPAN), np.nan, dtype=values.dtype)
    tile[skip:] = values.T
    stored = narrow(tile) if tile.itemsize > 4 else tile
    return sealed_row(chunk, first, SPAN, stored, width=stored.itemsize, sparse=False)


def _merges_of(segments: Sequence[_Segment]) -> list[TileMerge]:
    """Return one merge a chunk with the points of segments, oldest first: of each point, the newest one only."""
    if not segments:
        return []
    ids = np.concatenate([each.ids for each in segments])
    slots = np.repeat(np.array([each.slot for each in segments]), [len(each.ids) for each in segments])
    values = np.concatenate([each.values.astype(np.float64) for each in segments])
    # A stable sort by trace and slot keeps the order of age, so the last of equals is the newest.
    order = np.lexsort((slots, ids))
    ids, slots, values = ids[order], slots[order], values[order]
    newest = np.ones(len(ids), dtype=np.bool_)
    newest[:-1] = (np.diff(ids) != 0) | (np.diff(slots) != 0)
    ids, slots, values = ids[newest], slots[newest], values[newest]

    points = np.empty(len(ids), dtype=POINT)
    points["place"], points["slot"], points["value"] = ids % CHUNK, slots, values
    chunks, begins = np.unique(ids // CHUNK, return_index=True)
    merges = []
    for chunk, own in zip(chunks.tolist(), np.split(points, begins[1:]), strict=True):
        first = int(own["slot"].min()) // SPAN * SPAN
        last = int(own["slot"].max()) // SPAN * SPAN + SPAN
        merges.append(TileMerge(chunk, first, last, [own]))
    return merges
