"""Which programs may use a store."""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, Table

from knickpoint.store.tables.base import exact_text, metadata

__all__ = ["schema_support"]

schema_support = Table(
    "schema_support",
    metadata,
    Column("revision", exact_text, nullable=False),
    Column("since", exact_text, nullable=False),
    PrimaryKeyConstraint("revision"),
)
"""One row: programs that know the schema ``since``, or a newer one, may use a store of the schema ``revision``."""
