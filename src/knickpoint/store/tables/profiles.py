"""Profiles: which there are, their content, and the causes of changes that they show."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata

profile = Table(
    "profile",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("identity", exact_text, nullable=False),
    Column("benchmark", exact_text, nullable=False),
    Column("params", exact_text, nullable=False),
    Column("digest", exact_text, nullable=False),
    Column("format", exact_text, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("unit", exact_text, nullable=False),
    Column("source", exact_text, nullable=False),
    Column("created", Time, nullable=False),
    UniqueConstraint("repository_id", "identity"),
    Index("ix_profile_benchmark", "repository_id", "benchmark", "slot"),
    Index("ix_profile_digest", "digest"),
)
"""``identity`` is that of the run that it belongs to, ``params`` the key of the params that were stated beside it."""

profile_content = Table(
    "profile_content",
    metadata,
    Column("digest", exact_text, nullable=False),
    Column("size", Number, nullable=False),
    Column("data", Blob, nullable=False),
    PrimaryKeyConstraint("digest"),
)
"""The columns of a profile, compressed by zlib; equal profiles share a row. ``size`` is that of the file that came."""

cause = Table(
    "cause",
    metadata,
    Column("change_id", Number, primary_key=True, autoincrement=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("basis", exact_text, nullable=False),
    Column("sentence", exact_text, nullable=False),
    Column("body", exact_text, nullable=False),
)
"""What the profiles before and after a change say; ``basis`` is the digest of all that it was computed from."""
