"""Read traces × commits as one matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, bindparam, select

from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Frame
from knickpoint.native.points import PointTiles, lay
from knickpoint.store.database import Database
from knickpoint.store.points.tiles import dense_of, floats, segment_of
from knickpoint.store.tables.tiles import hot, sealed, segment
from knickpoint.store.traces.traces import CHUNK, Traces

__all__ = ["Frames"]

_BLOCK_BYTES: Final = 256 * 2**20
"""Memory of one streamed block unless told."""

_WORTH_TRACKING: Final = 64
"""Rows a chunk from which on it is cheaper to fill what is missing than all."""

Ids = Sequence[int] | NDArray[np.int64]


class _Sealed(NamedTuple):
    """A row of the table of sealed tiles."""

    chunk: int
    first: int
    span: int
    width: int
    sparse: int
    data: bytes


class _Hot(NamedTuple):
    """A row of the table of hot tiles."""

    chunk: int
    slot: int
    width: int
    data: bytes


class _Matrix:
    """Collect values of some traces at some slots; widens to float64 when a value needs it."""

    def __init__(self, ids: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
        self.order = np.argsort(ids, kind="stable") if not bool((np.diff(ids) > 0).all()) else None
        self.ids = ids if self.order is None else ids[self.order]
        self.distinct = self.order is None or bool((np.diff(self.ids) > 0).all())
        self.slots = slots
        self.sorted_slots = np.argsort(slots, kind="stable")
        self.ordered = slots[self.sorted_slots]
        self.column_of = dict(zip(slots.tolist(), range(len(slots)), strict=True))
        self.chunks, self.begins = np.unique(self.ids // CHUNK, return_index=True)
        self.tracked = len(ids) >= _WORTH_TRACKING * len(self.chunks)
        self._values: NDArray[np.floating[Any]] | None = None
        self.covered = np.zeros((len(self.chunks) if self.tracked else 0, len(slots)), dtype=np.bool_)
        self.ends = np.append(self.begins[1:], len(self.ids))
        self._number = {chunk: number for number, chunk in enumerate(self.chunks.tolist())}
        self._places: dict[int, slice | NDArray[np.int64]] = {}
        self._columns: dict[tuple[int, int], tuple[Any, Any]] = {}

    @property
    def values(self) -> NDArray[np.floating[Any]]:
        """The matrix, made when it is first asked for."""
        if self._values is None:
            self._values = self._empty(np.float32)
        return self._values

    def _empty(self, kind: type[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        shape = (len(self.ids), len(self.slots))
        return np.empty(shape, dtype=kind) if self.tracked else np.full(shape, np.nan, dtype=kind)

    def places(self, chunk: int) -> slice | NDArray[np.int64]:
        """Return the places of the wanted traces of a chunk, as a slice where they are equally far apart."""
        if chunk not in self._places:
            number = self._number[chunk]
            own = self.ids[int(self.begins[number]) : int(self.ends[number])] - chunk * CHUNK
            step = int(own[1] - own[0]) if len(own) > 1 else 1
            even = (
                step > 0 and int(own[-1]) == int(own[0]) + step * (len(own) - 1) and bool((np.diff(own) == step).all())
            )
            self._places[chunk] = slice(int(own[0]), int(own[-1]) + 1, step) if even else own
        return self._places[chunk]

    def columns(self, first: int, span: int) -> tuple[Any, Any]:
        """Return the columns whose slots lie in ``first … first + span - 1``, and those slots minus first."""
        name = (first, span)
        if name not in self._columns:
            self._columns[name] = self._columns_of(first, span)
        return self._columns[name]

    def _columns_of(self, first: int, span: int) -> tuple[Any, Any]:
        low, high = np.searchsorted(self.ordered, [first, first + span])
        columns = self.sorted_slots[low:high]
        places = self.slots[columns] - first
        if len(columns) and bool((np.diff(columns) == 1).all()) and bool((np.diff(places) == 1).all()):
            return slice(int(columns[0]), int(columns[-1]) + 1), slice(int(places[0]), int(places[-1]) + 1)
        return columns, places

    def widen(self, width: int) -> None:
        """Make room for values of ``width`` bytes."""
        if self._values is None:
            self._values = self._empty(np.float32 if width == np.dtype(np.float32).itemsize else np.float64)
        elif width > self._values.itemsize:
            with np.errstate(invalid="ignore"):  # what nothing was stored for yet may be any bits
                self._values = self._values.astype(np.float64)

    def put(self, chunk: int, columns: Any, block: NDArray[np.floating[Any]]) -> None:
        """Store the values of a chunk in some columns; rows beyond ``block`` have none there."""
        self.widen(block.itemsize)
        number = self._number[chunk]
        begin, end = int(self.begins[number]), int(self.ends[number])
        self.values[begin : begin + len(block), columns] = block
        if begin + len(block) < end:
            self.values[begin + len(block) : end, columns] = np.nan
        if self.tracked:
            self.covered[number, columns] = True

    def put_strip(self, lowest: int, highest: int, column: int, stored: NDArray[np.floating[Any]]) -> None:
        """Store the values of neighbouring traces in one column."""
        self.widen(stored.itemsize)
        begin, end = (int(place) for place in np.searchsorted(self.ids, [lowest, highest + 1]))
        own = self.ids[begin:end]
        if not len(own):
            return
        whole = self.distinct and int(own[-1]) - int(own[0]) + 1 == len(own)
        some = stored[int(own[0]) - lowest : int(own[-1]) - lowest + 1]
        self.values[begin:end, column] = some if whole else some[own - own[0]]

    def complete(self) -> None:
        """Mark as missing what nothing was stored for."""
        if not self.tracked or self.covered.all():
            return
        for number in np.flatnonzero(~self.covered.all(axis=1)).tolist():
            rows = slice(int(self.begins[number]), int(self.ends[number]))
            self.values[rows, ~self.covered[number]] = np.nan

    def scatter(self, tiles: Sequence[_Sealed]) -> None:
        """Store the points of sparse sealed tiles."""
        if not tiles:
            return
        _, firsts, spans, widths = np.array([tile[:4] for tile in tiles], dtype=np.int64).T
        numbers = np.searchsorted(self.chunks, np.array([tile.chunk for tile in tiles]))
        self.widen(int(widths.max()))
        low, high = int(self.ordered[0]), int(self.ordered[-1])
        place = np.full(high - low + 1, -1, dtype=np.int32)
        place[self.slots - low] = np.arange(len(self.slots))
        lefts, rights = np.zeros((2, len(tiles)), dtype=np.int64)
        if self.tracked:
            for row, (number, first, span) in enumerate(zip(numbers, firsts.tolist(), spans.tolist(), strict=True)):
                columns, _ = self.columns(first, span)
                self.covered[number, columns] = True
                if isinstance(columns, slice):
                    lefts[row], rights[row] = columns.start, columns.stop
                else:
                    self.values[int(self.begins[number]) : int(self.ends[number]), columns] = np.nan
        begins, ends = self.begins[numbers], self.ends[numbers]
        listed = PointTiles([tile.data for tile in tiles], widths, firsts, begins, ends, lefts, rights)
        lay(listed, self.ids, CHUNK, place, low, self.values)

    def result(self) -> NDArray[np.floating[Any]]:
        """Return the values in the order in which the ids were given."""
        if self.order is None:
            return self.values
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(self.order))
        return self.values[back]


class Frames:
    """Hold the frames area of a store."""

    def __init__(self, database: Database, traces: Traces) -> None:
        self._database = database
        self._traces = traces
        low, high = bindparam("low", type_=BigInteger), bindparam("high", type_=BigInteger)
        within = (sealed.c.first <= high) & (sealed.c.first + sealed.c.span > low)
        self._sealed = select(sealed).where(database.among(sealed.c.chunk), within)
        self._hot = select(hot).where(database.among(hot.c.chunk), hot.c.slot >= low, hot.c.slot <= high)

    def read(
        self, line: Line, trace_ids: Ids, *, first: int = 0, last: int | None = None, measured: int | None = None
    ) -> Frame:
        """Return the values of ``trace_ids`` at the positions ``first … last`` of ``line``, both inclusive.

        ``measured=N`` keeps the last N of these commits at which any of the traces has a value; the frame then
        has the columns of these commits only. The rows come in the order of ``trace_ids``. float32, or float64
        where a stored value needs it; NaN for missing.

        Raises:
            InputError: a position beyond the line, or a negative one.
        """
        ids = np.asarray(trace_ids, dtype=np.int64)
        positions = self._range(line, first, last)
        slots = np.asarray(line.slots[positions.start : positions.stop], dtype=np.int64)
        with self._database.reading() as connection:
            if measured is not None:
                slots, begin = self._measured(connection, line, ids, slots, measured)
                values = self._values(connection, line.repository.id, ids, slots)
                kept = ~np.isnan(values).all(axis=0) if len(values) else np.zeros(len(slots), dtype=np.bool_)
                slots, values = slots[kept][-measured:], values[:, kept][:, -measured:]
                positions = range(positions.start + begin, positions.stop)
            else:
                values = self._values(connection, line.repository.id, ids, slots)
            return Frame(self._traces.get(ids), line, positions.start, slots, values)

    def values(self, line: Line, trace_ids: Ids, *, first: int = 0, last: int | None = None) -> NDArray[np.floating]:
        """Return the values of a frame alone, without looking up what its traces are called."""
        positions = self._range(line, first, last)
        slots = np.asarray(line.slots[positions.start : positions.stop], dtype=np.int64)
        with self._database.reading() as connection:
            return self._values(connection, line.repository.id, np.asarray(trace_ids, dtype=np.int64), slots)

    def blocks(
        self, line: Line, trace_ids: Ids, *, first: int = 0, last: int | None = None, memory: int = _BLOCK_BYTES
    ) -> Iterator[Frame]:
        """Stream a frame as frames of fewer traces, each of at most ``memory`` bytes (one trace at least)."""
        ids = np.asarray(trace_ids, dtype=np.int64)
        positions = self._range(line, first, last)
        rows = max(1, memory // max(1, 8 * len(positions)))
        for begin in range(0, len(ids), rows):
            yield self.read(line, ids[begin : begin + rows], first=first, last=last)

    def _range(self, line: Line, first: int, last: int | None) -> range:
        stop = len(line.slots) if last is None else last + 1
        if first < 0 or stop > len(line.slots) or (last is not None and last < first - 1):
            raise InputError(
                f"positions {first} to {last} are not on the line",
                where=f"line {line.name!r}",
                remedy=f"It has {len(line.slots)} commits, from position 0.",
            )
        return range(first, stop)

    def _measured(
        self, connection: Connection, line: Line, ids: NDArray[np.int64], slots: NDArray[np.int64], wanted: int
    ) -> tuple[NDArray[np.int64], int]:
        """Return the newest of ``slots`` that hold ``wanted`` measured commits, and how many were left out."""
        end = len(slots)
        found, width = 0, max(64, wanted)
        while end > 0 and found < wanted:
            begin = max(0, end - width)
            values = self._values(connection, line.repository.id, ids, slots[begin:end])
            found += int((~np.isnan(values)).any(axis=0).sum()) if len(values) else 0
            end, width = begin, width * 2
        return slots[end:], end

    def _values(
        self, connection: Connection, repository_id: int, ids: NDArray[np.int64], slots: NDArray[np.int64]
    ) -> NDArray[np.floating[Any]]:
        matrix = _Matrix(ids, slots)
        if not len(ids) or not len(slots):
            return matrix.result()
        low, high = int(slots.min()), int(slots.max())
        asked = {"numbers": self._database.listed(matrix.chunks), "low": low, "high": high}
        sparse = []
        for row in map(_Sealed._make, self._database.quick(connection, self._sealed, asked)):
            if row.sparse:
                sparse.append(row)
                continue
            columns, places = matrix.columns(row.first, row.span)
            tile = dense_of(row)
            matrix.put(row.chunk, columns, _taken(tile, matrix.places(row.chunk))[:, places])
        matrix.scatter(sparse)
        for hot_row in map(_Hot._make, self._database.quick(connection, self._hot, asked)):
            column = matrix.column_of.get(hot_row.slot)
            if column is not None:
                matrix.put(hot_row.chunk, column, _taken(floats(hot_row), matrix.places(hot_row.chunk)))
        matrix.complete()
        self._overlay(connection, repository_id, matrix, low, high)
        return matrix.result()

    def _overlay(self, connection: Connection, repository_id: int, matrix: _Matrix, low: int, high: int) -> None:
        """Put the points of segments, which stand before everything else, into the matrix."""
        query = select(segment).where(
            segment.c.repository_id == repository_id,
            segment.c.slot >= low,
            segment.c.slot <= high,
            segment.c.lowest <= int(matrix.ids[-1]),
            segment.c.highest >= int(matrix.ids[0]),
        )
        for row in connection.execute(query.order_by(segment.c.id)):
            column = matrix.column_of.get(row.slot)
            if column is None:
                continue
            if not row.ids:
                matrix.put_strip(row.lowest, row.highest, column, floats(row))
                continue
            held, stored = segment_of(row)
            place = np.minimum(np.searchsorted(held, matrix.ids), len(held) - 1)
            here = np.flatnonzero(held[place] == matrix.ids)
            matrix.widen(stored.itemsize)
            matrix.values[here, column] = stored[place[here]]


def _taken(stored: NDArray[np.floating[Any]], places: slice | NDArray[np.int64]) -> NDArray[np.floating[Any]]:
    """Return the rows at ``places``, in rising order, as far as ``stored`` has them."""
    if isinstance(places, slice):
        return stored[places]
    if int(places[-1]) >= len(stored):
        places = places[: int(np.searchsorted(places, len(stored)))]
    return stored.take(places, axis=0)
