"""Join the values of runs into points: the median of the runs' values, whatever the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, or_, select, update

from knickpoint.model.report import Outcome
from knickpoint.store.array_codec import unpack
from knickpoint.store.database import Database
from knickpoint.store.points.parts import Part
from knickpoint.store.points.results import Entries
from knickpoint.store.points.seal import SPAN, seal_full
from knickpoint.store.points.tiles import Tiles, chunks_of, hot_rows
from knickpoint.store.tables.runs import part as table
from knickpoint.store.tables.traces import chunk as chunk_table
from knickpoint.store.traces.traces import CHUNK

__all__ = ["Added", "Piece", "Points", "cut", "is_scattered", "whole_part"]

_SCATTERED_CHUNKS: Final = 32
_SCATTERED_VALUES: Final = 16
"""A run over more than 32 chunks with fewer than 16 values in each has one part for all of them."""

_STRIP_CHUNKS: Final = 4
"""A run over so many chunks writes its values as one segment: one row, where tiles would be a row a chunk."""


_AT_SLOT: Final = (
    select(table.c.chunk, table.c.run_id, table.c.data)
    .where(
        table.c.slot == bindparam("at"),
        or_(table.c.chunk == bindparam("own"), table.c.chunk.between(bindparam("low"), bindparam("high"))),
    )
    .order_by(table.c.chunk, table.c.run_id)
)


_PART: Final = table.insert()


@dataclass(frozen=True, slots=True)
class Piece:
    """What one run gave to one trace."""

    outcome: Outcome
    value: float
    unit: int
    samples: tuple[float, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Added:
    """Where a run's parts are, and whether some of its values joined those of another run."""

    chunks: NDArray[np.int64]
    joined: bool


class _Row(NamedTuple):
    """A part as it is stored."""

    chunk: int
    run_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class _Other:
    """A part of another run at the same commit: its traces, and their values in the traces' units."""

    ids: NDArray[np.int64]
    values: NDArray[np.float64]


