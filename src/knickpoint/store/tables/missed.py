"""Missed changes: what people marked in traces, because no alert found it."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata

__all__ = ["missed_change"]

missed_change = Table(
    "missed_change",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("trace_id", Number, nullable=False),
    Column("trace_key", exact_text, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("movement", Code, nullable=False),
    Column("note", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("time", Time, nullable=False),
    Index("ix_missed_change_trace_id", "trace_id"),
)
"""The change lies in (previous, slot] of its line. A row is deleted when a person takes the mark back; the audit log keeps it."""
