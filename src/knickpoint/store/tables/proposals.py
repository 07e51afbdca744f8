"""Proposals to change alerts that people accepted or rejected."""

from __future__ import annotations

from sqlalchemy import Column, Table

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata

__all__ = ["proposal_decision"]

proposal_decision = Table(
    "proposal_decision",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("alert", exact_text, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("accepted", Code, nullable=False),
    Column("change", exact_text, nullable=False),
    Column("hidden", Number, nullable=False),
    Column("before", exact_text, nullable=False),
    Column("after", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("time", Time, nullable=False),
)
"""``before`` and ``after`` are JSON: name → settings of the alert. A decision that is taken back is deleted; the audit log keeps it."""
