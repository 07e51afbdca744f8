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
        """Seal what has come to rest: all segments, and hot tiles of 64 commits that newer commits follow.

        ``everything`` seals the newest commits too, as before a backup or after an import. Safe beside
        writers, readers and other sealers; what a crash interrupts is sealed the next time.
        """
        segments = self._seal_segments()
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

    def _seal_segments(self) -> int:
        done = 0
        with self._database.reading() as connection:
            repositories = list(connection.execute(select(segment.c.repository_id).distinct()).scalars())
        for repository_id in repositories:
            while count := self._seal_some(repository_id):
                done += count
        return done

    def _seal_some(self, repository_id: int) -> int:
        """Seal the oldest segments of a repository, as many as fit into memory."""
        query = select(segment.c.id, segment.c.count.label("held")).where(segment.c.repository_id == repository_id)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(segment.c.id)).all()
            sizes = np.cumsum([row.held for row in rows])
            taken = [row.id for row in rows[: max(1, int(np.searchsorted(sizes, _SEGMENT_POINTS, "right")))]]
            if not taken:
                return 0
            ids, slots, values = _points_of(connection, repository_id, taken[-1])
        chunks, begins = np.unique(ids // CHUNK, return_index=True)
        ends = np.append(begins[1:], len(ids))
        read = (segment.c.repository_id == repository_id) & (segment.c.id <= taken[-1])
        for low in range(0, len(chunks), _CHUNKS_AT_ONCE * 16):
            with self._database.transaction() as connection:
                left = connection.execute(select(func.count()).select_from(segment).where(read)).scalar_one()
                if left < len(taken):
                    return 0  # another sealer was quicker, and what it sealed may have been written over since
                for number in range(low, min(low + _CHUNKS_AT_ONCE * 16, len(chunks))):
                    own = slice(int(begins[number]), int(ends[number]))
                    points = np.empty(own.stop - own.start, dtype=_POINT)
                    points["place"], points["slot"], points["value"] = ids[own] % CHUNK, slots[own], values[own]
                    first = int(points["slot"].min()) // SPAN * SPAN
                    last = int(points["slot"].max()) // SPAN * SPAN + SPAN
                    _seal_chunk(connection, int(chunks[number]), first, last, [points])
        with self._database.transaction() as connection:
            return connection.execute(segment.delete().where(read)).rowcount


def _points_of(
    connection: Connection, repository_id: int, last: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the points of the segments up to ``last``: by trace and slot, of each the newest one only."""
    query = select(segment).where(segment.c.repository_id == repository_id, segment.c.id <= last)
    all_ids, all_slots, all_values = [], [], []
    for row in connection.execute(query.order_by(segment.c.id)):
        ids, values = segment_of(row)
        all_ids.append(ids)
        all_slots.append(np.full(len(ids), row.slot, dtype=np.int64))
        all_values.append(values.astype(np.float64))
    ids, slots, values64 = np.concatenate(all_ids), np.concatenate(all_slots), np.concatenate(all_values)
    order = np.lexsort((slots, ids))
    ids, slots, values64 = ids[order], slots[order], values64[order]
    newest = np.ones(len(ids), dtype=np.bool_)
    newest[:-1] = (np.diff(ids) != 0) | (np.diff(slots) != 0)
    return ids[newest], slots[newest], values64[newest]


def _seal_chunk(connection: Connection, chunk: int, first: int, last: int, more: Sequence[NDArray[Any]]) -> int:
    """Seal the hot tiles of a chunk from slot ``first`` up to ``last``, and ``more`` points that stand before them.

    Both are multiples of 64. Returns the number of hot tiles.
    """
    own = (hot.c.chunk == chunk) & (hot.c.slot >= first) & (hot.c.slot < last)
    hots = connection.execute(select(hot).where(own).order_by(hot.c.slot)).all()
    if not hots and not more:
        return 0
    over = (sealed.c.chunk == chunk) & (sealed.c.first < last) & (sealed.c.first + sealed.c.span > first)
    before = _neighbour(connection, chunk, first) if not _is_dense(hots, more, first, last) else None
    olds = connection.execute(select(sealed).where(over)).all()
    if before is not None:
        olds = [before, *(old for old in olds if old.first != before.first)]
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


def _neighbour(connection: Connection, chunk: int, first: int) -> Row[Any] | None:
    """Return the sparse tile just before ``first`` if more can still be added to it."""
    query = select(sealed).where(sealed.c.chunk == chunk, sealed.c.first < first).order_by(sealed.c.first.desc())
    row = connection.execute(query.limit(1)).first()
    if row is None or not row.sparse or len(row.data) // POINTS[row.width].itemsize > _SPARSE_POINTS // 2:
        return None
    return row


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
