"""Read the samples behind the points of many traces: what each run measured, where it measured more than the point says.

A run that measured each of its traces once keeps no samples: the points are the samples (:mod:`knickpoint.store.points.parts`),
and have no entry here. Runs that are withheld have none either, and what is damaged is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, bindparam, or_, select

from knickpoint.budget import check_time
from knickpoint.model.commit import Line
from knickpoint.store.database import Database
from knickpoint.store.points.checksums import RowChecks, part_name
from knickpoint.store.points.part_table import PartRow
from knickpoint.store.points.parts import Part, converted
from knickpoint.store.points.withheld_runs import WithheldRuns
from knickpoint.store.tables.runs import part as table
from knickpoint.store.traces.renames import predecessors
from knickpoint.store.traces.trace_chunks import CHUNK

__all__ = ["PointSamples", "StoredSamples"]

_CHUNKS: Final = "chunks"


@dataclass(frozen=True, slots=True)
class PointSamples:
    """What runs measured at points of a frame: one entry for each trace and run, by row, column and run.

    Attributes:
        rows: rows of the frame.
        columns: columns of the frame.
        sizes: number of samples of each entry, at least 1.
        samples: all samples in a row, in the units of their traces.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    sizes: NDArray[np.int64]
    samples: NDArray[np.float64]


class StoredSamples:
    """Hold the samples area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._withheld = WithheldRuns(database)
        self._checks = RowChecks()
        low, high = bindparam("low", type_=BigInteger), bindparam("high", type_=BigInteger)
        of_chunk = or_(table.c.chunk == bindparam("whole"), database.among(table.c.chunk, _CHUNKS))
        within = (table.c.slot >= low, table.c.slot <= high)
        self._query = select(table).where(of_chunk, *within).order_by(table.c.slot, table.c.run_id, table.c.chunk)

    def read(
        self, line: Line, trace_ids: NDArray[np.int64], *, first: int = 0, last: int | None = None
    ) -> PointSamples:
        """Return the samples of ``trace_ids`` at the positions ``first … last`` of ``line``, both inclusive.

        Rows are places in ``trace_ids``, columns count from ``first``. A trace that continues another one has the samples of
        that one where it was not measured itself.
        """
        slots = np.asarray(line.slots[first : None if last is None else last + 1], dtype=np.int64)
        repository = line.repository.id
        with self._database.reading() as connection:
            withheld = self._withheld.of_repository(connection, repository)
            reader = _Reader(slots, trace_ids, withheld)
            self._read(connection, repository, reader)
            found = reader.found()

            # What a trace continues has the samples of the commits at which it has none; renames form no circle.
            rows, continued = np.arange(trace_ids.size), trace_ids
            measured = reader.measured
            older = predecessors(self._database, connection, repository)
            while older and (linked := np.isin(continued, list(older))).any():
                rows, measured = rows[linked], measured[linked]
                continued = np.array([older[key] for key in continued[linked].tolist()], dtype=np.int64)
                reader = _Reader(slots, continued, withheld)
                self._read(connection, repository, reader)
                found = _joined(found, _placed(reader.found(), rows, measured))
                measured = measured | reader.measured
        return found

    def _read(self, connection: Connection, repository_id: int, reader: _Reader) -> None:
        """Give the intact parts of the traces of ``reader`` to it, by slot and run."""
        if not reader.ids.size or not reader.slots.size:
            return
        values = {
            _CHUNKS: self._database.listed(np.unique(reader.ids // CHUNK)),
            "whole": -repository_id,
            "low": int(reader.slots.min()),
            "high": int(reader.slots.max()),
        }
        self._checks.renew()
        for row in map(PartRow._make, self._database.quick(connection, self._query, values)):
            check_time()
            if self._checks.is_intact(part_name(row), row.checksum, row.data):
                reader.add(row)


class _Reader:
    """Gather the samples of some traces, part by part; ``measured`` says where the traces have values of their own."""

    def __init__(
        self, slots: NDArray[np.int64], ids: NDArray[np.int64], withheld: Mapping[int, NDArray[np.int64]]
    ) -> None:
        self.slots = slots
        self.ids = ids
        self.measured = np.zeros((ids.size, slots.size), dtype=np.bool_)
        self._withheld = withheld
        self._column_of = {slot: column for column, slot in enumerate(slots.tolist())}
        self._order = np.argsort(ids, kind="stable")
        self._sorted = ids[self._order]
        self._parts: list[PointSamples] = []

    def add(self, row: PartRow) -> None:
        """Take what a part has for the traces."""
        column = self._column_of.get(row.slot)
        if column is None:
            return  # of a commit that is not on the line
        part = Part.unpack(row.data)
        ids = part.places + row.first_id
        places = np.searchsorted(self._sorted, ids)
        places[places == self._sorted.size] = 0
        wanted = self._sorted[places] == ids
        if row.run_id in self._withheld:
            wanted &= np.isin(ids, self._withheld[row.run_id])
        if not wanted.any():
            return
        rows = self._order[places[wanted]]
        self.measured[rows, column] = True
        if part.samples is None:
            return  # the point is the sample
        sizes = part.counts[wanted]
        samples = part.samples if wanted.all() else part.samples[np.repeat(wanted, part.counts)]
        samples = converted(samples, np.repeat(part.factors[wanted], sizes))
        self._parts.append(PointSamples(rows, np.full(rows.size, column, dtype=np.int64), sizes, samples))

    def found(self) -> PointSamples:
        """Return all samples, by row, column and run."""
        return _joined(*self._parts)


def _joined(*several: PointSamples) -> PointSamples:
    """Return all entries by row and column; those of one point stay in their order."""
    none = np.empty(0, dtype=np.int64)
    rows = np.concatenate([none, *(each.rows for each in several)])
    columns = np.concatenate([none, *(each.columns for each in several)])
    sizes = np.concatenate([none, *(each.sizes for each in several)])
    samples = np.concatenate([np.empty(0), *(each.samples for each in several)])
    return _taken(PointSamples(rows, columns, sizes, samples), np.lexsort((columns, rows)))


def _placed(older: PointSamples, rows: NDArray[np.int64], measured: NDArray[np.bool_]) -> PointSamples:
    """Return the entries of ``older`` under the ``rows`` that continue them, but for points that are ``measured``."""
    free = ~measured[older.rows, older.columns]
    kept = _taken(older, np.flatnonzero(free))
    return PointSamples(rows[kept.rows], kept.columns, kept.sizes, kept.samples)


def _taken(all_of: PointSamples, which: NDArray[np.int64]) -> PointSamples:
    """Return the entries ``which``, with their samples."""
    sizes = all_of.sizes[which]
    starts = (np.cumsum(all_of.sizes) - all_of.sizes)[which]
    places = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return PointSamples(all_of.rows[which], all_of.columns[which], sizes, all_of.samples[places])
