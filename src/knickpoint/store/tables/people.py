"""What people set for themselves."""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, Table

from knickpoint.store.tables.base import Time, exact_text, metadata

__all__ = ["person_setting"]

person_setting = Table(
    "person_setting",
    metadata,
    Column("provider", exact_text, nullable=False),
    Column("person", exact_text, nullable=False),
    Column("name", exact_text, nullable=False),
    Column("value", exact_text, nullable=False),
    Column("changed", Time, nullable=False),
    PrimaryKeyConstraint("provider", "person", "name"),
)
"""``provider`` and ``person`` are those of the sign-in; ``value`` is a text that only the dashboard reads."""
