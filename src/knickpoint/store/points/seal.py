"""Turn hot tiles and segments into sealed tiles: trace-major, 64 commits wide or sparse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from knickpoint.store.array_codec import narrow
from knickpoint.store.database import Database
from knickpoint.store.points.merging import DENSE, POINT, SPAN, Job, seal_chunks
from knickpoint.store.points.tiles import floats, segment_of
from knickpoint.store.tables.commits import repository as repository_table
from knickpoint.store.tables.tiles import hot, sealed, segment
from knickpoint.store.tables.traces import chunk as chunk_table
from knickpoint.store.traces.traces import CHUNK

__all__ = ["SPAN", "Sealed", "Sealer", "seal_full"]

_CHUNKS_AT_ONCE: Final = 64
_SEGMENT_POINTS: Final = 8_000_000
_MATRIX_BYTES: Final = 2**29
_MANY_SCATTERED: Final = 256
_MANY_SEGMENTS: Final = 4096
"""Segments of one block of commits from which on they are sealed although the block is not full yet.

Scattered ones have to be read for nearly every trace, those of neighbours only for theirs.
"""


@dataclass(frozen=True, slots=True)
class Sealed:
    """What was sealed: commits of chunks, and segments."""

    tiles: int
    segments: int

    def __bool__(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.tiles or self.segments)


def seal_full(connection: Connection, database: Database, chunks: NDArray[np.int64], slot: int) -> None:
    """Seal those of ``chunks`` whose 64 commits around ``slot`` are all there, in the writer's transaction."""
    first = slot // SPAN * SPAN
    within = (hot.c.slot >= first) & (hot.c.slot < first + SPAN)
    held = connection.execute(select(func.count()).where(hot.c.chunk == int(chunks[0]), within)).scalar_one()
    if held < SPAN:
        return
    between = (hot.c.chunk >= int(chunks[0])) & (hot.c.chunk <= int(chunks[-1]))
    query = select(hot.c.chunk).where(between, within).group_by(hot.c.chunk).having(func.count() == SPAN)
    wanted = set(chunks.tolist())
    full = sorted(wanted.intersection(connection.execute(query).scalars()))
    seal_chunks(connection, database, [Job(chunk, first, first + SPAN) for chunk in full])


