"""Repositories, their commits by slot, and their lines."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata

repository = Table(
    "repository",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", exact_text, nullable=False),
    Column("location", exact_text, nullable=False),
    Column("default_line", exact_text, nullable=False),
    Column("next_slot", Code, nullable=False),
    UniqueConstraint("name"),
)

commit = Table(
    "commit_",
    metadata,
    Column("repository_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("hash", exact_text, nullable=False),
    Column("number", Number, nullable=True),
    Column("author", exact_text, nullable=False),
    Column("email", exact_text, nullable=False),
    Column("time", Time, nullable=True),
    Column("subject", exact_text, nullable=False),
    Column("parents", exact_text, nullable=False),
    Column("url", exact_text, nullable=False),
    PrimaryKeyConstraint("repository_id", "slot"),
    UniqueConstraint("repository_id", "hash"),
    Index("ix_commit_number", "repository_id", "number"),
    Index("ix_commit_time", "repository_id", "time", "hash"),
)

line = Table(
    "line",
    metadata,
    Column("repository_id", Number, nullable=False),
    Column("name", exact_text, nullable=False),
    Column("base", exact_text, nullable=False),
    Column("merge_base", Code, nullable=False),
    Column("length", Code, nullable=False),
    Column("slots", Blob, nullable=False),
    PrimaryKeyConstraint("repository_id", "name"),
)

order = Table(
    "commit_order",
    metadata,
    Column("repository_id", Number, nullable=False),
    Column("before", Code, nullable=False),
    Column("after", Code, nullable=False),
    PrimaryKeyConstraint("repository_id", "before", "after"),
)
"""The order of commits that results files state, where there is no graph: one slot comes before another."""

successor = Table(
    "commit_successor",
    metadata,
    Column("repository_id", Number, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("slot", Code, nullable=False),
    Column("successor", Code, nullable=False),
    PrimaryKeyConstraint("repository_id", "line", "slot"),
)
"""Commits that a rebase or a force-push took off a line, and the commit that took the place of each."""

release = Table(
    "release_",
    metadata,
    Column("repository_id", Number, nullable=False),
    Column("name", exact_text, nullable=False),
    Column("hash", exact_text, nullable=False),
    Column("slot", Code, nullable=False),
    PrimaryKeyConstraint("repository_id", "name"),
)
"""The tags of a repository: the commit of each, and the last commit of the default line that it contains, -1 for none.
"""
