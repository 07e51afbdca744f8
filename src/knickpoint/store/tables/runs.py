"""Runs, the parts they wrote, and the environments they ran in."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata

__all__ = ["environment", "part", "run"]

environment = Table(
    "environment",
    metadata,
    Column("id", Number, primary_key=True),
    Column("digest", exact_text, nullable=False),
    Column("facts", exact_text, nullable=False),
    UniqueConstraint("digest"),
)

run = Table(
    "run",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("identity", exact_text, nullable=False),
    Column("content_hash", exact_text, nullable=False),
    Column("source", exact_text, nullable=False),
    Column("entry", exact_text, nullable=False),
    Column("branch", exact_text, nullable=False),
    Column("time", Time, nullable=True),
    Column("environment_id", Number, nullable=False),
    Column("links", exact_text, nullable=False),
    Column("revisions", exact_text, nullable=False),
    Column("created", Time, nullable=False),
    Column("corrections", Code, nullable=False),
    Column("points", Code, nullable=False),
    Column("chunks", Blob, nullable=False),
    Column("unmeasured", exact_text, nullable=False, server_default=""),
    UniqueConstraint("repository_id", "identity"),
    Index("ix_run_slot", "repository_id", "slot"),
)

part = Table(
    "run_part",
    metadata,
    Column("slot", Code, nullable=False),
    Column("chunk", Number, nullable=False),
    Column("run_id", Number, nullable=False),
    Column("data", Blob, nullable=False),
    Column("checksum", Number, nullable=True),
    PrimaryKeyConstraint("slot", "chunk", "run_id"),
)
"""What one run gave to one chunk: traces, samples, units, failures, skips.

A run over scattered traces has one part for all of them, under the chunk ``-repository_id``.
"""
