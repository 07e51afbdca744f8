"""Read traces × commits as one matrix, layer by layer.

A read takes one query a layer (:mod:`knickpoint.store.points.tiles`), from the back to the front: sealed tiles, hot
tiles, segments, so that what stands in front is written last. Each layer has its way into the matrix: a block of a
dense tile is copied, points of sparse tiles are scattered by a kernel, a hot tile or a segment is a part of one column.
No point becomes a Python object. A damaged row hides what lies behind it, and gives no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, TextClause, bindparam, select, text

from knickpoint.budget import check_time, check_values, largest_read
from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Frame
from knickpoint.native.points import PointTiles, lay
from knickpoint.store.database import Database
from knickpoint.store.points.tile_codec import (
    HotRow,
    RowChecks,
    SealedRow,
    SegmentRow,
    dense_values,
    floats,
    hot_name,
    sealed_name,
    segment_name,
    segment_points,
)
from knickpoint.store.points.tiles import chunk_digests
from knickpoint.store.tables.points import hot, sealed, segment
from knickpoint.store.traces.trace_chunks import CHUNK
from knickpoint.store.traces.traces import Traces, predecessors

_WORTH_TRACKING: Final = 64
"""Rows a chunk from which on it is cheaper to fill what is missing than all."""


class FrameMatrix:
    """Collect values of some traces at some slots.

    Rows are the traces sorted by id while the matrix is filled; :meth:`result` brings them into the order that was
    asked for. Values are float32 until one needs float64.

    A large matrix is not filled with NaN first, as most of it is overwritten: the matrix tracks which columns of
    which chunk were put in, and :meth:`fill_gaps` empties the others. A small one is filled with NaN at once.
    """

    def __init__(self, ids: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
        # Rows: by trace id; "order" is the place of each row among the ids that were asked for.
        self.order = np.argsort(ids, kind="stable") if not bool((np.diff(ids) > 0).all()) else None
        self.ids = ids if self.order is None else ids[self.order]
        self.distinct = self.order is None or bool((np.diff(self.ids) > 0).all())
        self.chunks, self._begins = np.unique(self.ids // CHUNK, return_index=True)
        self._ends = np.append(self._begins[1:], len(self.ids))
        self._number = {chunk: number for number, chunk in enumerate(self.chunks.tolist())}
        # Columns: in the order of the line, which need not be that of the slots.
        self.slots = slots
        self._by_slot = np.argsort(slots, kind="stable")
        self._ordered = slots[self._by_slot]
        self.column_of = dict(zip(slots.tolist(), range(len(slots)), strict=True))
        # Values, made when the first tile says how wide they are, and what was put in.
        self._values: NDArray[np.floating[Any]] | None = None
        self._tracked = len(ids) >= _WORTH_TRACKING * len(self.chunks)
        self._covered = np.zeros((len(self.chunks) if self._tracked else 0, len(slots)), dtype=np.bool_)
        # What several tiles ask for.
        self._places: dict[int, slice | NDArray[np.int64]] = {}
        self._columns: dict[tuple[int, int], tuple[Any, Any]] = {}

    @property
    def values(self) -> NDArray[np.floating[Any]]:
        """The matrix, made when it is first asked for."""
        if self._values is None:
            self._values = self._empty(np.float32)
        return self._values

    def _empty(self, kind: type[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """Return the matrix before anything is put in."""
        shape = (len(self.ids), len(self.slots))
        return np.empty(shape, dtype=kind) if self._tracked else np.full(shape, np.nan, dtype=kind)

    def places(self, chunk: int) -> slice | NDArray[np.int64]:
        """Return the places of the wanted traces of a chunk, as a slice where they are equally far apart."""
        if chunk not in self._places:
            number = self._number[chunk]
            own = self.ids[int(self._begins[number]) : int(self._ends[number])] - chunk * CHUNK
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
        low, high = np.searchsorted(self._ordered, [first, first + span])
        columns = self._by_slot[low:high]
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

    def put_block(self, chunk: int, columns: Any, block: NDArray[np.floating[Any]]) -> None:
        """Store the values of a chunk in some columns; rows beyond ``block`` have none there."""
        self.widen(block.itemsize)
        number = self._number[chunk]
        begin, end = int(self._begins[number]), int(self._ends[number])
        self.values[begin : begin + len(block), columns] = block
        if begin + len(block) < end:
            self.values[begin + len(block) : end, columns] = np.nan
        if self._tracked:
            self._covered[number, columns] = True

    def put_neighbours(self, lowest: int, highest: int, column: int, stored: NDArray[np.floating[Any]]) -> None:
        """Store the values of the traces ``lowest … highest`` in one column; those that are not wanted are left out."""
        self.widen(stored.itemsize)
        begin, end = (int(place) for place in np.searchsorted(self.ids, [lowest, highest + 1]))
        own = self.ids[begin:end]
        if not len(own):
            return
        whole = self.distinct and int(own[-1]) - int(own[0]) + 1 == len(own)  # then it is one copy
        some = stored[int(own[0]) - lowest : int(own[-1]) - lowest + 1]
        self.values[begin:end, column] = some if whole else some[own - own[0]]

    def put_nothing(self, lowest: int, highest: int, column: int) -> None:
        """Leave out the values of all traces ``lowest … highest`` in one column, whatever was put in before."""
        begin, end = (int(place) for place in np.searchsorted(self.ids, [lowest, highest + 1]))
        self.values[begin:end, column] = np.nan

    def put_points(self, ids: NDArray[np.int64], column: int, stored: NDArray[np.floating[Any]]) -> None:
        """Store the values of some traces (sorted) in one column; those that are not wanted are left out."""
        self.widen(stored.itemsize)
        place = np.minimum(np.searchsorted(ids, self.ids), len(ids) - 1)
        here = np.flatnonzero(ids[place] == self.ids)
        self.values[here, column] = stored[place[here]]

    def scatter(self, tiles: Sequence[SealedRow]) -> None:
        """Store the points of sparse sealed tiles.

        One call of the kernel takes all tiles: a frame of sparse traces has thousands of them, of a few points each.
        """
        if not tiles:
            return
        _, firsts, spans, widths = np.array([tile[:4] for tile in tiles], dtype=np.int64).T
        numbers = np.searchsorted(self.chunks, np.array([tile.chunk for tile in tiles]))
        self.widen(int(widths.max()))

        # Columns by slot: -1 for the slots of a tile that are not on the line.
        low, high = int(self._ordered[0]), int(self._ordered[-1])
        column_at = np.full(high - low + 1, -1, dtype=np.int32)
        column_at[self.slots - low] = np.arange(len(self.slots))

        # A tile says that its commits have no other points, so its columns are emptied before its points are written:
        # by the kernel, where they are neighbours, else here.
        lefts, rights = np.zeros((2, len(tiles)), dtype=np.int64)
        if self._tracked:
            for row, (number, first, span) in enumerate(zip(numbers, firsts.tolist(), spans.tolist(), strict=True)):
                columns, _ = self.columns(first, span)
                self._covered[number, columns] = True
                if isinstance(columns, slice):
                    lefts[row], rights[row] = columns.start, columns.stop
                else:
                    self.values[int(self._begins[number]) : int(self._ends[number]), columns] = np.nan
        begins, ends = self._begins[numbers], self._ends[numbers]
        listed = PointTiles([tile.data for tile in tiles], widths, firsts, begins, ends, lefts, rights)
        lay(listed, self.ids, CHUNK, column_at, low, self.values)

    def fill_gaps(self) -> None:
        """Mark as missing what nothing was stored for; to be called when all tiles are in."""
        if not self._tracked or self._covered.all():
            return
        for number in np.flatnonzero(~self._covered.all(axis=1)).tolist():
            rows = slice(int(self._begins[number]), int(self._ends[number]))
            self.values[rows, ~self._covered[number]] = np.nan

    def result(self) -> NDArray[np.floating[Any]]:
        """Return the values in the order in which the ids were given."""
        if self.order is None:
            return self.values
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(self.order))
        return self.values[back]


# Read some traces out of sealed tiles that this process found intact lately, without reading whole tiles.
#
# A list of findings shows fifty traces of fifty chunks, and each dense tile of theirs has the values of 1,024 traces: a
# quarter of a megabyte. A checksum covers a whole tile, so a tile is read whole once, and checked; for as long as the
# process relies on that (:class:`knickpoint.store.points.tile_codec.RowChecks`), the database is asked for the values
# of the wanted traces alone. Only PostgreSQL can do that without reading all of the tile itself.


_FEW_TRACES: Final = 16
"""Traces of a chunk, on average, for which PostgreSQL finds each part in the stored tile.

