"""The bytes of tiles and segments, the rows that hold them, and the checksums that guard them."""

from __future__ import annotations

import logging
import struct
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import StoreError
from knickpoint.store.array_codec import narrow, pack, unpack
from knickpoint.store.traces.trace_chunks import CHUNK

# Checksums of the rows that hold points and provenance, so that a flipped bit is noticed and never served as a value.
#
# A checksum is the CRC-32 of the numbers of a row and of its bytes. A row without one was written before there were
# any; it gets one when it is written anew. Writers check every row that they read, because they would give what is
# damaged a new checksum. Readers check a row when they first read it, and again after ten minutes: to check all of them
# takes longer than to read them (docs/decisions/points-in-the-store.md).


_LOG: Final = logging.getLogger("knickpoint.store")

_OF_ANOTHER_TYPE: Final = -1
_CHECKED_SECONDS: Final = 600.0
_MOST_CHECKED: Final = 2_000_000
"""Rows of which a process remembers that it checked them; 100 bytes each."""


class RowName(NamedTuple):
    """A row by its table and the numbers that its checksum covers."""

    table: str
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        """Name the row as a query of the database would."""
        facts = zip(_COLUMNS[self.table], self.numbers, strict=True)
        return f"{self.table} ({', '.join(f'{name} {value}' for name, value in facts)})"


_COLUMNS: Final = {
    "hot_tile": ("chunk", "slot", "width"),
    "sealed_tile": ("chunk", "first", "span", "width", "sparse"),
    "segment": ("repository_id", "slot", "lowest", "highest", "count", "width"),
    "run_part": ("slot", "chunk", "run_id"),
}


class DamagedRowError(StoreError):
    """A row is not what was written."""

    def __init__(self, name: RowName) -> None:
        super().__init__(
            f"the row {name} is damaged",
            remedy="knick doctor --deep lists all that is; restore the newest backup with knick restore.",
        )


def hot_name(row: Any) -> RowName:
    """Name a row of the table of hot tiles."""
    return RowName("hot_tile", (row.chunk, row.slot, row.width))


def sealed_name(row: Any) -> RowName:
    """Name a row of the table of sealed tiles."""
    return RowName("sealed_tile", (row.chunk, row.first, row.span, row.width, row.sparse))


def segment_name(row: Any) -> RowName:
    """Name a row of the table of segments."""
    return RowName("segment", (row.repository_id, row.slot, row.lowest, row.highest, row.count, row.width))


def part_name(row: Any) -> RowName:
    """Name a row of the table of parts."""
    return RowName("run_part", (row.slot, row.chunk, row.run_id))


def row_checksum(name: RowName, *blobs: bytes) -> int:
    """Return the CRC-32 of the numbers of a row and of its ``blobs``, -1 where one of them is of another type.

    SQLite keeps the type of each value beside it, and a bit may flip there.
    """
    try:
        value = zlib.crc32(struct.pack(f"<{len(name.numbers)}q", *name.numbers))
        for blob in blobs:
            value = zlib.crc32(blob, value)
    except (struct.error, TypeError):
        return _OF_ANOTHER_TYPE
    return value


def require_intact(name: RowName, checksum: int | None, *blobs: bytes) -> None:
    """Check a row that is to be written anew.

    Raises:
        DamagedRowError: it is not what was written.
    """
    if checksum is not None and row_checksum(name, *blobs) != checksum:
        raise DamagedRowError(name)


