"""The rows of the three tables that hold points, as plain tuples in the order of their columns."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HotRow", "SealedRow", "SegmentRow"]


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
