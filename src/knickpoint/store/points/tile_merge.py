"""Merge the layers of a chunk into sealed tiles: older sealed tiles, then hot tiles, then points of segments.

What lies in front wins: a point of a segment replaces that of a hot tile, and a hot tile replaces its whole commit of
the sealed tiles. The result is cut into tiles again: 64 commits trace-major where a quarter of the values or more
exist (reading copies them), else a list of points over as many commits as make a tile of reasonable size (reading
scatters them). Small sparse tiles beside a merge are merged along, so that they do not grow in number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, func, select

from knickpoint.store.array_codec import narrow
from knickpoint.store.database import Database
from knickpoint.store.points.tile_codec import (
    SPARSE_POINTS,
    dense_values,
    floats,
    hot_name,
    require_intact,
    sealed_name,
    sealed_row,
    sparse_points,
)
from knickpoint.store.tables.points import hot, sealed

SPAN: Final = 64
"""Commits in a dense sealed tile."""

DENSE: Final = 0.25
"""A tile with at least this share of its points is dense: a sparse point takes twice the bytes."""

POINT: Final = np.dtype([("place", "<u2"), ("slot", "<i8"), ("value", "<f8")])
"""A point of a chunk: place, slot, value; NaN takes away what was there."""

_SPARSE_POINTS: Final = 16_384
"""Points from which on a sparse tile takes no more blocks of commits."""
_SPARSE_SPAN: Final = 65_536
"""Commits that a sparse tile spans at most: its slots are 16 bits wide."""

_DROP_SEALED: Final = sealed.delete().where(sealed.c.chunk == bindparam("of"), sealed.c.first == bindparam("at"))
_DROP_HOT: Final = hot.delete().where(
    hot.c.chunk == bindparam("of"), hot.c.slot >= bindparam("low"), hot.c.slot < bindparam("high")
)


@dataclass(frozen=True, slots=True)
class TileMerge:
    """Merge the hot tiles of a chunk from slot ``first`` up to ``last``, both multiples of 64, and ``points``.

    ``points`` are arrays of :data:`POINT`; they stand before the hot tiles.
    """

    chunk: int
    first: int
    last: int
    points: Sequence[NDArray[Any]] = ()


def merge_tiles(connection: Connection, database: Database, merges: Sequence[TileMerge]) -> int:
    """Do some merges, one a chunk, in the transaction of the caller; return the number of hot tiles that went.

    Raises:
        DamagedRowError: a tile is not what was written; nothing is merged then.
    """
    if not merges:
        return 0
    # Read the layers.
    hots = _read_hot(connection, database, merges)
    merges = [merge for merge in merges if merge.points or hots[merge.chunk]]
    olds = _read_sealed(connection, database, _to_replace(merges, hots, _read_heads(connection, database, merges)))

    # Merge each chunk. Most often there are only the hot tiles of 64 commits: their values turn into a tile at once.
    tiles: list[dict[str, Any]] = []
    for merge in merges:
        new, old = hots[merge.chunk], olds.get(merge.chunk, [])
        if not old and not merge.points and merge.last - merge.first == SPAN and _is_dense(new, merge):
            tiles.append(_turned(merge.chunk, merge.first, new))
        else:
            tiles += _cut(merge.chunk, _overlaid(old, new, merge.points))

    # Replace the rows.
    gone = [{"of": chunk, "at": row.first} for chunk, rows in olds.items() for row in rows]
    if gone:
        connection.execute(_DROP_SEALED, gone)
    if tiles:
        connection.execute(sealed.insert(), tiles)
    done = [{"of": merge.chunk, "low": merge.first, "high": merge.last} for merge in merges if hots[merge.chunk]]
    if done:
        connection.execute(_DROP_HOT, done)
    return sum(len(hots[merge.chunk]) for merge in merges)


def _read_hot(connection: Connection, database: Database, merges: Sequence[TileMerge]) -> dict[int, list[Row[Any]]]:
    """Return the hot tiles of each merge's chunk, by slot."""
    by_chunk = {merge.chunk: merge for merge in merges}
    low, high = min(merge.first for merge in merges), max(merge.last for merge in merges)
    query = select(hot).where(database.among(hot.c.chunk), hot.c.slot >= low, hot.c.slot < high)
    found: dict[int, list[Any]] = {chunk: [] for chunk in by_chunk}
    listed = {"numbers": database.listed(list(by_chunk))}
    for row in connection.execute(query.order_by(hot.c.chunk, hot.c.slot), listed):
        if by_chunk[row.chunk].first <= row.slot < by_chunk[row.chunk].last:
            require_intact(hot_name(row), row.checksum, row.data)
            found[row.chunk].append(row)
    return found