class RowChecks:
    """Check rows as they are read, and remember for a while which ones are intact; safe for threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._intact: set[tuple[RowName, int]] = set()
        self._reported: set[RowName] = set()
        self._since = clock()
        self._lock = threading.Lock()

    def renew(self) -> None:
        """Forget what was checked long ago; to be called before some rows are read."""
        if self._clock() - self._since >= _CHECKED_SECONDS or len(self._intact) > _MOST_CHECKED:
            self._intact = set()
            self._since = self._clock()

    def is_known(self, name: RowName, checksum: int | None) -> bool:
        """Return True if a row was found intact lately, or cannot be checked as it has no checksum."""
        return checksum is None or (name, checksum) in self._intact

    def is_intact(self, name: RowName, checksum: int | None, *blobs: bytes) -> bool:
        """Return True if a row is what was written; log it where it is not.

        A row without a checksum counts as intact.
        """
        if checksum is None or self.is_known(name, checksum):
            return True
        if row_checksum(name, *blobs) == checksum:
            self._intact.add((name, checksum))
            return True
        with self._lock:
            known = name in self._reported
            self._reported.add(name)
        if not known:
            _LOG.error("the row %s is damaged, and what it holds is left out; knick doctor --deep names it", name)
        return False


# The bytes of tiles and segments: how points of many traces lie in one blob.
#
# Values of a *chunk* (1,024 neighbouring traces) are stored in one of four shapes, all little-endian floats of four
# bytes, or eight where float32 would lose something of one of them:
#
# - a **hot tile** is one commit of a chunk: one value a trace, by place in the chunk, cut after the last trace that has
#   one; NaN is missing.
# - a **segment** is one commit of traces of any chunks: their ids, and one value each. A large run is one segment.
# - a **dense sealed tile** is 64 commits of a chunk, trace-major: a trace's values are neighbours, so reading a history
#   is one copy.
# - a **sparse sealed tile** is a list of points (place, slot, value), for spans where fewer than a quarter of the
#   values exist.
#
# The functions here are pure; :mod:`knickpoint.store.points.tiles` reads and writes the rows.


_KINDS: Final[dict[int, type[np.floating[Any]]]] = {4: np.float32, 8: np.float64}

SPARSE_POINTS: Final = {
    width: np.dtype([("place", "<u2"), ("slot", "<u2"), ("value", f"<f{width}")]) for width in (4, 8)
}
"""A point of a sparse sealed tile: place in the chunk, slot minus the tile's first slot, value."""


def floats(row: Any) -> NDArray[np.floating[Any]]:
    """Return the values of a row with ``width`` and ``data``; read-only."""
    return np.frombuffer(row.data, dtype=_KINDS[row.width])


def dense_values(row: Any) -> NDArray[np.floating[Any]]:
    """Return a dense sealed tile as an array (traces, span), NaN for missing; read-only."""
    return floats(row).reshape(-1, row.span)


def sparse_points(row: Any) -> NDArray[Any]:
    """Return the points of a sparse sealed tile as records of :data:`SPARSE_POINTS`, by place and then slot."""
    return np.frombuffer(row.data, dtype=SPARSE_POINTS[row.width])


def encode_ids(ids: NDArray[np.int64]) -> bytes:
    """Return sorted trace ids in the shortest of four forms that :func:`segment_points` reads.

    Neighbours take no bytes (the segment has its lowest id and its count), ranges a few, scattered ids four bytes
    each as distances from the lowest, or eight where they lie too far apart.
    """
    lowest, highest = int(ids[0]), int(ids[-1])
    if highest - lowest + 1 == len(ids):
        return b""
    starts = np.flatnonzero(np.diff(ids, prepend=lowest - 2) != 1)
    if len(starts) * 4 < len(ids):
        ranges = pack(ids[starts] - lowest, np.diff(starts, append=len(ids)))
        if len(ranges) < 4 * len(ids):
            return ranges
    return ((ids - lowest).astype("<u4") if highest - lowest < 2**32 else ids.astype("<i8")).tobytes()


