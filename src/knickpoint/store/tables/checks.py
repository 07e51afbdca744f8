"""What checks of pull requests found."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Number, Time, exact_text, metadata

pull_request_check = Table(
    "pull_request_check",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("head", exact_text, nullable=False),
    Column("digest", exact_text, nullable=False),
    Column("branch", exact_text, nullable=False),
    Column("commits", exact_text, nullable=False),
    Column("time", Time, nullable=False),
    Column("changes", Blob, nullable=False),
    Column("environment", exact_text, nullable=False),
    UniqueConstraint("repository_id", "head", "digest"),
    Index("ix_pull_request_check_time", "repository_id", "time"),
)
"""``changes`` are packed ids of traces, their changes, and which are flagged; ``digest`` is that of the changes, so that
results that are judged twice count once.
"""