Of more, it puts the tile together once.
"""

_MOST_TRACES: Final = 256
"""Traces of a chunk, on average, for which parts of tiles cost less than whole ones."""


def _cut(data: str, more: str = "") -> TextClause:
    """Return the statement that cuts the values of the wanted traces out of ``data``: a row for each tile, in order."""
    return text(
        "SELECT tile.chunk, tile.first, tile.span, tile.width, (SELECT string_agg("  # noqa: S608
        f"substr({data}, place * tile.span * tile.width + 1, tile.span * tile.width), CAST('' AS bytea) ORDER BY place)"
        " FROM unnest(CAST(wanted.places AS integer[])) AS placed(place))"
        " FROM unnest(CAST(:chunks AS bigint[]), CAST(:places AS text[])) AS wanted(chunk, places)"
        f" JOIN sealed_tile AS tile ON tile.chunk = wanted.chunk {more}"
        " WHERE tile.first <= :high AND tile.first + tile.span > :low"
    )


_CUT_FEW: Final = _cut("tile.data")
_CUT_MORE: Final = _cut(
    "made.whole", "CROSS JOIN LATERAL (SELECT tile.data || CAST('' AS bytea) AS whole OFFSET 0) AS made"
)
"""Without OFFSET, the tile would be put together for each part."""


class _Head(NamedTuple):
    """What a sealed tile is, without its data."""

    chunk: int
    first: int
    span: int
    width: int
    sparse: int
    checksum: int | None


class _Parts(NamedTuple):
    """The values of some traces in a dense tile, by place.

    Those that are newer than the tile have none, and the last places.
    """

    chunk: int
    first: int
    span: int
    width: int
    data: bytes


_LOW, _HIGH = bindparam("low", type_=BigInteger), bindparam("high", type_=BigInteger)
_SEALED_WITHIN: Final = (
    Database.among(sealed.c.chunk),
    sealed.c.first <= _HIGH,
    sealed.c.first + sealed.c.span > _LOW,
)
_HEADS: Final = select(*(sealed.c[name] for name in _Head._fields)).where(*_SEALED_WITHIN)
_SEALED: Final = select(sealed).where(*_SEALED_WITHIN)
_HOT: Final = select(hot).where(Database.among(hot.c.chunk), hot.c.slot >= _LOW, hot.c.slot <= _HIGH)
_SEGMENTS: Final = (
    select(segment)
    .where(
        segment.c.repository_id == bindparam("owner"),
        segment.c.slot >= _LOW,
        segment.c.slot <= _HIGH,
        segment.c.lowest <= bindparam("greatest", type_=BigInteger),
        segment.c.highest >= bindparam("least", type_=BigInteger),
    )
    .order_by(segment.c.id)
)


class TileSlices:
    """Put the values of some traces into a matrix."""

    def __init__(self, database: Database, checks: RowChecks) -> None:
        self._database = database
        self._checks = checks

    def put(self, connection: Connection, matrix: FrameMatrix, low: int, high: int) -> NDArray[np.int64]:
        """Put in what is known to be intact; return the chunks of which whole tiles have to be read.

        Args:
            connection: a connection that sees one moment.
            matrix: gets the values of its traces.
            low: the first slot.
            high: the last slot.
        """
        chunks = matrix.chunks
        if self._database.embedded or not matrix.distinct or len(matrix.ids) > _MOST_TRACES * len(chunks):
            return chunks
        values = {"numbers": self._database.listed(chunks), "low": low, "high": high}
        heads = [_Head._make(row) for row in self._database.quick(connection, _HEADS, values)]
        unsure = {
            head.chunk for head in heads if head.sparse or not self._checks.is_known(sealed_name(head), head.checksum)
        }
        sure = np.array([chunk for chunk in chunks.tolist() if chunk not in unsure], dtype=np.int64)
        if len(sure):
            ids = matrix.ids[np.isin(matrix.ids // CHUNK, sure)]
            places = np.split(ids % CHUNK, np.flatnonzero(np.diff(ids // CHUNK)) + 1)
            listed = ["{" + ",".join(map(str, own.tolist())) + "}" for own in places]
            wanted = {"chunks": sure.tolist(), "places": listed, "low": low, "high": high}
            cut = _CUT_FEW if len(ids) <= _FEW_TRACES * len(sure) else _CUT_MORE
            for row in map(_Parts._make, self._database.quick(connection, cut, wanted)):
                block = np.frombuffer(row.data, dtype=f"<f{row.width}").reshape(-1, row.span)
                columns, slots = matrix.columns(row.first, row.span)
                matrix.put_block(row.chunk, columns, block[:, slots])
        return np.setdiff1d(chunks, sure)


_BLOCK_BYTES: Final = 256 * 2**20
"""Memory of one streamed block, where the caller names none."""

_FIRST_WINDOW: Final = 64
"""Commits that a search for measured ones looks at first; each further look takes twice as many."""

Ids = Sequence[int] | NDArray[np.int64]


class Frames:
    """Hold the frames area of a store."""

    def __init__(self, database: Database, traces: Traces) -> None:
        self._database = database
        self._traces = traces
        self._checks = RowChecks()
        self._slices = TileSlices(database, self._checks)

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
        """Stream a frame as frames of fewer traces, each of at most ``memory`` bytes (one trace at least).

        For a request, a frame has at most as many values as it may read at a time.
        """
        for ids in self.parts(line, trace_ids, first=first, last=last, memory=memory):
            yield self.read(line, ids, first=first, last=last)

    def parts(
        self, line: Line, trace_ids: Ids, *, first: int = 0, last: int | None = None, memory: int = _BLOCK_BYTES
    ) -> Iterator[NDArray[np.int64]]:
        """Cut ``trace_ids`` into parts, each of as many traces as :meth:`blocks` reads at a time."""
        allowed = largest_read()
        memory = memory if allowed is None else min(memory, 8 * allowed)
        ids = np.asarray(trace_ids, dtype=np.int64)
        positions = self._range(line, first, last)
        rows = max(1, memory // max(1, 8 * len(positions)))
        for begin in range(0, len(ids), rows):
            yield ids[begin : begin + rows]

    def chunk_digests(self, line: Line, trace_ids: Ids, *, samples: bool = False) -> dict[int, int]:
        """Return, by chunk of ``trace_ids``, a digest of all that the traces of the chunk hold on ``line``.

        Equal digests mean equal values, directions and order of commits, but for a probability of 2⁻³² for each row
        that changed. ``samples`` adds what runs measured behind the values. A chunk with rows of an older version,
        which have no checksums, is left out. No value is read.
        """
        chunks = np.unique(np.asarray(trace_ids, dtype=np.int64) // CHUNK)
        return chunk_digests(self._database, line, chunks, samples=samples)

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
        found, width = 0, max(_FIRST_WINDOW, wanted)
        while end > 0 and found < wanted:
            begin = max(0, end - width)
            values = self._values(connection, line.repository.id, ids, slots[begin:end])
            found += int((~np.isnan(values)).any(axis=0).sum()) if len(values) else 0
            end, width = begin, width * 2
        return slots[end:], end

    def _values(
        self, connection: Connection, repository_id: int, ids: NDArray[np.int64], slots: NDArray[np.int64]
    ) -> NDArray[np.floating[Any]]:
        """Return the values of traces at slots, shape (ids, slots), in the order given."""
        check_values(len(ids), len(slots))
        matrix = FrameMatrix(ids, slots)
        if not len(ids) or not len(slots):
            return matrix.result()
        low, high = int(slots.min()), int(slots.max())
        values = {"numbers": self._database.listed(matrix.chunks), "low": low, "high": high}
        self._checks.renew()

        # Sealed tiles: of a few traces, their parts of known ones; else dense ones are copied as they come, sparse ones
        # scattered together.
        left = self._slices.put(connection, matrix, low, high)
        whole = values | {"numbers": self._database.listed(left)}
        sparse = []
        for row in map(SealedRow._make, self._database.quick(connection, _SEALED, whole) if len(left) else ()):
            check_time()
            if not self._checks.is_intact(sealed_name(row), row.checksum, row.data):
                continue  # nothing lies behind it
            if row.sparse:
                sparse.append(row)
                continue
            columns, places = matrix.columns(row.first, row.span)
            tile = dense_values(row)
            matrix.put_block(row.chunk, columns, _taken(tile, matrix.places(row.chunk))[:, places])
        matrix.scatter(sparse)

        # Hot tiles, each a whole commit of its chunk.
        hidden: list[tuple[int, int]] = []
        for hot_row in map(HotRow._make, self._database.quick(connection, _HOT, values)):
            check_time()
            column = matrix.column_of.get(hot_row.slot)
            if column is None:
                continue  # of a commit that is not on the line
            if self._checks.is_intact(hot_name(hot_row), hot_row.checksum, hot_row.data):
                matrix.put_block(hot_row.chunk, column, _taken(floats(hot_row), matrix.places(hot_row.chunk)))
            else:
                hidden.append((hot_row.chunk, column))
        matrix.fill_gaps()
        for chunk, column in hidden:
            matrix.put_nothing(chunk * CHUNK, chunk * CHUNK + CHUNK - 1, column)

        # Segments, which name their points one by one.
        self._overlay(connection, repository_id, matrix, low, high)
        return self._continued(connection, repository_id, matrix.result(), ids, slots)

    def _continued(
        self,
        connection: Connection,
        repository_id: int,
        values: NDArray[np.floating[Any]],
        ids: NDArray[np.int64],
        slots: NDArray[np.int64],
    ) -> NDArray[np.floating[Any]]:
        """Put the values of the traces that ``ids`` continue where these have none; accepted renames form no circle."""
        known = predecessors(self._database, connection, repository_id)
        rows = [row for row, key in enumerate(ids.tolist()) if key in known] if known else []
        if not rows:
            return values
        old = np.array([known[int(ids[row])] for row in rows], dtype=np.int64)
        order = np.argsort(old)
        earlier = np.empty((len(rows), len(slots)))
        earlier[order] = self._values(connection, repository_id, old[order], slots)
        joined = values.astype(np.float64)
        joined[rows] = np.where(np.isnan(joined[rows]), earlier, joined[rows])
        return joined

    def _overlay(self, connection: Connection, repository_id: int, matrix: FrameMatrix, low: int, high: int) -> None:
        """Put the points of segments, which stand in front of everything else, into the matrix; the latest wins."""
        bounds = {"low": low, "high": high, "least": int(matrix.ids[0]), "greatest": int(matrix.ids[-1])}
        rows = self._database.quick(connection, _SEGMENTS, {"owner": repository_id, **bounds})
        for row in map(SegmentRow._make, rows):
            check_time()
            column = matrix.column_of.get(row.slot)
            if column is None:
                continue  # of a commit that is not on the line
            if not self._checks.is_intact(segment_name(row), row.checksum, row.ids, row.data):
                matrix.put_nothing(row.lowest, row.highest, column)
            elif row.ids:
                ids, stored = segment_points(row)
                matrix.put_points(ids, column, stored)
            else:
                matrix.put_neighbours(row.lowest, row.highest, column, floats(row))


def _taken(stored: NDArray[np.floating[Any]], places: slice | NDArray[np.int64]) -> NDArray[np.floating[Any]]:
    """Return the rows at ``places``, in rising order, as far as ``stored`` has them."""
    if isinstance(places, slice):
        return stored[places]
    if int(places[-1]) >= len(stored):
        places = places[: int(np.searchsorted(places, len(stored)))]
    return stored.take(places, axis=0)
