"""Where points come from: what each run gave to a point, and the samples behind the points of many traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, Row, bindparam, or_, select

from knickpoint.budget import check_time
from knickpoint.model.commit import Line
from knickpoint.model.report import Outcome
from knickpoint.store.database import Database
from knickpoint.store.points.parts import Part, PartRow, converted
from knickpoint.store.points.run_table import WithheldRuns
from knickpoint.store.points.tile_codec import DamagedRowError, RowChecks, part_name
from knickpoint.store.points.tiles import Tiles
from knickpoint.store.tables.commits import chunk as chunk_table
from knickpoint.store.tables.points import part as table
from knickpoint.store.traces.trace_chunks import CHUNK
from knickpoint.store.traces.traces import predecessors

# Read what each run gave to a point: samples, failures and skips.


@dataclass(frozen=True, slots=True)
class Piece:
    """What one run gave to one trace; ``unit`` is that of the samples, by number."""

    outcome: Outcome
    value: float
    unit: int
    samples: tuple[float, ...]
    message: str


class Provenance:
    """Read the parts of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tiles = Tiles(database)
        self._checks = RowChecks()

    def pieces(self, connection: Connection, trace_id: int, slot: int) -> Iterator[tuple[int, Piece]]:
        """Return run and piece of a point, oldest run first; what is damaged is left out."""
        chunk = trace_id // CHUNK
        repository_id = _owner(connection, chunk)
        query = select(table).where(table.c.slot == slot, table.c.chunk.in_([chunk, -repository_id]))
        for row in self._intact(connection.execute(query.order_by(table.c.run_id)).all()):
            part = Part.unpack(row.data)
            piece = _piece(part, trace_id if row.chunk < 0 else trace_id % CHUNK)
            if piece is None:
                continue
            if part.is_implicit and piece.outcome is Outcome.MEASURED:
                try:
                    value = float(self._tiles.points(connection, repository_id, np.array([trace_id]), slot)[0])
                except DamagedRowError:
                    continue
                piece = replace(piece, value=value, samples=(value,))
            yield row.run_id, piece

    def without_value(self, connection: Connection, trace_id: int, slots: Sequence[int]) -> list[tuple[int, Piece]]:
        """Return run and piece of the failures and skips of a trace at ``slots``, by slot and then by run.

        What is damaged is left out.
        """
        chunk = trace_id // CHUNK
        repository_id = _owner(connection, chunk)
        query = select(table).where(self._database.among(table.c.slot))
        query = query.where(table.c.chunk.in_([chunk, -repository_id])).order_by(table.c.slot, table.c.run_id)
        found = []
        for row in self._intact(connection.execute(query, {"numbers": self._database.listed(slots)})):
            place = trace_id if row.chunk < 0 else trace_id % CHUNK
            if any(place in places for places in Part.unpack_without_value(row.data)):
                piece = _piece(Part.unpack(row.data), place)
                if piece is not None and piece.outcome is not Outcome.MEASURED:
                    found.append((int(row.run_id), piece))
        return found

    def failed(
        self, connection: Connection, repository_id: int, slots: Sequence[int]
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield slot and ids of the traces that failed in a run there, a pair for each intact part with failures."""
        for row, failed, _ in self._without_value(connection, repository_id, slots):
            if len(failed):
                yield int(row.slot), failed + max(row.chunk, 0) * CHUNK

    def traces_without_value(self, connection: Connection, repository_id: int, slots: Sequence[int]) -> set[int]:
        """Return the ids of the traces that failed or were skipped in a run at ``slots``.

        What is damaged is left out.
        """
        return {
            place + max(row.chunk, 0) * CHUNK
            for row, *without_value in self._without_value(connection, repository_id, slots)
            for places in without_value
            for place in places.tolist()
        }

    def _without_value(
        self, connection: Connection, repository_id: int, slots: Sequence[int]
    ) -> Iterator[tuple[Row[Any], NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the intact rows of parts at ``slots``, by slot, with the places that failed and those skipped."""
        chunks = select(chunk_table.c.id).where(chunk_table.c.repository_id == repository_id)
        query = select(table).where(self._database.among(table.c.slot))
        query = query.where(or_(table.c.chunk == -repository_id, table.c.chunk.in_(chunks)))
        query = query.order_by(table.c.slot, table.c.chunk, table.c.run_id)
        rows = self._intact(connection.execute(query, {"numbers": self._database.listed(slots)}))
        yield from ((row, *Part.unpack_without_value(row.data)) for row in rows)

    def _intact(self, rows: Iterable[Row[Any]]) -> Iterator[Row[Any]]:
        """Yield the rows that are what was written."""
        self._checks.renew()
        return (row for row in rows if self._checks.is_intact(part_name(row), row.checksum, row.data))


def _owner(connection: Connection, chunk: int) -> int:
    """Return the repository of a chunk."""
    query = select(chunk_table.c.repository_id).where(chunk_table.c.id == chunk)
    return int(connection.execute(query).scalar() or 0)


def _piece(part: Part, place: int) -> Piece | None:
    """Return the piece of a part at one place; of an implicit part without the value."""
    message = part.messages.get(place, "")
    found = np.flatnonzero(part.places == place)
    if len(found):
        at = int(found[0])
        if part.samples is None:
            return Piece(Outcome.MEASURED, float("nan"), int(part.units[at]), (), message)
        begin = int(part.counts[:at].sum())
        samples = tuple(part.samples[begin : begin + int(part.counts[at])].tolist())
        return Piece(Outcome.MEASURED, float(part.values[at]), int(part.units[at]), samples, message)
    if place in part.failed:
        return Piece(Outcome.FAILED, float("nan"), 0, (), message)
    if place in part.skipped:
        return Piece(Outcome.SKIPPED, float("nan"), 0, (), message)
    return None


# Read the samples behind the points of many traces: what each run measured, where it measured more than the point says.
#
# A run that measured each of its traces once keeps no samples: the points are the samples
# (:mod:`knickpoint.store.points.parts`), and have no entry here. Runs that are withheld have none either, and what is
# damaged is left out.


_CHUNKS: Final = "chunks"
_SAMPLES: Final = (
    select(table)
    .where(
        or_(table.c.chunk == bindparam("whole"), Database.among(table.c.chunk, _CHUNKS)),
        table.c.slot >= bindparam("low", type_=BigInteger),
        table.c.slot <= bindparam("high", type_=BigInteger),
    )
    .order_by(table.c.slot, table.c.run_id, table.c.chunk)
)


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

    def read(
        self, line: Line, trace_ids: NDArray[np.int64], *, first: int = 0, last: int | None = None
    ) -> PointSamples:
        """Return the samples of ``trace_ids`` at the positions ``first … last`` of ``line``, both inclusive.

        Rows are places in ``trace_ids``, columns count from ``first``. A trace that continues another one has the
        samples of that one where it was not measured itself.
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
        for row in map(PartRow._make, self._database.quick(connection, _SAMPLES, values)):
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
