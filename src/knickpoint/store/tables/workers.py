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
    Column("parts", exact_text, nullable=False, server_default=""),
    Column("machine", exact_text, nullable=False, server_default=""),
    PrimaryKeyConstraint("name"),
)
"""``failures`` counts the rounds in a row that failed; ``reason`` is the message of the last one, at ``failed``. Where
``failed`` is 0, ``reason`` is why the worker is slower than it could be.

``parts`` are names of parts, separated by commas; ``machine`` is that of :func:`knickpoint.instance.machine.this_machine`.
"""
