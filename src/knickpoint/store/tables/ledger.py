"""The ledger of files: what was seen, what waits for its commit, what was refused."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata

__all__ = ["file", "quarantine", "waiting"]

file = Table(
    "ledger_file",
    metadata,
    Column("id", Number, primary_key=True),
    Column("source", exact_text, nullable=False),
    Column("content_hash", exact_text, nullable=False),
    Column("state", exact_text, nullable=False),
    Column("format", exact_text, nullable=False),
    Column("detail", exact_text, nullable=False),
    Column("runs", Code, nullable=False),
    Column("size", Number, nullable=False),
    Column("changed", Time, nullable=False),
    UniqueConstraint("content_hash", "source"),
    Index("ix_ledger_file_state", "state", "id"),
    Index("ix_ledger_file_source", "source"),
)

waiting = Table(
    "ledger_waiting",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("revision", exact_text, nullable=False),
    Column("identity", exact_text, nullable=False),
    Column("source", exact_text, nullable=False),
    Column("content_hash", exact_text, nullable=False),
    Column("options", exact_text, nullable=False),
    Column("payload", Blob, nullable=False),
    Column("size", Number, nullable=False),
    Column("created", Time, nullable=False),
    Index("ix_ledger_waiting_revision", "repository_id", "revision"),
)

quarantine = Table(
    "ledger_quarantine",
    metadata,
    Column("id", Number, primary_key=True),
    Column("source", exact_text, nullable=False),
    Column("content_hash", exact_text, nullable=False),
    Column("options", exact_text, nullable=False),
    Column("problems", exact_text, nullable=False),
    Column("payload", Blob, nullable=False),
    Column("size", Number, nullable=False),
    Column("attempts", Code, nullable=False),
    Column("changed", Time, nullable=False),
    UniqueConstraint("content_hash", "source"),
)
