"""Read what stored runs have at the commits of a write, as far as the write meets it.

A write needs the parts of two kinds of stored runs: of those that leave, since their traces lose a value, and of those
that share a trace with a run that arrives or leaves, since the median has to be computed anew. Of all others it only
needs to know in which chunks they have something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from knickpoint.store.points.parts import Part, PartRow, PartTable
from knickpoint.store.points.run_results import RunResults
from knickpoint.store.points.run_table import RunWrite, StoredRun, WithheldRuns
from knickpoint.store.points.tile_codec import chunks_of
from knickpoint.store.points.tiles import Tiles


@dataclass(frozen=True, slots=True)
class ArrivingRun:
    """A run on its way into the store: its results by trace, and the stored run that it corrects, if any."""

    write: RunWrite
    results: RunResults
    corrects: StoredRun | None


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part of a stored run, with its samples; ``was_implicit`` is true where they were read from the points.

    ``kept`` is None, but for a withheld run: then only the values of these traces count.
    """

    row: PartRow
    ids: NDArray[np.int64]
    part: Part
    was_implicit: bool
    kept: NDArray[np.int64] | None = None

    @property
    def counted(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The traces whose values count, and these values."""
        if self.kept is None:
            return self.ids, self.part.values
        counts = np.isin(self.ids, self.kept)
        return self.ids[counts], self.part.values[counts]


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


class StoredCommits:
    """Read what is stored at the commits of a write."""

    def __init__(self, parts: PartTable, tiles: Tiles, withheld: WithheldRuns) -> None:
        self._parts = parts
        self._tiles = tiles
        self._withheld = withheld

    def read(
        self,
        connection: Connection,
        repository_id: int,
        arriving: Sequence[ArrivingRun],
        leaving: Sequence[StoredRun],
    ) -> dict[int, StoredCommit]:
        """Return slot → what is stored there; slots without stored runs in the way are left out."""
        # What leaves decides which traces need a new point, so it is read first.
        run_ids = {run.id for run in leaving}
        gone: dict[int, list[StoredPart]] = {}
        for row in self._parts.of_runs(connection, {run.slot for run in leaving}, run_ids):
            gone.setdefault(row.slot, []).append(self._with_samples(connection, repository_id, row))
        lists: dict[int, list[NDArray[np.int64]]] = {}
        for run in arriving:
            lists.setdefault(run.write.slot, []).append(run.results.touched)
        for slot, parts in gone.items():
            lists.setdefault(slot, []).extend(part.ids for part in parts)
        touched = {slot: _union(each) for slot, each in lists.items()}

        # Then the parts of all other runs in the chunks of these traces.
        held = [run.results.chunks for run in arriving]
        chunks = _union(held + [chunks_of(part.ids) for parts in gone.values() for part in parts])
        others: dict[int, list[PartRow]] = {}
        for row in self._parts.at(connection, repository_id, touched.keys(), chunks):
            if row.run_id not in run_ids:
                others.setdefault(row.slot, []).append(row)
        shared = {slot: [row for row in rows if intersects(row.ids, touched[slot])] for slot, rows in others.items()}
        slots = [slot for slot, rows in shared.items() if rows]
        withheld = self._withheld.at(connection, repository_id, slots) if slots else {}
        sharing = {
            slot: [
                replace(self._with_samples(connection, repository_id, row), kept=withheld.get(row.run_id))
                for row in rows
            ]
            for slot, rows in shared.items()
        }
        return {
            slot: StoredCommit(
                gone.get(slot, ()), sharing.get(slot, ()), _occupied(gone.get(slot, ()), others.get(slot, ()))
            )
            for slot in sorted(gone.keys() | others.keys())
        }

    def own_parts(self, connection: Connection, repository_id: int, run: StoredRun) -> list[StoredPart]:
        """Return the parts of one run, with their samples."""
        rows = self._parts.of_runs(connection, [run.slot], [run.id])
        return [self._with_samples(connection, repository_id, row) for row in rows]

    def parts_of_traces(
        self, connection: Connection, repository_id: int, ids: NDArray[np.int64], slots: Sequence[int]
    ) -> Iterator[StoredPart]:
        """Yield the parts at ``slots`` that have one of the traces ``ids``, with their samples."""
        for row in self._parts.at(connection, repository_id, slots, chunks_of(ids)):
            if intersects(row.ids, ids):
                yield self._with_samples(connection, repository_id, row)

    def _with_samples(self, connection: Connection, repository_id: int, row: PartRow) -> StoredPart:
        """Return a part with its samples; those of an implicit part are the points, which it does not share."""
        part = Part.unpack(row.data)
        ids = part.places + row.first_id
        if not part.is_implicit:
            return StoredPart(row, ids, part, was_implicit=False)
        points = self._tiles.points(connection, repository_id, ids, row.slot)
        return StoredPart(row, ids, part.with_samples(points), was_implicit=True)


def intersects(some: NDArray[np.int64], others: NDArray[np.int64]) -> bool:
    """Whether two sorted lists of ids share one."""
    if not len(some) or not len(others) or some[-1] < others[0] or others[-1] < some[0]:
        return False
    return bool(np.isin(some, others, assume_unique=True).any())


def _occupied(gone: Iterable[StoredPart], others: Iterable[PartRow]) -> NDArray[np.int64]:
    """Return the chunks that parts have something in."""
    rows = [*(part.row for part in gone), *others]
    return _union([chunks_of(row.ids) if row.chunk < 0 else np.array([row.chunk], dtype=np.int64) for row in rows])


def _union(lists: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the numbers of sorted lists, sorted, each once."""
    if len(lists) == 1:
        return lists[0]
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *lists]))
