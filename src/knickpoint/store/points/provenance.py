"""Read what each run gave to a point: samples, failures and skips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, or_, select

from knickpoint.model.report import Outcome
from knickpoint.store.database import Database
from knickpoint.store.points.checksums import DamagedRowError, RowChecks, part_name
from knickpoint.store.points.parts import Part
from knickpoint.store.points.tiles import Tiles
from knickpoint.store.tables.runs import part as table
from knickpoint.store.tables.traces import chunk as chunk_table
from knickpoint.store.traces.trace_chunks import CHUNK

__all__ = ["Piece", "Provenance"]


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
        """Return the ids of the traces that failed or were skipped in a run at ``slots``; what is damaged is left out."""
        return {
            place + max(row.chunk, 0) * CHUNK
            for row, *without_value in self._without_value(connection, repository_id, slots)
            for places in without_value
            for place in places.tolist()
        }

    def _without_value(
        self, connection: Connection, repository_id: int, slots: Sequence[int]
    ) -> Iterator[tuple[Row[Any], NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the intact rows of parts at ``slots``, by slot, with the places that failed and those that were skipped."""
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
    """Return what a part has for one place; of an implicit part without the value."""
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
