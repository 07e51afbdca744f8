"""Turn hot tiles and segments into sealed tiles: trace-major, 64 commits wide or sparse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, func, select

from knickpoint.store.database import Database
from knickpoint.store.packing import narrow
from knickpoint.store.tables.commits import repository as repository_table
from knickpoint.store.tables.tiles import hot, sealed, segment
from knickpoint.store.tables.traces import chunk as chunk_table
from knickpoint.store.tiles import POINTS, dense_of, floats, segment_of, sparse_of
from knickpoint.store.traces import CHUNK

__all__ = ["SPAN", "Sealed", "Sealer", "seal_full"]

SPAN: Final = 64
"""Commits in a dense sealed tile."""

_DENSE: Final = 0.25
"""A tile with at least this share of its points is dense: a sparse point takes twice the bytes."""

_SPARSE_POINTS: Final = 16_384
_SPARSE_SPAN: Final = 65_536
_CHUNKS_AT_ONCE: Final = 64
_SEGMENT_POINTS: Final = 8_000_000
_MATRIX_BYTES: Final = 2**29
_MANY_SEGMENTS: Final = 256
"""Segments of one block of commits from which on they are sealed although the block is not full yet."""

_POINT: Final = np.dtype([("place", "<u2"), ("slot", "<i8"), ("value", "<f8")])


@dataclass(frozen=True, slots=True)
class Sealed:
    """What was sealed: commits of chunks, and segments."""

    tiles: int
    segments: int

    def __bool__(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.tiles or self.segments)


def seal_full(connection: Connection, chunks: NDArray[np.int64], slot: int) -> None:
    """Seal those of ``chunks`` whose 64 commits around ``slot`` are all there, in the writer's transaction."""
    first = slot // SPAN * SPAN
    within = (hot.c.slot >= first) & (hot.c.slot < first + SPAN)
    held = connection.execute(select(func.count()).where(hot.c.chunk == int(chunks[0]), within)).scalar_one()
    if held < SPAN:
        return
    between = (hot.c.chunk >= int(chunks[0])) & (hot.c.chunk <= int(chunks[-1]))
    query = select(hot.c.chunk).where(between, within).group_by(hot.c.chunk).having(func.count() == SPAN)
    wanted = set(chunks.tolist())
    for chunk in sorted(wanted.intersection(connection.execute(query).scalars())):
        _seal_chunk(connection, chunk, first, first + SPAN, [])


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
                    for chunk in some:
                        tiles += _seal_chunk(connection, chunk, first, first + SPAN, [])
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
        done = 0
        for pile in self._piles(everything=everything):
            with self._database.reading() as connection:
                segments = _read(connection, self._database, [row.id for row in pile.rows])
            if len(segments) < len(pile.rows):
                continue  # another sealer was quicker
            done += self._seal_matrix(segments, pile) if pile.dense else self._seal_points(segments)
        return done

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
            if not everything and block >= ends.get(owner, 0) // SPAN and len(own) < _MANY_SEGMENTS:
                continue
            for pile in _overlapping(own, block * SPAN):
                if pile.dense:
                    yield pile
                    continue
                size = sum(row.held for row in pile.rows)
                if loose and held + size > _SEGMENT_POINTS:
                    yield _Pile(loose, 0)
                    loose, held = [], 0
                loose, held = [*loose, *pile.rows], held + size
        if loose:
            yield _Pile(loose, 0)

    def _seal_matrix(self, segments: Sequence[_Segment], pile: _Pile) -> int:
        """Seal a pile that covers much of some neighbouring traces × 64 commits."""
        low, high, first = pile.lowest, pile.highest, pile.first
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
                if self._left(connection, segments) < len(segments):
                    return 0
                covered = _covered(connection, some, first)
                tiles = []
                for chunk in some:
                    own = slice(max(0, chunk * CHUNK - low), min(high + 1, (chunk + 1) * CHUNK) - low)
                    skip = max(0, low - chunk * CHUNK)
                    mentioned = said[:, own]
                    if chunk in covered or mentioned.sum() < _DENSE * SPAN * (skip + mentioned.shape[1]):
                        points = _mentioned(values[:, own], mentioned, skip, first)
                        if len(points):
                            _seal_chunk(connection, chunk, first, first + SPAN, [points])
                    else:
                        tiles.append(_tile_of(chunk, first, values[:, own], skip))
                if tiles:
                    connection.execute(sealed.insert(), tiles)
        return self._drop(segments)

    def _seal_points(self, segments: Sequence[_Segment]) -> int:
        """Seal segments point by point."""
        ids, slots, values = _points_of(segments)
        chunks, begins = np.unique(ids // CHUNK, return_index=True)
        ends = np.append(begins[1:], len(ids))
        for low in range(0, len(chunks), _CHUNKS_AT_ONCE * 16):
            with self._database.transaction() as connection:
                if self._left(connection, segments) < len(segments):
                    return 0
                for number in range(low, min(low + _CHUNKS_AT_ONCE * 16, len(chunks))):
                    own = slice(int(begins[number]), int(ends[number]))
                    points = np.empty(own.stop - own.start, dtype=_POINT)
                    points["place"], points["slot"], points["value"] = ids[own] % CHUNK, slots[own], values[own]
                    first = int(points["slot"].min()) // SPAN * SPAN
                    last = int(points["slot"].max()) // SPAN * SPAN + SPAN
                    _seal_chunk(connection, int(chunks[number]), first, last, [points])
        return self._drop(segments)

    def _left(self, connection: Connection, segments: Sequence[_Segment]) -> int:
        """Count the segments that are still there; another sealer's work may have been written over since."""
        query = select(func.count()).select_from(segment).where(self._database.among(segment.c.id))
        listed = self._database.listed([one.id for one in segments])
        return int(connection.execute(query, {"numbers": listed}).scalar_one())

    def _drop(self, segments: Sequence[_Segment]) -> int:
        """Take away what is below now."""
        listed = self._database.listed([one.id for one in segments])
        with self._database.transaction() as connection:
            query = segment.delete().where(self._database.among(segment.c.id))
            return connection.execute(query, {"numbers": listed}).rowcount


@dataclass(frozen=True, slots=True)
class _Segment:
    id: int
    slot: int
    ids: NDArray[np.int64]
    values: NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class _Pile:
    """Segments to seal together, without their points; ``first`` is the first slot of their block."""

    rows: list[Any]
    first: int
    lowest: int = 0
    highest: int = -1

    @property
    def dense(self) -> bool:
        """Whether they hold so much of neighbouring traces that a matrix is the way to seal them."""
        cells = (self.highest - self.lowest + 1) * SPAN
        held = sum(row.held for row in self.rows)
        return cells > 0 and cells * 8 <= _MATRIX_BYTES and held >= _DENSE * cells


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


def _read(connection: Connection, database: Database, numbers: Sequence[int]) -> list[_Segment]:
    """Return segments by id, oldest first."""
    query = select(segment).where(database.among(segment.c.id)).order_by(segment.c.id)
    rows = connection.execute(query, {"numbers": database.listed(numbers)})
    return [_Segment(row.id, row.slot, *segment_of(row)) for row in rows]


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
    points = np.empty(len(places), dtype=_POINT)
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


def _seal_chunk(connection: Connection, chunk: int, first: int, last: int, more: Sequence[NDArray[Any]]) -> int:
    """Seal the hot tiles of a chunk from slot ``first`` up to ``last``, and ``more`` points that stand before them.

    Both are multiples of 64. Returns the number of hot tiles.
    """
    own = (hot.c.chunk == chunk) & (hot.c.slot >= first) & (hot.c.slot < last)
    hots = connection.execute(select(hot).where(own).order_by(hot.c.slot)).all()
    if not hots and not more:
        return 0
    over = (sealed.c.chunk == chunk) & (sealed.c.first < last) & (sealed.c.first + sealed.c.span > first)
    olds = list(connection.execute(select(sealed).where(over)))
    if not _is_dense(hots, more, first, last):
        known = {old.first for old in olds}
        olds += [old for old in _neighbours(connection, chunk, first, last) if old.first not in known]
    if not olds and not more and last - first == SPAN and _is_dense(hots, more, first, last):
        tiles = [_dense_tile(chunk, first, hots)]
    else:
        tiles = list(_tiles(chunk, _overlaid(olds, hots, more)))
        for old in olds:
            connection.execute(sealed.delete().where(sealed.c.chunk == chunk, sealed.c.first == old.first))
    if tiles:
        connection.execute(sealed.insert(), tiles)
    connection.execute(hot.delete().where(own))
    return len(hots)


def _neighbours(connection: Connection, chunk: int, first: int, last: int) -> Iterator[Row[Any]]:
    """Return the sparse tiles just before ``first`` and from ``last`` on if more can still be added to them."""
    own = select(sealed).where(sealed.c.chunk == chunk).limit(1)
    before = own.where(sealed.c.first < first).order_by(sealed.c.first.desc())
    after = own.where(sealed.c.first >= last).order_by(sealed.c.first)
    for query in (before, after):
        row = connection.execute(query).first()
        if row is not None and row.sparse and len(row.data) // POINTS[row.width].itemsize <= _SPARSE_POINTS // 2:
            yield row


def _is_dense(hots: Sequence[Row[Any]], more: Sequence[NDArray[Any]], first: int, last: int) -> bool:
    held = sum(len(row.data) // row.width for row in hots) + sum(len(points) for points in more)
    height = max([len(row.data) // row.width for row in hots] + [int(p["place"].max()) + 1 for p in more])
    return bool(held >= _DENSE * max(1, height) * (last - first))


def _dense_tile(chunk: int, first: int, hots: Sequence[Row[Any]]) -> dict[str, Any]:
    """Return 64 commits of a chunk as one row, from hot tiles alone."""
    width = max(row.width for row in hots)
    height = max(len(row.data) // row.width for row in hots)
    columns = np.full((SPAN, height), np.nan, dtype=np.float32 if width == 4 else np.float64)
    for row in hots:
        values = floats(row)
        columns[row.slot - first, : len(values)] = values
    data = np.ascontiguousarray(columns.T).tobytes()
    return {"chunk": chunk, "first": first, "span": SPAN, "width": width, "sparse": 0, "data": data}


def _listed(row: Row[Any]) -> NDArray[Any]:
    """Return the points of a sealed tile with their own slots."""
    if row.sparse:
        stored = sparse_of(row)
        points = np.empty(len(stored), dtype=_POINT)
        points["place"], points["slot"], points["value"] = stored["place"], stored["slot"], stored["value"]
    else:
        tile = dense_of(row)
        places, columns = np.nonzero(~np.isnan(tile))
        points = np.empty(len(places), dtype=_POINT)
        points["place"], points["slot"], points["value"] = places, columns, tile[places, columns]
    points["slot"] += row.first
    return points


def _overlaid(olds: Sequence[Row[Any]], hots: Sequence[Row[Any]], more: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the points of a chunk by place and slot: sealed ones, then whole hot commits, then ``more``."""
    layers = [_listed(row) for row in olds]
    if hots:
        replaced = np.array([row.slot for row in hots])
        layers = [layer[~np.isin(layer["slot"], replaced)] for layer in layers]
    for row in hots:
        values = floats(row)
        places = np.flatnonzero(~np.isnan(values))
        points = np.empty(len(places), dtype=_POINT)
        points["place"], points["slot"], points["value"] = places, row.slot, values[places]
        layers.append(points)
    whole = np.concatenate([*layers, *more])
    if not len(whole):
        return whole
    order = np.lexsort((whole["slot"], whole["place"]))
    whole = whole[order]
    newest = np.ones(len(whole), dtype=np.bool_)
    newest[:-1] = (np.diff(whole["place"].astype(np.int64)) != 0) | (np.diff(whole["slot"]) != 0)
    whole = whole[newest]
    return np.asarray(whole[~np.isnan(whole["value"])])


def _tiles(chunk: int, points: NDArray[Any]) -> Iterator[dict[str, Any]]:
    """Cut points into tiles: 64 commits where they are dense, longer spans where they are sparse."""
    if not len(points):
        return
    height = int(points["place"].max()) + 1
    blocks, counts = np.unique(points["slot"] // SPAN, return_counts=True)
    group: list[int] = []
    held = 0
    for block, count in zip(blocks.tolist(), counts.tolist(), strict=True):
        dense = count >= _DENSE * height * SPAN
        full = bool(group) and (held + count > _SPARSE_POINTS or (block + 1 - group[0]) * SPAN > _SPARSE_SPAN)
        if group and (dense or full):
            yield _sparse_tile(chunk, group[0] * SPAN, (group[-1] + 1) * SPAN, points)
            group, held = [], 0
        if dense:
            yield _dense_of_points(chunk, block * SPAN, points)
        else:
            group.append(block)
            held += count
    if group:
        yield _sparse_tile(chunk, group[0] * SPAN, (group[-1] + 1) * SPAN, points)


def _dense_of_points(chunk: int, first: int, points: NDArray[Any]) -> dict[str, Any]:
    own = points[(points["slot"] >= first) & (points["slot"] < first + SPAN)]
    values = narrow(own["value"])
    tile = np.full((int(own["place"].max()) + 1, SPAN), np.nan, dtype=values.dtype)
    tile[own["place"], own["slot"] - first] = values
    row = {"chunk": chunk, "first": first, "span": SPAN, "sparse": 0}
    return row | {"width": tile.itemsize, "data": tile.tobytes()}


def _sparse_tile(chunk: int, first: int, last: int, points: NDArray[Any]) -> dict[str, Any]:
    own = points[(points["slot"] >= first) & (points["slot"] < last)]
    values = narrow(own["value"])
    stored = np.empty(len(own), dtype=POINTS[values.itemsize])
    stored["place"], stored["slot"], stored["value"] = own["place"], own["slot"] - first, values
    row = {"chunk": chunk, "first": first, "span": last - first, "sparse": 1}
    return row | {"width": values.itemsize, "data": stored.tobytes()}