def segment_points(row: Any) -> tuple[NDArray[np.int64], NDArray[np.floating[Any]]]:
    """Return the sorted trace ids and the values of a segment; NaN takes a point away.

    The form of the ids shows in their length: a list of ranges is always shorter than four bytes an id.
    """
    if not row.ids:
        return np.arange(row.lowest, row.lowest + row.count), floats(row)
    if len(row.ids) == 4 * row.count:
        return np.frombuffer(row.ids, dtype="<u4").astype(np.int64) + row.lowest, floats(row)
    if len(row.ids) == 8 * row.count:
        return np.frombuffer(row.ids, dtype="<i8"), floats(row)
    starts, lengths = unpack(row.ids, 2)
    within = np.arange(row.count) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(starts + row.lowest, lengths) + within, floats(row)


def chunks_of(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the chunks of sorted trace ids, each once."""
    chunks = ids // CHUNK
    if not len(chunks):
        return chunks
    first = np.empty(len(chunks), dtype=np.bool_)
    first[0] = True
    np.not_equal(chunks[1:], chunks[:-1], out=first[1:])
    return np.asarray(chunks[first])


def hot_rows(
    slot: int, ids: NDArray[np.int64], values: NDArray[np.float64], chunks: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return rows of the table of hot tiles with the points of sorted ``ids`` in ``chunks``, nothing elsewhere."""
    lows = np.searchsorted(ids, chunks * CHUNK).tolist()
    highs = np.searchsorted(ids, (chunks + 1) * CHUNK).tolist()
    stored = narrow(values)
    rows = []
    for chunk, low, high in zip(chunks.tolist(), lows, highs, strict=True):
        first, last = int(ids[low]) - chunk * CHUNK if low < high else -1, high - low - 1
        # A run of neighbours from the first place on is stored as it is; others need a column with gaps.
        if stored.itemsize == 4 and first == 0 and int(ids[high - 1]) - chunk * CHUNK == last:
            rows.append(_hot_row(chunk, slot, 4, stored[low:high].tobytes()))
        else:
            rows.append(hot_row(chunk, slot, ids[low:high] - chunk * CHUNK, values[low:high]))
    return rows


def hot_row(chunk: int, slot: int, places: NDArray[np.int64], values: NDArray[np.float64]) -> dict[str, Any]:
    """Return a row of the table of hot tiles: ``values`` at ``places``, nothing elsewhere."""
    stored = narrow(values)
    if len(places) and int(places[-1]) + 1 != len(places):
        column = np.full(int(places[-1]) + 1, np.nan, dtype=stored.dtype)
        column[places] = stored
        stored = column
    return _hot_row(chunk, slot, stored.itemsize, stored.tobytes())


def _hot_row(chunk: int, slot: int, width: int, data: bytes) -> dict[str, Any]:
    checksum = row_checksum(RowName("hot_tile", (chunk, slot, width)), data)
    return {"chunk": chunk, "slot": slot, "width": width, "data": data, "checksum": checksum}


def sealed_row(chunk: int, first: int, span: int, stored: NDArray[Any], *, width: int, sparse: bool) -> dict[str, Any]:
    """Return a row of the table of sealed tiles: ``stored`` is a dense tile, or records of :data:`SPARSE_POINTS`."""
    data = np.ascontiguousarray(stored).tobytes()
    checksum = row_checksum(RowName("sealed_tile", (chunk, first, span, width, int(sparse))), data)
    row = {"chunk": chunk, "first": first, "span": span, "width": width, "sparse": int(sparse)}
    return row | {"data": data, "checksum": checksum}


# The rows of the three tables that hold points, as plain tuples in the order of their columns.


class SealedRow(NamedTuple):
    """A row of the table of sealed tiles."""

    chunk: int
    first: int
    span: int
    width: int
    sparse: int
    data: bytes
    checksum: int | None


class HotRow(NamedTuple):
    """A row of the table of hot tiles."""

    chunk: int
    slot: int
    width: int
    data: bytes
    checksum: int | None


class SegmentRow(NamedTuple):
    """A row of the table of segments."""

    id: int
    repository_id: int
    slot: int
    lowest: int
    highest: int
    count: int  # type: ignore[assignment]  # the name of the column hides the method of tuples
    width: int
    ids: bytes
    data: bytes
    checksum: int | None
