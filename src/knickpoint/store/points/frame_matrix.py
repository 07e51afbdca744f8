"""The matrix of a frame while it is read: traces × commits, filled layer by layer.

The stored layers hold the same points in different shapes, and each has its way into the matrix: a block of a dense
tile is copied, points of sparse tiles are scattered by a kernel, a hot tile or a segment is a part of one column. The
layers are put in from the back to the front (:mod:`knickpoint.store.points.tiles`), so that what stands in front is
written last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.points import PointTiles, lay
from knickpoint.store.points.tile_codec import SealedRow
from knickpoint.store.traces.trace_chunks import CHUNK

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
