"""The values, the runs that measured them, the files that they came from, and profiles with what they say."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata

# The values: hot tiles by slot, sealed tiles by chunk, and segments of scattered events.
#
# ``checksum`` is that of :mod:`knickpoint.store.points.tile_codec`, null in rows that older versions wrote.


hot = Table(
    "hot_tile",
    metadata,
    Column("chunk", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("width", Code, nullable=False),
    Column("data", Blob, nullable=False),
    Column("checksum", Number, nullable=True),
    PrimaryKeyConstraint("chunk", "slot"),
)
"""One commit of one chunk, ``width`` bytes a value, cut after the last trace; it stands before a sealed tile."""

sealed = Table(
    "sealed_tile",
    metadata,
    Column("chunk", Number, nullable=False),
    Column("first", Code, nullable=False),
    Column("span", Code, nullable=False),
    Column("width", Code, nullable=False),
    Column("sparse", Code, nullable=False),
    Column("data", Blob, nullable=False),
    Column("checksum", Number, nullable=True),
    PrimaryKeyConstraint("chunk", "first"),
)
"""``span`` slots of one chunk, trace-major; sparse ones list their points. Spans of a chunk never overlap."""

segment = Table(
    "segment",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("lowest", Number, nullable=False),
    Column("highest", Number, nullable=False),
    Column("count", Code, nullable=False),
    Column("width", Code, nullable=False),
    Column("ids", Blob, nullable=False),
    Column("data", Blob, nullable=False),
    Column("checksum", Number, nullable=True),
    Index("ix_segment_repository_id", "repository_id", "slot"),
    sqlite_autoincrement=True,
)
"""The points of scattered traces at one slot, until they are sealed; a later segment stands before all else.

Ids are never given twice: a sealer must not take a new segment for the one it has read.
"""


# Runs, the parts they wrote, and the environments they ran in.


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


# The ledger of files: what was seen, what waits for its commit, what was refused.


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
