"""Join the values of runs into points: the median of the runs' values, whatever the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select, update

from knickpoint.model.report import Outcome
from knickpoint.store.database import Database
from knickpoint.store.packing import narrow, unpack
from knickpoint.store.parts import Part
from knickpoint.store.results import Entries
from knickpoint.store.tables.runs import part as table
from knickpoint.store.tiles import Tiles
from knickpoint.store.traces import CHUNK, Traces

__all__ = ["Piece", "Points"]


@dataclass(frozen=True, slots=True)
class Piece:
    """What one run gave to one trace."""

    outcome: Outcome
    value: float
    unit: int
    samples: tuple[float, ...]
    message: str


class Points:
    """Write what runs measured into tiles, and keep each run's part beside them."""

    def __init__(self, database: Database, traces: Traces) -> None:
        self._database = database
        self._traces = traces
        self._tiles = Tiles(database)

    def add(self, connection: Connection, slot: int, run_id: int, entries: Entries) -> tuple[NDArray[np.int64], bool]:
        """Write a run's values; return its chunks, and whether it joined the values of another run."""
        parts = _parts(entries)
        chunks = np.array(sorted(parts), dtype=np.int64)
        others = self._load(connection, chunks, slot)
        joined = False
        rows: list[dict[str, Any]] = []
        columns: dict[int, NDArray[np.float64]] = {}
        records = []
        crowded = [chunk for chunk in parts if chunk in others]
        current = self._tiles.columns(connection, crowded, slot) if crowded else {}
        for chunk, part in parts.items():
            if chunk in others:
                column = current[chunk]
                met = self._join(connection, chunk, slot, column, part, others[chunk])
                columns[chunk] = column
                joined |= met
                kept = part if met else part.hidden()
            else:
                rows.append({"chunk": chunk, "slot": slot, **_tile(part)})
                kept = part.hidden()
            records.append({"slot": slot, "chunk": chunk, "run_id": run_id, "data": kept.pack()})
        self._tiles.write_rows(connection, rows)
        self._tiles.write(connection, slot, columns)
        if records:
            connection.execute(table.insert(), records)
        return chunks, joined

    def erase(self, connection: Connection, run: Row[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Take a run's values out; return its traces, sorted, and the values that it had."""
        chunks = np.asarray(unpack(run.chunks, 1)[0], dtype=np.int64)
        loaded = self._load(connection, chunks, run.slot)
        current = self._tiles.columns(connection, chunks.tolist(), run.slot)
        ids, values = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        for chunk in chunks.tolist():
            column = current[chunk]
            own = loaded[chunk].pop(run.id)
            told = own.told(column[own.places])
            ids.append(chunk * CHUNK + own.places)
            values.append(told.values)
            stack = [np.full(CHUNK, np.nan)]
            for other in loaded[chunk].values():
                layer = np.full(CHUNK, np.nan)
                layer[other.places] = column[other.places] if other.implicit else other.values
                stack.append(layer)
            column[own.places] = _middle(np.stack(stack)[:, own.places])
        self._tiles.write(connection, run.slot, current)
        connection.execute(table.delete().where(table.c.slot == run.slot, table.c.run_id == run.id))
        return np.concatenate(ids), np.concatenate(values)

    def parts(self, connection: Connection, trace_id: int, slot: int) -> Iterator[tuple[int, Piece]]:
        """Return what each run gave to a point, oldest run first."""
        chunk, place = divmod(trace_id, CHUNK)
        query = select(table).where(table.c.slot == slot, table.c.chunk == chunk).order_by(table.c.run_id)
        for row in connection.execute(query).all():
            part = Part.unpack(row.data)
            message = part.messages.get(place, "")
            found = np.flatnonzero(part.places == place)
            if len(found):
                at = int(found[0])
                if part.implicit:
                    value = float(self._tiles.columns(connection, [chunk], slot)[chunk][place])
                    samples: tuple[float, ...] = (value,)
                else:
                    assert part.samples is not None
                    begin = int(part.counts[:at].sum())
                    samples = tuple(part.samples[begin : begin + int(part.counts[at])].tolist())
                    value = float(part.values[at])
                yield row.run_id, Piece(Outcome.MEASURED, value, int(part.units[at]), samples, message)
            elif place in part.failed:
                yield row.run_id, Piece(Outcome.FAILED, float("nan"), 0, (), message)
            elif place in part.skipped:
                yield row.run_id, Piece(Outcome.SKIPPED, float("nan"), 0, (), message)

    def _load(self, connection: Connection, chunks: NDArray[np.int64], slot: int) -> dict[int, dict[int, Part]]:
        """Return the parts at ``slot`` by chunk and run, runs in the order of their numbers."""
        found: dict[int, dict[int, Part]] = {}
        if len(chunks):
            wanted = set(chunks.tolist())
            query = select(table).where(
                table.c.slot == slot, table.c.chunk >= int(chunks[0]), table.c.chunk <= int(chunks[-1])
            )
            for row in connection.execute(query.order_by(table.c.chunk, table.c.run_id)):
                if row.chunk in wanted:
                    found.setdefault(row.chunk, {})[row.run_id] = Part.unpack(row.data)
        return found

    def _join(  # noqa: PLR0917  # one step of add
        self,
        connection: Connection,
        chunk: int,
        slot: int,
        column: NDArray[np.float64],
        part: Part,
        others: dict[int, Part],
    ) -> bool:
        """Set ``column`` to the points of all runs; return whether the new part met another one."""
        new = np.full(CHUNK, np.nan)
        new[part.places] = part.values
        stack = [new]
        met = False
        for run_id, other in others.items():
            here = np.isin(other.places, part.places)
            if not here.any():
                continue
            met = True
            told = other.told(column[other.places])
            layer = np.full(CHUNK, np.nan)
            layer[told.places] = told.values
            stack.append(layer)
            if other.implicit:
                where = (table.c.slot == slot) & (table.c.chunk == chunk) & (table.c.run_id == run_id)
                connection.execute(update(table).where(where).values(data=told.pack()))
        column[part.places] = _middle(np.stack(stack)[:, part.places])
        return met


def _middle(stack: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median over the first axis, NaN left out, NaN where there is nothing."""
    ordered = np.sort(stack, axis=0)
    counts = np.count_nonzero(~np.isnan(stack), axis=0)
    column = np.arange(stack.shape[1])
    low = ordered[np.maximum(counts - 1, 0) // 2, column]
    high = ordered[np.minimum(counts // 2, len(stack) - 1), column]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (low + high) / 2
    middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    return np.where(counts == 0, np.nan, np.where(low == high, low, middle))


def _tile(part: Part) -> dict[str, Any]:
    """Return a part as the columns of a fresh hot tile."""
    places = part.places
    if not len(places):
        return {"width": 4, "data": b""}
    stored = narrow(part.values)
    if places[0] == 0 and int(places[-1]) + 1 == len(places):
        return {"width": stored.itemsize, "data": stored.tobytes()}
    column = np.full(int(places[-1]) + 1, np.nan, dtype=stored.dtype)
    column[places] = stored
    return {"width": stored.itemsize, "data": column.tobytes()}


def _parts(entries: Entries) -> dict[int, Part]:
    """Cut the entries of a run into its parts by chunk."""
    touched = np.unique(entries.touched // CHUNK)
    begins = np.searchsorted(entries.ids, touched * CHUNK)
    stops = np.searchsorted(entries.ids, (touched + 1) * CHUNK)
    ends = np.concatenate([[0], np.cumsum(entries.counts)])
    parts = {}
    for place, chunk in enumerate(touched.tolist()):
        begin, end = int(begins[place]), int(stops[place])
        own = slice(begin, end)
        failed = entries.failed[entries.failed // CHUNK == chunk] - chunk * CHUNK
        skipped = entries.skipped[entries.skipped // CHUNK == chunk] - chunk * CHUNK
        said = {trace % CHUNK: text for trace, text in entries.messages.items() if trace // CHUNK == chunk}
        parts[chunk] = Part(
            entries.ids[own] - chunk * CHUNK,
            entries.counts[own],
            entries.units[own],
            entries.factors[own],
            entries.samples[ends[begin] : ends[end]],
            failed,
            skipped,
            said,
        )
    return parts
