"""Checksums of the rows that hold points and provenance, so that a flipped bit is noticed and never served as a value.

A checksum is the CRC-32 of the numbers of a row and of its bytes. A row without one was written before there were any; it
gets one when it is written anew. Writers check every row that they read, because they would give what is damaged a new
checksum. Readers check a row when they first read it, and again after ten minutes: to check all of them takes longer than to
read them (docs/decisions/points-in-the-store.md).
"""

from __future__ import annotations

import logging
import struct
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from knickpoint.model.errors import StoreError

__all__ = [
    "DamagedRowError",
    "RowChecks",
    "RowName",
    "hot_name",
    "part_name",
    "require_intact",
    "row_checksum",
    "sealed_name",
    "segment_name",
]

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
        """Return whether a row was found intact lately, or cannot be checked as it has no checksum."""
        return checksum is None or (name, checksum) in self._intact

    def is_intact(self, name: RowName, checksum: int | None, *blobs: bytes) -> bool:
        """Return whether a row is what was written; log it where it is not. A row without a checksum counts as intact."""
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