class Points:
    """Write what runs measured into tiles, and keep each run's part beside them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tiles = Tiles(database)
        self._last: tuple[Part, bytes] | None = None

    def add(self, connection: Connection, repository_id: int, slot: int, run_id: int, entries: Entries) -> Added:
        """Write a run's values beside those of other runs."""
        routine = entries.routine
        chunks = routine.chunks if routine is not None else chunks_of(entries.touched)
        rows = self._rows(connection, repository_id, slot, chunks)
        others = self._others(connection, repository_id, slot, rows, entries.ids) if rows else []
        met = np.zeros(len(entries.ids), dtype=np.bool_)
        for other in others:
            met |= np.isin(entries.ids, other.ids, assume_unique=True)
        joined = bool(met.any())
        values = _merged(entries.ids, [_Other(entries.ids, entries.values), *others]) if others else entries.values
        place = np.array([-repository_id], dtype=np.int64)
        whole = whole_part(entries)
        if not joined and (routine is not None or whole.single):
            data = routine.part if routine is not None else self._packed(whole.hidden())
            self._insert(connection, slot, run_id, [(-repository_id, data)])
            written = place
        elif is_scattered(len(entries.touched), len(chunks)):
            self._write(connection, slot, run_id, [(-repository_id, whole)])
            written = place
        else:
            self._write(connection, slot, run_id, list(zip(chunks.tolist(), cut(whole, chunks), strict=True)))
            written = chunks
        if len(chunks) >= _STRIP_CHUNKS:
            listed = routine.listed if routine is not None else None
            self._tiles.write_segment(connection, repository_id, slot, entries.ids, values, listed)
            return Added(written, joined)
        crowded = chunks
        if not self._tiles.has_segments(connection, repository_id, slot, entries.ids):
            crowded = np.intersect1d(chunks, _chunks_with_parts(rows))
        fresh = np.setdiff1d(chunks, crowded, assume_unique=True) if len(crowded) else chunks
        self._tiles.write_rows(connection, hot_rows(slot, entries.ids, values, fresh))
        if len(crowded):
            late = np.isin(entries.ids // CHUNK, crowded)
            self._tiles.change(connection, repository_id, slot, entries.ids[late], values[late])
        if len(chunks) and slot % SPAN == SPAN - 1:
            seal_full(connection, self._database, chunks, slot)
        return Added(written, joined)

    def _write(self, connection: Connection, slot: int, run_id: int, parts: Sequence[tuple[int, Part]]) -> None:
        """Keep the parts of a run, by chunk."""
        self._insert(connection, slot, run_id, [(chunk, part.pack()) for chunk, part in parts])

    def _insert(self, connection: Connection, slot: int, run_id: int, parts: Sequence[tuple[int, bytes]]) -> None:
        records = [{"slot": slot, "chunk": chunk, "run_id": run_id, "data": data} for chunk, data in parts]
        if len(records) == 1:
            self._database.quick(connection, _PART, records[0])
        elif records:
            connection.execute(_PART, records)

    def _packed(self, part: Part) -> bytes:
        """Return an implicit part as bytes; runs of one job have the same one each time."""
        if self._last is None or not part.says_the_same(self._last[0]):
            self._last = part, part.pack()
        return self._last[1]

    def erase(
        self, connection: Connection, repository_id: int, run: Row[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Take a run's values out; return its traces, sorted, and the values that it had."""
        chunks = np.asarray(unpack(run.chunks, 1)[0], dtype=np.int64)
        own = [row for row in self._rows(connection, repository_id, run.slot, chunks) if row.run_id == run.id]
        mine = self._told(connection, repository_id, run.slot, own)
        ids = np.concatenate([np.empty(0, dtype=np.int64), *(other.ids for other in mine)])
        values = np.concatenate([np.empty(0), *(other.values for other in mine)])
        connection.execute(table.delete().where(table.c.slot == run.slot, table.c.run_id == run.id))
        order = np.argsort(ids, kind="stable")
        ids, values = ids[order], values[order]
        held = chunks_of(ids)
        rows = self._rows(connection, repository_id, run.slot, held)
        others = self._others(connection, repository_id, run.slot, rows, ids)
        left = _merged(ids, others) if others else np.full(len(ids), np.nan)
        if len(held) >= _STRIP_CHUNKS:
            self._tiles.write_segment(connection, repository_id, run.slot, ids, left)
        else:
            self._tiles.change(connection, repository_id, run.slot, ids, left)
        return ids, values

    def parts(self, connection: Connection, trace_id: int, slot: int) -> Iterator[tuple[int, Piece]]:
        """Return what each run gave to a point, oldest run first."""
        chunk = trace_id // CHUNK
        owner = select(chunk_table.c.repository_id).where(chunk_table.c.id == chunk)
        repository_id = int(connection.execute(owner).scalar() or 0)
        query = select(table).where(table.c.slot == slot, table.c.chunk.in_([chunk, -repository_id]))
        for row in connection.execute(query.order_by(table.c.run_id)).all():
            part = Part.unpack(row.data)
            place = trace_id if row.chunk < 0 else trace_id % CHUNK
            piece = _piece(part, place)
            if piece is None:
                continue
            if part.implicit and piece.outcome is Outcome.MEASURED:
                value = float(self._tiles.points(connection, repository_id, np.array([trace_id]), slot)[0])
                piece = replace(piece, value=value, samples=(value,))
            yield row.run_id, piece

    def without_value(self, connection: Connection, trace_id: int, slots: Sequence[int]) -> list[tuple[int, Piece]]:
        """Return run and piece of the failures and skips of a trace at ``slots``, by slot and then by run."""
        chunk = trace_id // CHUNK
        owner = select(chunk_table.c.repository_id).where(chunk_table.c.id == chunk)
        repository_id = int(connection.execute(owner).scalar() or 0)
        query = select(table.c.chunk, table.c.run_id, table.c.data).where(self._database.among(table.c.slot))
        query = query.where(table.c.chunk.in_([chunk, -repository_id])).order_by(table.c.slot, table.c.run_id)
        found = []
        for row in connection.execute(query, {"numbers": self._database.listed(slots)}):
            part = Part.unpack(row.data)
            place = trace_id if row.chunk < 0 else trace_id % CHUNK
            if place in part.failed or place in part.skipped:
                piece = _piece(part, place)
                if piece is not None and piece.outcome is not Outcome.MEASURED:
                    found.append((int(row.run_id), piece))
        return found

    def failed(
        self, connection: Connection, repository_id: int, slots: Sequence[int]
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield slot and ids of the traces that failed in a run there, a pair for each part with failures."""
        chunks = select(chunk_table.c.id).where(chunk_table.c.repository_id == repository_id)
        query = select(table.c.slot, table.c.chunk, table.c.data).where(self._database.among(table.c.slot))
        query = query.where(or_(table.c.chunk == -repository_id, table.c.chunk.in_(chunks)))
        query = query.order_by(table.c.slot, table.c.chunk, table.c.run_id)
        for slot, chunk, data in connection.execute(query, {"numbers": self._database.listed(slots)}):
            failed = Part.unpack(data).failed
            if len(failed):
                yield int(slot), failed + max(chunk, 0) * CHUNK

    def _rows(self, connection: Connection, repository_id: int, slot: int, chunks: NDArray[np.int64]) -> list[_Row]:
        """Return the parts at ``slot`` that may hold traces of ``chunks``."""
        low, high = (int(chunks[0]), int(chunks[-1])) if len(chunks) else (0, -1)
        asked = {"at": slot, "own": -repository_id, "low": low, "high": high}
        rows = [_Row(*row) for row in self._database.quick(connection, _AT_SLOT, asked).fetchall()]
        if not rows:
            return rows
        wanted = {*chunks.tolist(), -repository_id}
        return [row for row in rows if row.chunk in wanted]

    def _others(
        self,
        connection: Connection,
        repository_id: int,
        slot: int,
        rows: Sequence[_Row],
        ids: NDArray[np.int64],
    ) -> list[_Other]:
        """Return the parts that share traces with ``ids``; those whose values the points told, tell their own now."""
        shared = []
        for row in rows:
            base = 0 if row.chunk < 0 else row.chunk * CHUNK
            if _meet(Part.unpack_places(row.data) + base, ids):
                shared.append(row)
        return self._told(connection, repository_id, slot, shared, keep=True)

    def _told(
        self, connection: Connection, repository_id: int, slot: int, rows: Sequence[_Row], *, keep: bool = False
    ) -> list[_Other]:
        told = []
        for row in rows:
            part = Part.unpack(row.data)
            ids = part.places + (0 if row.chunk < 0 else row.chunk * CHUNK)
            if part.implicit:
                part = part.told(self._tiles.points(connection, repository_id, ids, slot))
                if keep:
                    where = (table.c.slot == slot) & (table.c.chunk == row.chunk) & (table.c.run_id == row.run_id)
                    connection.execute(update(table).where(where).values(data=part.pack()))
            told.append(_Other(ids, part.values))
        return told


def _meet(some: NDArray[np.int64], others: NDArray[np.int64]) -> bool:
    """Whether two sorted lists of ids share one."""
    if not len(some) or not len(others) or some[-1] < others[0] or others[-1] < some[0]:
        return False
    return bool(np.isin(some, others, assume_unique=True).any())


def _chunks_with_parts(rows: Sequence[_Row]) -> NDArray[np.int64]:
    """Return the chunks that parts have values in."""
    found = [
        chunks_of(Part.unpack(row.data).places) if row.chunk < 0 else np.array([row.chunk], dtype=np.int64)
        for row in rows
    ]
    if not found:
        return np.empty(0, dtype=np.int64)
    return np.unique(np.concatenate(found))


def _merged(ids: NDArray[np.int64], others: Sequence[_Other]) -> NDArray[np.float64]:
    """Return the median of what ``others`` have for each of ``ids``, NaN where none has anything."""
    stack = np.full((len(others), len(ids)), np.nan)
    for layer, other in zip(stack, others, strict=True):
        place = np.minimum(np.searchsorted(ids, other.ids), max(len(ids) - 1, 0))
        here = ids[place] == other.ids
        layer[place[here]] = other.values[here]
    ordered = np.sort(stack, axis=0)
    counts = np.count_nonzero(~np.isnan(stack), axis=0)
    column = np.arange(stack.shape[1])
    low = ordered[np.maximum(counts - 1, 0) // 2, column]
    high = ordered[np.minimum(counts // 2, len(stack) - 1), column]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (low + high) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    return np.where(counts == 0, np.nan, np.where(low == high, low, middle))


def _piece(part: Part, place: int) -> Piece | None:
    """Return what a part says about one place; of an implicit part without the value."""
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


def is_scattered(values: int, chunks: int) -> bool:
    """Tell whether so few values in so many chunks are to be written as one segment."""
    return chunks > _SCATTERED_CHUNKS and values < _SCATTERED_VALUES * chunks


def whole_part(entries: Entries) -> Part:
    """Return the entries of a run as one part, its places being trace ids."""
    return Part(
        entries.ids,
        entries.counts,
        entries.units,
        entries.factors,
        entries.samples,
        entries.failed,
        entries.skipped,
        entries.messages,
    )


def cut(whole: Part, chunks: NDArray[np.int64]) -> Iterator[Part]:
    """Cut a part over trace ids into one for each of ``chunks``."""
    begins = np.searchsorted(whole.places, chunks * CHUNK)
    stops = np.searchsorted(whole.places, (chunks + 1) * CHUNK)
    single = whole.samples is not None and len(whole.samples) == len(whole.places)
    ends = None if single else np.concatenate([[0], np.cumsum(whole.counts)])
    assert whole.samples is not None
    for chunk, begin, stop in zip(chunks.tolist(), begins.tolist(), stops.tolist(), strict=True):
        base = chunk * CHUNK
        low, high = (begin, stop) if ends is None else (int(ends[begin]), int(ends[stop]))
        failed = whole.failed[whole.failed // CHUNK == chunk] - base if len(whole.failed) else whole.failed
        skipped = whole.skipped[whole.skipped // CHUNK == chunk] - base if len(whole.skipped) else whole.skipped
        yield Part(
            whole.places[begin:stop] - base,
            whole.counts[begin:stop],
            whole.units[begin:stop],
            whole.factors[begin:stop],
            whole.samples[low:high],
            failed,
            skipped,
            {trace - base: text for trace, text in whole.messages.items() if trace // CHUNK == chunk},
        )
