"""Shortcuts: sets of keys or formulas under a short stable id, and facts about the instance."""

from __future__ import annotations

from sqlalchemy import Column, Table

from knickpoint.store.tables.base import Number, Time, exact_text, metadata

__all__ = ["counter", "shortcut"]

shortcut = Table(
    "shortcut",
    metadata,
    Column("id", exact_text, primary_key=True),
    Column("content", exact_text, nullable=False),
    Column("created", Time, nullable=False),
)

counter = Table(
    "counter",
    metadata,
    Column("name", exact_text, primary_key=True),
    Column("value", Number, nullable=False),
)
"""Counters of the whole instance: the version of the catalogue, the next chunk, the checks of the schema."""