class Sealer:
    """Seal in the background, in transactions short enough to let writers in between."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seal(self, *, everything: bool = False) -> Sealed:
        """Seal what has come to rest: segments and hot tiles of 64 commits that newer commits follow.

        ``everything`` seals the newest commits too, as before a backup or after an import. Safe beside
        writers, readers and other sealers; what a crash interrupts is sealed the next time.
        """
        segments = self._seal_segments(everything=everything)
        tiles = 0
        for chunks, first in self._resting(everything=everything):
            for begin in range(0, len(chunks), _CHUNKS_AT_ONCE):
                some = chunks[begin : begin + _CHUNKS_AT_ONCE]
                with self._database.transaction() as connection:
                    jobs = [Job(chunk, first, first + SPAN) for chunk in some]
                    tiles += seal_chunks(connection, self._database, jobs)
        return Sealed(tiles, segments)

    def _resting(self, *, everything: bool) -> Iterator[tuple[list[int], int]]:
        """Return chunks to seal by the first slot of their 64 commits."""
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
        for first, chunks in found.items():
            yield chunks, first

    def _seal_segments(self, *, everything: bool) -> int:
        return sum(
            self._seal_matrix(pile) if pile.dense else self._seal_points(pile)
            for pile in self._piles(everything=everything)
        )

    def _piles(self, *, everything: bool) -> Iterator[_Pile]:
        """Return the segments to seal, those that may speak of the same points in one pile."""
        columns = (segment.c.id, segment.c.repository_id, segment.c.slot, segment.c.lowest, segment.c.highest)
        query = select(*columns, segment.c.count.label("held")).order_by(segment.c.id)
        with self._database.reading() as connection:
            owners = connection.execute(select(repository_table.c.id, repository_table.c.next_slot))
            ends = {row.id: row.next_slot for row in owners}
            rows = connection.execute(query).all()
        blocks: dict[tuple[int, int], list[Any]] = {}
        for row in rows:
            blocks.setdefault((row.repository_id, row.slot // SPAN), []).append(row)
        loose: list[Any] = []
        held = 0
        for (owner, block), own in sorted(blocks.items()):
            if not (everything or block < ends.get(owner, 0) // SPAN or _are_many(own)):
                continue
            for pile in _overlapping(own, block * SPAN):
                if pile.dense:
                    yield pile
                    continue
                if loose and held + pile.held > _SEGMENT_POINTS:
                    yield _pile_of(loose)
                    loose, held = [], 0
                loose, held = [*loose, *pile.rows], held + pile.held
        if loose:
            yield _pile_of(loose)

    def _seal_matrix(self, pile: _Pile) -> int:
        """Seal a pile that covers much of some neighbouring traces × 64 commits."""
        low, high, first = pile.lowest, pile.highest, pile.first
        with self._database.reading() as connection:
            segments = _read(connection, self._database, pile.numbers, low, high + 1)
        if not segments:
            return 0  # another sealer was quicker
        kind = np.float64 if any(one.values.itemsize > 4 for one in segments) else np.float32
        values = np.full((SPAN, high - low + 1), np.nan, dtype=kind)
        said = np.zeros(values.shape, dtype=np.bool_)
        for one in segments:
            at = _placed(one.ids, low)
            values[one.slot - first, at] = one.values
            said[one.slot - first, at] = True
        chunks = range(low // CHUNK, high // CHUNK + 1)
        for begin in range(0, len(chunks), _CHUNKS_AT_ONCE):
            some = chunks[begin : begin + _CHUNKS_AT_ONCE]
            with self._database.transaction() as connection:
                if not self._is_whole(connection, pile):
                    return 0
                covered = _covered(connection, some, first)
                tiles, jobs = [], []
                for chunk in some:
                    own = slice(max(0, chunk * CHUNK - low), min(high + 1, (chunk + 1) * CHUNK) - low)
                    skip = max(0, low - chunk * CHUNK)
                    mentioned = said[:, own]
                    if chunk in covered or mentioned.sum() < DENSE * SPAN * (skip + mentioned.shape[1]):
                        points = _mentioned(values[:, own], mentioned, skip, first)
                        if len(points):
                            jobs.append(Job(chunk, first, first + SPAN, [points]))
                    else:
                        tiles.append(_tile_of(chunk, first, values[:, own], skip))
                if tiles:
                    connection.execute(sealed.insert(), tiles)
                seal_chunks(connection, self._database, jobs)
        return self._drop(pile)

    def _seal_points(self, pile: _Pile) -> int:
        """Seal segments point by point, so many traces at a time that their points fit into memory."""
        chunks = range(pile.lowest // CHUNK, pile.highest // CHUNK + 1)
        step = -(-len(chunks) // max(1, -(-pile.held // _SEGMENT_POINTS)))
        for begin in chunks[::step]:
            with self._database.reading() as connection:
                low, high = begin * CHUNK, (begin + step) * CHUNK
                segments = _read(connection, self._database, pile.numbers, low, high)
            if segments and not self._seal_listed(segments, pile):
                return 0
        return self._drop(pile)

    def _seal_listed(self, segments: Sequence[_Segment], pile: _Pile) -> bool:
        """Seal the points of some chunks; false where another sealer was quicker."""
        ids, slots, values = _points_of(segments)
        chunks, begins = np.unique(ids // CHUNK, return_index=True)
        ends = np.append(begins[1:], len(ids))
        for low in range(0, len(chunks), _CHUNKS_AT_ONCE * 16):
            with self._database.transaction() as connection:
                if not self._is_whole(connection, pile):
                    return False
                jobs = []
                for number in range(low, min(low + _CHUNKS_AT_ONCE * 16, len(chunks))):
                    own = slice(int(begins[number]), int(ends[number]))
                    points = np.empty(own.stop - own.start, dtype=POINT)
                    points["place"], points["slot"], points["value"] = ids[own] % CHUNK, slots[own], values[own]
                    first = int(points["slot"].min()) // SPAN * SPAN
                    last = int(points["slot"].max()) // SPAN * SPAN + SPAN
                    jobs.append(Job(int(chunks[number]), first, last, [points]))
                seal_chunks(connection, self._database, jobs)
        return True

    def _is_whole(self, connection: Connection, pile: _Pile) -> bool:
        """Whether all segments are still there; what another sealer made of them may have been written over since."""
        query = select(func.count()).select_from(segment).where(self._database.among(segment.c.id))
        listed = self._database.listed(pile.numbers)
        return int(connection.execute(query, {"numbers": listed}).scalar_one()) == len(pile.rows)

    def _drop(self, pile: _Pile) -> int:
        """Take away what is below now."""
        listed = self._database.listed(pile.numbers)
        with self._database.transaction() as connection:
            query = segment.delete().where(self._database.among(segment.c.id))
            return connection.execute(query, {"numbers": listed}).rowcount


@dataclass(frozen=True, slots=True)
class _Segment:
    slot: int
    ids: NDArray[np.int64]
    values: NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class _Pile:
    """Segments to seal together, without their points; ``first`` is the first slot of their block."""

    rows: list[Any]
    first: int
    lowest: int
    highest: int

    @property
    def numbers(self) -> list[int]:
        """The ids of the segments."""
        return [row.id for row in self.rows]

    @property
    def held(self) -> int:
        """The points of all of them."""
        return sum(row.held for row in self.rows)

    @property
    def dense(self) -> bool:
        """Whether they are of one block, and hold so much of neighbouring traces that a matrix is the way to seal them."""
        cells = (self.highest - self.lowest + 1) * SPAN
        return self.first >= 0 and cells * 8 <= _MATRIX_BYTES and self.held >= DENSE * cells


def _are_many(rows: Sequence[Any]) -> bool:
    scattered = sum(row.held * 16 < row.highest - row.lowest for row in rows)
    return scattered >= _MANY_SCATTERED or len(rows) >= _MANY_SEGMENTS


def _overlapping(rows: Sequence[Any], first: int) -> Iterator[_Pile]:
    """Part the segments of a block so that no two piles can have a trace in common; each by id."""
    pile: list[Any] = []
    highest = -1
    for row in sorted(rows, key=lambda row: row.lowest):
        if pile and row.lowest > highest:
            yield _Pile(sorted(pile, key=lambda row: row.id), first, pile[0].lowest, highest)
            pile = []
        highest = max(highest, row.highest) if pile else row.highest
        pile.append(row)
    if pile:
        yield _Pile(sorted(pile, key=lambda row: row.id), first, pile[0].lowest, highest)


def _pile_of(rows: list[Any]) -> _Pile:
    """Return a pile of segments of any blocks."""
    return _Pile(rows, -1, min(row.lowest for row in rows), max(row.highest for row in rows))


def _read(connection: Connection, database: Database, numbers: Sequence[int], low: int, high: int) -> list[_Segment]:
    """Return what segments say of the traces ``low … high - 1``, oldest first."""
    query = select(segment).where(database.among(segment.c.id), segment.c.lowest < high, segment.c.highest >= low)
    rows = connection.execute(query.order_by(segment.c.id), {"numbers": database.listed(numbers)})
    found = []
    for row in rows:
        begin, end = max(low, row.lowest) - row.lowest, min(high, row.highest + 1) - row.lowest
        if not row.ids:
            ids, values = np.arange(begin, end) + row.lowest, floats(row)[begin:end]
        else:
            ids, values = segment_of(row)
            begin, end = np.searchsorted(ids, [low, high]).tolist()
            ids, values = ids[begin:end], values[begin:end]
        if len(ids):
            found.append(_Segment(row.slot, ids.copy(), values.copy()))
    return found


def _placed(ids: NDArray[np.int64], low: int) -> slice | NDArray[np.int64]:
    """Return where sorted ids stand in an array that begins with ``low``."""
    begin, end = int(ids[0]) - low, int(ids[-1]) - low + 1
    return slice(begin, end) if end - begin == len(ids) else ids - low


def _covered(connection: Connection, chunks: range, first: int) -> set[int]:
    """Return those of ``chunks`` that have tiles of the 64 commits from ``first`` on."""
    hots = select(hot.c.chunk).where(hot.c.chunk.between(chunks[0], chunks[-1]))
    hots = hots.where(hot.c.slot >= first, hot.c.slot < first + SPAN)
    tiles = select(sealed.c.chunk).where(sealed.c.chunk.between(chunks[0], chunks[-1]))
    tiles = tiles.where(sealed.c.first < first + SPAN, sealed.c.first + sealed.c.span > first)
    return {*connection.execute(hots).scalars(), *connection.execute(tiles).scalars()}


def _mentioned(values: NDArray[np.floating[Any]], said: NDArray[np.bool_], skip: int, first: int) -> NDArray[Any]:
    """Return the points of a matrix (64 commits × places from ``skip`` on) that segments said something about."""
    columns, places = np.nonzero(said)
    points = np.empty(len(places), dtype=POINT)
    points["place"], points["slot"], points["value"] = places + skip, columns + first, values[columns, places]
    return points


def _tile_of(chunk: int, first: int, values: NDArray[np.floating[Any]], skip: int) -> dict[str, Any]:
    """Return a matrix (64 commits × places from ``skip`` on) as a dense tile."""
    tile = np.full((skip + values.shape[1], SPAN), np.nan, dtype=values.dtype)
    tile[skip:] = values.T
    stored = narrow(tile) if tile.itemsize > 4 else tile
    row = {"chunk": chunk, "first": first, "span": SPAN, "sparse": 0}
    return row | {"width": stored.itemsize, "data": stored.tobytes()}


def _points_of(
    segments: Sequence[_Segment],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the points of segments, oldest first: by trace and slot, of each the newest one only."""
    ids = np.concatenate([one.ids for one in segments])
    slots = np.repeat(np.array([one.slot for one in segments]), [len(one.ids) for one in segments])
    values = np.concatenate([one.values.astype(np.float64) for one in segments])
    order = np.lexsort((slots, ids))
    ids, slots, values = ids[order], slots[order], values[order]
    newest = np.ones(len(ids), dtype=np.bool_)
    newest[:-1] = (np.diff(ids) != 0) | (np.diff(slots) != 0)
    return ids[newest], slots[newest], values[newest]
