"""Read what stored runs have at the commits of a write, as far as the write meets it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from knickpoint.store.points.part_table import PartRow, PartTable
from knickpoint.store.points.parts import Part
from knickpoint.store.points.run_results import RunResults
from knickpoint.store.points.tile_codec import chunks_of
from knickpoint.store.points.tiles import Tiles

__all__ = ["StoredCommit", "StoredPart", "intersects", "read_commits"]


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part of a stored run, with its samples; ``was_implicit`` says that these were read from the points."""

    row: PartRow
    ids: NDArray[np.int64]
    part: Part
    was_implicit: bool


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """What is stored at a commit.

    Attributes:
        leaving: the parts of runs that the write replaces or removes.
        sharing: the parts of other runs that have one of the traces which the write touches.
        chunks: the chunks of the write in which stored runs have something, sorted.
    """

    leaving: Sequence[StoredPart] = ()
    sharing: Sequence[StoredPart] = ()
    chunks: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def read_commits(  # noqa: PLR0917  # two tables, and what the write does
    connection: Connection,
    parts: PartTable,
    tiles: Tiles,
    repository_id: int,
    arriving: Mapping[int, Sequence[RunResults]],
    leaving: Mapping[int, Collection[int]],
) -> dict[int, StoredCommit]:
    """Return slot → what is stored there; slots without stored runs in the way are left out.

    ``arriving`` has slot → the results of each run that is to be written there; ``leaving`` has slot → the stored
    runs that are to be taken out.
    """
    # What leaves decides which traces need a new point, so it is read first.
    run_ids = {run_id for each in leaving.values() for run_id in each}
    gone: dict[int, list[StoredPart]] = {}
    for row in parts.of_runs(connection, leaving.keys(), run_ids):
        gone.setdefault(row.slot, []).append(_with_samples(connection, tiles, repository_id, row))
    touched = {
        slot: _union([run.touched for run in arriving.get(slot, ())] + [part.ids for part in gone.get(slot, ())])
        for slot in arriving.keys() | gone.keys()
    }

    # Then the parts of all other runs in the chunks of these traces.
    others: dict[int, list[PartRow]] = {}
    held = [run.chunks for each in arriving.values() for run in each]
    chunks = _union(held + [chunks_of(part.ids) for each in gone.values() for part in each])
    for row in parts.at(connection, repository_id, touched.keys(), chunks):
        if row.run_id not in run_ids:
            others.setdefault(row.slot, []).append(row)
    return {
        slot: StoredCommit(
            gone.get(slot, ()),
            [
                _with_samples(connection, tiles, repository_id, row)
                for row in others.get(slot, ())
                if intersects(row.ids, touched[slot])
            ],
            _occupied(gone.get(slot, ()), others.get(slot, ())),
        )
        for slot in sorted(gone.keys() | others.keys())
    }


def intersects(some: NDArray[np.int64], others: NDArray[np.int64]) -> bool:
    """Whether two sorted lists of ids share one."""
    if not len(some) or not len(others) or some[-1] < others[0] or others[-1] < some[0]:
        return False
    return bool(np.isin(some, others, assume_unique=True).any())


def _with_samples(connection: Connection, tiles: Tiles, repository_id: int, row: PartRow) -> StoredPart:
    """Return a part with its samples; those of an implicit part are the points, which it does not share."""
    part = Part.unpack(row.data)
    ids = part.places + row.first_id
    if not part.is_implicit:
        return StoredPart(row, ids, part, was_implicit=False)
    points = tiles.points(connection, repository_id, ids, row.slot)
    return StoredPart(row, ids, part.with_samples(points), was_implicit=True)


def _occupied(gone: Iterable[StoredPart], others: Iterable[PartRow]) -> NDArray[np.int64]:
    """Return the chunks that parts have something in."""
    rows = [*(part.row for part in gone), *others]
    return _union([chunks_of(row.ids) if row.chunk < 0 else np.array([row.chunk], dtype=np.int64) for row in rows])


def _union(lists: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the numbers of sorted lists, sorted, each once."""
    if len(lists) == 1:
        return lists[0]
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *lists]))