def _read_heads(connection: Connection, database: Database, merges: Sequence[TileMerge]) -> dict[int, list[Row[Any]]]:
    """Return the places and sizes of the sealed tiles of each merge's chunk, by first slot."""
    columns = (sealed.c.chunk, sealed.c.first, sealed.c.span, sealed.c.sparse, sealed.c.width)
    query = select(*columns, func.length(sealed.c.data).label("size")).where(database.among(sealed.c.chunk))
    listed = {"numbers": database.listed([merge.chunk for merge in merges])}
    heads: dict[int, list[Any]] = {merge.chunk: [] for merge in merges}
    for row in connection.execute(query.order_by(sealed.c.chunk, sealed.c.first), listed):
        heads[row.chunk].append(row)
    return heads


def _to_replace(
    merges: Sequence[TileMerge], hots: Mapping[int, Sequence[Row[Any]]], heads: Mapping[int, Sequence[Row[Any]]]
) -> set[tuple[int, int]]:
    """Return chunk and first slot of the sealed tiles to make anew: those in a merge's way, and small neighbours."""
    wanted: set[tuple[int, int]] = set()
    for merge in merges:
        tiles = heads[merge.chunk]
        replaced = [row for row in tiles if row.first < merge.last and row.first + row.span > merge.first]
        if not _is_dense(hots[merge.chunk], merge):
            before = [row for row in tiles if row.first < merge.first][-1:]
            after = [row for row in tiles if row.first >= merge.last][:1]
            replaced += [row for row in (*before, *after) if _is_small(row)]
        wanted.update((merge.chunk, row.first) for row in replaced)
    return wanted


def _read_sealed(connection: Connection, database: Database, wanted: set[tuple[int, int]]) -> dict[int, list[Row[Any]]]:
    """Return sealed tiles, named by chunk and first slot, by chunk."""
    found: dict[int, list[Any]] = {}
    if not wanted:
        return found
    query = select(sealed).where(database.among(sealed.c.chunk), database.among(sealed.c.first, "firsts"))
    listed = {
        "numbers": database.listed(sorted({chunk for chunk, _ in wanted})),
        "firsts": database.listed(sorted({first for _, first in wanted})),
    }
    for row in connection.execute(query.order_by(sealed.c.chunk, sealed.c.first), listed):
        if (row.chunk, row.first) in wanted:
            require_intact(sealed_name(row), row.checksum, row.data)
            found.setdefault(row.chunk, []).append(row)
    return found


def _is_small(row: Row[Any]) -> bool:
    """Whether a sealed tile is sparse, and has room for as many points again."""
    return bool(row.sparse) and row.size // SPARSE_POINTS[row.width].itemsize <= _SPARSE_POINTS // 2


