"""Merge what stands before a chunk's sealed tiles into them: hot tiles, and points of segments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, func, select

from knickpoint.store.array_codec import narrow
from knickpoint.store.database import Database
from knickpoint.store.points.tiles import POINTS, dense_of, floats, sparse_of
from knickpoint.store.tables.tiles import hot, sealed

__all__ = ["DENSE", "POINT", "SPAN", "Job", "seal_chunks"]

SPAN: Final = 64
"""Commits in a dense sealed tile."""

DENSE: Final = 0.25
"""A tile with at least this share of its points is dense: a sparse point takes twice the bytes."""

POINT: Final = np.dtype([("place", "<u2"), ("slot", "<i8"), ("value", "<f8")])
"""A point of a chunk: place, slot, value; NaN takes away what was there."""

_SPARSE_POINTS: Final = 16_384
_SPARSE_SPAN: Final = 65_536
_DROP_SEALED: Final = sealed.delete().where(sealed.c.chunk == bindparam("of"), sealed.c.first == bindparam("at"))
_DROP_HOT: Final = hot.delete().where(
    hot.c.chunk == bindparam("of"), hot.c.slot >= bindparam("low"), hot.c.slot < bindparam("high")
)


@dataclass(frozen=True, slots=True)
class Job:
    """Seal the hot tiles of a chunk from slot ``first`` up to ``last``, both multiples of 64, and ``more`` points.

    ``more`` stand before the hot tiles.
    """

    chunk: int
    first: int
    last: int
    more: Sequence[NDArray[Any]] = ()


def seal_chunks(connection: Connection, database: Database, jobs: Sequence[Job]) -> int:
    """Do some jobs, one a chunk; return the number of hot tiles."""
    if not jobs:
        return 0
    hots = _hot_of(connection, database, jobs)
    jobs = [job for job in jobs if job.more or hots[job.chunk]]
    olds = _olds_of(connection, database, jobs, hots)
    tiles: list[dict[str, Any]] = []
    for job in jobs:
        own, old = hots[job.chunk], olds[job.chunk]
        if not old and not job.more and job.last - job.first == SPAN and _is_dense(own, job):
            tiles.append(_dense_tile(job.chunk, job.first, own))
        else:
            tiles += _cut(job.chunk, _overlaid(old, own, job.more))
    gone = [{"of": chunk, "at": row.first} for chunk, rows in olds.items() for row in rows]
    if gone:
        connection.execute(_DROP_SEALED, gone)
    if tiles:
        connection.execute(sealed.insert(), tiles)
    done = [{"of": job.chunk, "low": job.first, "high": job.last} for job in jobs if hots[job.chunk]]
    if done:
        connection.execute(_DROP_HOT, done)
    return sum(len(hots[job.chunk]) for job in jobs)


def _hot_of(connection: Connection, database: Database, jobs: Sequence[Job]) -> dict[int, list[Row[Any]]]:
    """Return the hot tiles of each job's chunk, by slot."""
    by_chunk = {job.chunk: job for job in jobs}
    low, high = min(job.first for job in jobs), max(job.last for job in jobs)
    query = select(hot).where(database.among(hot.c.chunk), hot.c.slot >= low, hot.c.slot < high)
    found: dict[int, list[Any]] = {chunk: [] for chunk in by_chunk}
    listed = {"numbers": database.listed(list(by_chunk))}
    for row in connection.execute(query.order_by(hot.c.chunk, hot.c.slot), listed):
        if by_chunk[row.chunk].first <= row.slot < by_chunk[row.chunk].last:
            found[row.chunk].append(row)
    return found


def _olds_of(
    connection: Connection, database: Database, jobs: Sequence[Job], hots: Mapping[int, Sequence[Row[Any]]]
) -> dict[int, list[Row[Any]]]:
    """Return the sealed tiles that are to be made anew: those in a job's way, and small sparse ones beside it."""
    columns = (sealed.c.chunk, sealed.c.first, sealed.c.span, sealed.c.sparse, sealed.c.width)
    query = select(*columns, func.length(sealed.c.data).label("size")).where(database.among(sealed.c.chunk))
    listed = {"numbers": database.listed([job.chunk for job in jobs])}
    heads: dict[int, list[Any]] = {job.chunk: [] for job in jobs}
    for row in connection.execute(query.order_by(sealed.c.chunk, sealed.c.first), listed):
        heads[row.chunk].append(row)
    wanted: set[tuple[int, int]] = set()
    for job in jobs:
        own = heads[job.chunk]
        wanted.update(
            (row.chunk, row.first) for row in own if row.first < job.last and row.first + row.span > job.first
        )
        if not _is_dense(hots[job.chunk], job):
            beside = [*[row for row in own if row.first < job.first][-1:], *[r for r in own if r.first >= job.last][:1]]
            wanted.update(
                (row.chunk, row.first)
                for row in beside
                if row.sparse and row.size // POINTS[row.width].itemsize <= _SPARSE_POINTS // 2
            )
    found: dict[int, list[Any]] = {job.chunk: [] for job in jobs}
    if wanted:
        query = select(sealed).where(database.among(sealed.c.chunk), database.among(sealed.c.first, "firsts"))
        listed = {
            "numbers": database.listed(sorted({chunk for chunk, _ in wanted})),
            "firsts": database.listed(sorted({first for _, first in wanted})),
        }
        for row in connection.execute(query.order_by(sealed.c.chunk, sealed.c.first), listed):
            if (row.chunk, row.first) in wanted:
                found[row.chunk].append(row)
    return found


def _is_dense(hots: Sequence[Row[Any]], job: Job) -> bool:
    held = sum(len(row.data) // row.width for row in hots) + sum(len(points) for points in job.more)
    height = max([len(row.data) // row.width for row in hots] + [int(p["place"].max()) + 1 for p in job.more])
    return bool(held >= DENSE * max(1, height) * (job.last - job.first))


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
        points = np.empty(len(stored), dtype=POINT)
        points["place"], points["slot"], points["value"] = stored["place"], stored["slot"], stored["value"]
    else:
        tile = dense_of(row)
        places, columns = np.nonzero(~np.isnan(tile))
        points = np.empty(len(places), dtype=POINT)
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
        points = np.empty(len(places), dtype=POINT)
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


def _cut(chunk: int, points: NDArray[Any]) -> Iterator[dict[str, Any]]:
    """Cut points into tiles: 64 commits where they are dense, longer spans where they are sparse."""
    if not len(points):
        return
    height = int(points["place"].max()) + 1
    blocks, counts = np.unique(points["slot"] // SPAN, return_counts=True)
    group: list[int] = []
    held = 0
    for block, count in zip(blocks.tolist(), counts.tolist(), strict=True):
        dense = count >= DENSE * height * SPAN
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
