"""The values: hot tiles by slot, sealed tiles by chunk, and segments of scattered events.

``checksum`` is that of :mod:`knickpoint.store.points.checksums`, null in rows that older versions wrote.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from knickpoint.store.tables.base import Blob, Code, Number, metadata

__all__ = ["hot", "sealed", "segment"]

hot = Table(
    "hot_tile",
    metadata,
    Column("chunk", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("width", Code, nullable=False),
    Column("data", Blob, nullable=False),
    Column("checksum", Number, nullable=True),
    PrimaryKeyConstraint("chunk", "slot"),
)
"""One commit of one chunk, ``width`` bytes a value, cut after the last trace; it stands before a sealed tile."""

sealed = Table(
    "sealed_tile",
    metadata,
    Column("chunk", Number, nullable=False),
    Column("first", Code, nullable=False),
    Column("span", Code, nullable=False),
    Column("width", Code, nullable=False),
    Column("sparse", Code, nullable=False),
    Column("data", Blob, nullable=False),
    Column("checksum", Number, nullable=True),
    PrimaryKeyConstraint("chunk", "first"),
)
"""``span`` slots of one chunk, trace-major; sparse ones list their points. Spans of a chunk never overlap."""

segment = Table(
    "segment",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("lowest", Number, nullable=False),
    Column("highest", Number, nullable=False),
    Column("count", Code, nullable=False),
    Column("width", Code, nullable=False),
    Column("ids", Blob, nullable=False),
    Column("data", Blob, nullable=False),
    Column("checksum", Number, nullable=True),
    Index("ix_segment_repository_id", "repository_id", "slot"),
    sqlite_autoincrement=True,
)
"""The points of scattered traces at one slot, until they are sealed; a later segment stands before all else.

Ids are never given twice: a sealer must not take a new segment for the one it has read.
"""
