"""Which programs may use a store, and which of its connections changed data last."""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, Table

from knickpoint.store.tables.base import Number, exact_text, metadata

__all__ = ["data_change", "schema_support"]

schema_support = Table(
    "schema_support",
    metadata,
    Column("revision", exact_text, nullable=False),
    Column("since", exact_text, nullable=False),
    PrimaryKeyConstraint("revision"),
)
"""One row: programs that know the schema ``since``, or a newer one, may use a store of the schema ``revision``."""

data_change = Table(
    "data_change",
    metadata,
    Column("backend", Number, nullable=False, autoincrement=False),
    Column("last", Number, nullable=False),
    PrimaryKeyConstraint("backend"),
)
"""The last transaction of each connection that changed data, by the process id of its backend; empty on SQLite.

Triggers on PostgreSQL write it: see :mod:`knickpoint.store.data_changes`.
"""