def _is_dense(hots: Sequence[Row[Any]], merge: TileMerge) -> bool:
    """Whether the values of a merge fill at least a quarter of its commits × the places that they reach."""
    held = sum(len(row.data) // row.width for row in hots) + sum(len(points) for points in merge.points)
    height = max(
        [len(row.data) // row.width for row in hots] + [int(points["place"].max()) + 1 for points in merge.points]
    )
    return bool(held >= DENSE * max(1, height) * (merge.last - merge.first))


def _turned(chunk: int, first: int, hots: Sequence[Row[Any]]) -> dict[str, Any]:
    """Return 64 commits of a chunk as one row, from hot tiles alone."""
    width = max(row.width for row in hots)
    height = max(len(row.data) // row.width for row in hots)
    columns = np.full((SPAN, height), np.nan, dtype=np.float32 if width == 4 else np.float64)
    for row in hots:
        values = floats(row)
        columns[row.slot - first, : len(values)] = values
    return sealed_row(chunk, first, SPAN, columns.T, width=width, sparse=False)


def _listed(row: Row[Any]) -> NDArray[Any]:
    """Return the points of a sealed tile with their own slots."""
    if row.sparse:
        stored = sparse_points(row)
        points = np.empty(len(stored), dtype=POINT)
        points["place"], points["slot"], points["value"] = stored["place"], stored["slot"], stored["value"]
    else:
        tile = dense_values(row)
        places, columns = np.nonzero(~np.isnan(tile))
        points = np.empty(len(places), dtype=POINT)
        points["place"], points["slot"], points["value"] = places, columns, tile[places, columns]
    points["slot"] += row.first
    return points


def _overlaid(olds: Sequence[Row[Any]], hots: Sequence[Row[Any]], more: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the points of a chunk by place and slot: sealed ones, then whole hot commits, then ``more``."""
    # Layers, from the back to the front; a hot tile hides its whole commit, with the points that it does not have.
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

    # The sort is stable: of points at one place and slot, the last is that of the frontmost layer.
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
        # A dense block, or one that does not fit any more, ends the sparse tile before it.
        dense = count >= DENSE * height * SPAN
        full = bool(group) and (held + count > _SPARSE_POINTS or (block + 1 - group[0]) * SPAN > _SPARSE_SPAN)
        if group and (dense or full):
            yield _sparse_tile(chunk, group[0] * SPAN, (group[-1] + 1) * SPAN, points)
            group, held = [], 0
        if dense:
            yield _dense_tile(chunk, block * SPAN, points)
        else:
            group.append(block)
            held += count
    if group:
        yield _sparse_tile(chunk, group[0] * SPAN, (group[-1] + 1) * SPAN, points)


def _dense_tile(chunk: int, first: int, points: NDArray[Any]) -> dict[str, Any]:
    """Return the row of a dense tile with those of ``points`` that lie in the 64 commits from ``first`` on."""
    own = points[(points["slot"] >= first) & (points["slot"] < first + SPAN)]
    values = narrow(own["value"])
    tile = np.full((int(own["place"].max()) + 1, SPAN), np.nan, dtype=values.dtype)
    tile[own["place"], own["slot"] - first] = values
    return sealed_row(chunk, first, SPAN, tile, width=tile.itemsize, sparse=False)


def _sparse_tile(chunk: int, first: int, last: int, points: NDArray[Any]) -> dict[str, Any]:
    """Return the row of a sparse tile with those of ``points`` that lie in the commits ``first … last - 1``."""
    own = points[(points["slot"] >= first) & (points["slot"] < last)]
    values = narrow(own["value"])
    stored = np.empty(len(own), dtype=SPARSE_POINTS[values.itemsize])
    stored["place"], stored["slot"], stored["value"] = own["place"], own["slot"] - first, values
    return sealed_row(chunk, first, last - first, stored, width=values.itemsize, sparse=True)


# Group segments for sealing: those that may have a point in common are sealed together.
#
# A later segment stands in front of an earlier one. If an earlier one were sealed after a later one, its older value
# would come back. So all segments over one trace and commit go into one group, and a group is sealed as a whole. Pure.


SEGMENT_POINTS: Final = 8_000_000
"""Points of segments that are held in memory at once."""

_MATRIX_BYTES: Final = 2**29
_MANY_SCATTERED: Final = 256
_MANY_SEGMENTS: Final = 4096
"""Segments of one block of commits from which on they are sealed although the block is not full yet.

Scattered ones have to be read for nearly every trace, those of neighbours only for theirs.
"""


class SegmentHead(NamedTuple):
    """A segment without its points."""

    id: int
    repository_id: int
    slot: int
    lowest: int
    highest: int
    points: int


@dataclass(frozen=True, slots=True)
class SegmentGroup:
    """Segments to seal together, by id; ``first`` is the first slot of their block, -1 where they are of several."""

    heads: Sequence[SegmentHead]
    first: int

    @property
    def ids(self) -> list[int]:
        """The ids of the segments."""
        return [head.id for head in self.heads]

    @property
    def lowest(self) -> int:
        """The lowest trace of all of them."""
        return min(head.lowest for head in self.heads)

    @property
    def highest(self) -> int:
        """The highest trace of all of them."""
        return max(head.highest for head in self.heads)

    @property
    def points(self) -> int:
        """The number of points in all of them."""
        return sum(head.points for head in self.heads)

    @property
    def is_dense(self) -> bool:
        """Whether they hold so much of neighbouring traces × 64 commits that a matrix is the way to seal them."""
        cells = (self.highest - self.lowest + 1) * SPAN
        return self.first >= 0 and cells * 8 <= _MATRIX_BYTES and self.points >= DENSE * cells


def group_segments(
    heads: Iterable[SegmentHead], next_slots: Mapping[int, int], *, everything: bool
) -> Iterator[SegmentGroup]:
    """Return the groups to seal: of blocks that newer commits follow, and of blocks with very many segments.

    ``next_slots`` has repository → the slot after its newest commit; ``everything`` takes the newest blocks too.
    """
    blocks: dict[tuple[int, int], list[SegmentHead]] = {}
    for head in heads:
        blocks.setdefault((head.repository_id, head.slot // SPAN), []).append(head)
    scattered: list[SegmentHead] = []
    points = 0
    for (owner, block), own in sorted(blocks.items()):
        if not (everything or block < next_slots.get(owner, 0) // SPAN or _are_many(own)):
            continue
        for group in _overlapping(own, block * SPAN):
            if group.is_dense:
                yield group
                continue
            # Small groups are sealed point by point, as many at a time as fit into memory.
            if scattered and points + group.points > SEGMENT_POINTS:
                yield SegmentGroup(scattered, -1)
                scattered, points = [], 0
            scattered, points = [*scattered, *group.heads], points + group.points
    if scattered:
        yield SegmentGroup(scattered, -1)


def _are_many(heads: Sequence[SegmentHead]) -> bool:
    """Whether reading has to look through so many segments that they are sealed early."""
    scattered = sum(head.points * 16 < head.highest - head.lowest for head in heads)
    return scattered >= _MANY_SCATTERED or len(heads) >= _MANY_SEGMENTS


def _overlapping(heads: Sequence[SegmentHead], first: int) -> Iterator[SegmentGroup]:
    """Part the segments of a block so that no two groups can have a trace in common; each by id."""
    group: list[SegmentHead] = []
    highest = -1
    for head in sorted(heads, key=lambda head: head.lowest):
        if group and head.lowest > highest:
            yield SegmentGroup(sorted(group), first)
            group = []
        highest = max(highest, head.highest) if group else head.highest
        group.append(head)
    if group:
        yield SegmentGroup(sorted(group), first)
