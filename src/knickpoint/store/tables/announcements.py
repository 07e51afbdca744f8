"""The announcement ledger, whose rows are added and never changed, and the verdicts on newest values."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, UniqueConstraint

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata
from knickpoint.store.tables.findings import Real

__all__ = ["announcement", "newest_verdict"]

announcement = Table(
    "announcement",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("chain", Number, nullable=False),
    Column("number", Code, nullable=False),
    Column("repository_id", Number, nullable=False),
    Column("change_id", Number, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("time", Time, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("direction", exact_text, nullable=False),
    Column("finding_kind", exact_text, nullable=False),
    Column("condition", exact_text, nullable=False),
    Column("traces", Code, nullable=False),
    Column("lead", Number, nullable=False),
    Column("trace_key", exact_text, nullable=False),
    Column("unit", exact_text, nullable=False),
    Column("before_level", Real, nullable=True),
    Column("after_level", Real, nullable=True),
    Column("size", Real, nullable=True),
    Column("relative_size", Real, nullable=True),
    Column("interval", Code, nullable=False),
    Column("cause_id", Number, nullable=False),
    Column("provisional", Code, nullable=False, server_default="0"),
    UniqueConstraint("chain", "number"),
    Index("ix_announcement_change_id", "change_id"),
    Index("ix_announcement_repository_id", "repository_id", "id"),
)
"""``chain`` is the id of the first announcement about a change, ``number`` the place in the chain: the constraint keeps two
runs from announcing the same thing twice."""

newest_verdict = Table(
    "newest_verdict",
    metadata,
    Column("trace_id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("verdict", exact_text, nullable=False),
    Column("value", Real, nullable=False),
    Column("centre", Real, nullable=True),
    Column("low", Real, nullable=True),
    Column("high", Real, nullable=True),
    Column("relative_size", Real, nullable=True),
    Column("p_value", Real, nullable=True),
    Column("judged", Time, nullable=False),
)
"""The traces whose newest value does not belong to the region before it."""
