"""Repositories, their commits by slot, their lines; the catalogue of traces by chunk, and the way to a trace."""

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


# The catalogue: the name and facts of each trace, by chunk of 1,024 traces, and the way from a key to its trace.


unit = Table(
    "unit",
    metadata,
    Column("id", Code, primary_key=True),
    Column("text", exact_text, nullable=False),
    Column("dimension", Code, nullable=False),
    UniqueConstraint("text"),
)
"""Units as written. ``dimension`` is the id of the first unit of the same dimension; id 0 means no unit."""

identity = Table(
    "trace_identity",
    metadata,
    Column("repository_id", Number, nullable=False),
    Column("high", Number, nullable=False),
    Column("low", Number, nullable=False),
    Column("dimension", Code, nullable=False),
    Column("trace_id", Number, nullable=False),
    Column("unit_id", Code, nullable=False),
    Column("better", Code, nullable=False),
    PrimaryKeyConstraint("repository_id", "high", "low", "dimension"),
    sqlite_with_rowid=False,
)
"""The 128-bit digest of a trace key (two signed halves) and its dimension lead to the trace.

Dimension 0 is that of a trace that only failed or was skipped so far; its first value gives it its unit. ``better`` is
the direction that results state where it differs from that of the unit, unknown elsewhere; so it is in ``chunk.facts``.
"""

chunk = Table(
    "chunk",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("version", Number, nullable=False),
    Column("count", Code, nullable=False),
    Column("facts", Blob, nullable=False),
    Column("codes", Blob, nullable=False),
    Column("keys", Blob, nullable=False),
    Index("ix_chunk_version", "version"),
    Index("ix_chunk_repository_id", "repository_id", "id"),
)
"""1,024 neighbouring traces: unit, dimension and direction of each, its params as codes, its key."""

kept_direction = Table(
    "kept_direction",
    metadata,
    Column("trace_id", Number, primary_key=True, autoincrement=False),
    Column("better", Code, nullable=False),
)
"""Traces whose findings were judged by another direction than rules, results and units name now, until a person accepts
it.
"""

param_name = Table(
    "param_name",
    metadata,
    Column("id", Code, primary_key=True),
    Column("name", exact_text, nullable=False),
    UniqueConstraint("name"),
)

param_value = Table(
    "param_value",
    metadata,
    Column("name_id", Code, nullable=False),
    Column("code", Code, nullable=False),
    Column("digest", Number, nullable=False),
    Column("version", Number, nullable=False),
    Column("value", exact_text, nullable=False),
    PrimaryKeyConstraint("name_id", "code"),
    Index("ix_param_value_digest", "digest"),
    Index("ix_param_value_version", "version"),
)
"""The vocabulary: codes count from 1 per name, 0 is a missing param."""

layout = Table(
    "layout",
    metadata,
    Column("repository_id", Number, nullable=False),
    Column("high", Number, nullable=False),
    Column("low", Number, nullable=False),
    Column("created", Time, nullable=False),
    Column("traces", Blob, nullable=False),
    PrimaryKeyConstraint("repository_id", "high", "low"),
    Index("ix_layout_created", "repository_id", "created"),
)
"""The traces of all keys of a file, by the digest of these keys: files of one job have the same keys."""

trace_rename = Table(
    "trace_rename",
    metadata,
    Column("old_id", Number, primary_key=True, autoincrement=False),
    Column("new_id", Number, nullable=False),
    Column("repository_id", Number, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("time", Time, nullable=False),
    UniqueConstraint("new_id"),
)
"""Renames that people accepted: the trace ``new_id`` continues ``old_id``."""


# Shortcuts: sets of keys or formulas under a short stable id, and facts about the instance.


shortcut = Table(
    "shortcut",
    metadata,
    Column("id", exact_text, primary_key=True),
    Column("content", exact_text, nullable=False),
    Column("created", Time, nullable=False),
)

counter = Table(
    "counter",
    metadata,
    Column("name", exact_text, primary_key=True),
    Column("value", Number, nullable=False),
)
"""Counters of the whole instance: the version of the catalogue, the next chunk, the checks of the schema."""
