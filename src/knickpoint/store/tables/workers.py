"""The workers of an instance and their state."""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, Table

from knickpoint.store.tables.base import Code, Time, exact_text, metadata

__all__ = ["worker"]

worker = Table(
    "worker",
    metadata,
    Column("name", exact_text, nullable=False),
    Column("started", Time, nullable=False),
    Column("seen", Time, nullable=False),
    Column("failures", Code, nullable=False),
    Column("failed", Time, nullable=False),
    Column("reason", exact_text, nullable=False),
    PrimaryKeyConstraint("name"),
)
"""``failures`` counts the rounds in a row that failed; ``reason`` is the message of the last one, at ``failed``."""
