"""Make the first tables: commits, traces, tiles, runs, ledger, outbox, shortcuts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")

BLOBS = {"hot_tile": "data", "sealed_tile": "data", "segment": "data", "run_part": "data"}
"""Numbers that do not compress: PostgreSQL keeps them as they are."""


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "chunk",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("facts", sa.LargeBinary(), nullable=False),
        sa.Column("codes", sa.LargeBinary(), nullable=False),
        sa.Column("keys", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chunk")),
    )
    op.create_index("ix_chunk_repository_id", "chunk", ["repository_id", "id"], unique=False)
    op.create_index("ix_chunk_version", "chunk", ["version"], unique=False)
    op.create_table(
        "commit_",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("number", NUMBER, nullable=True),
        sa.Column("author", TEXT, nullable=False),
        sa.Column("email", TEXT, nullable=False),
        sa.Column("time", TIME, nullable=True),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("parents", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "slot", name=op.f("pk_commit_")),
        sa.UniqueConstraint("repository_id", "hash", name=op.f("uq_commit__repository_id_hash")),
    )
    op.create_index("ix_commit_number", "commit_", ["repository_id", "number"], unique=False)
    op.create_index("ix_commit_time", "commit_", ["repository_id", "time", "hash"], unique=False)
    op.create_table(
        "commit_order",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("before", sa.Integer(), nullable=False),
        sa.Column("after", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "before", "after", name=op.f("pk_commit_order")),
    )
    op.create_table(
        "counter",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("value", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counter")),
    )
    op.create_table(
        "environment",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("facts", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environment")),
        sa.UniqueConstraint("digest", name=op.f("uq_environment_digest")),
    )
    op.create_table(
        "hot_tile",
        sa.Column("chunk", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("chunk", "slot", name=op.f("pk_hot_tile")),
    )
    op.create_table(
        "layout",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("high", NUMBER, nullable=False),
        sa.Column("low", NUMBER, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("traces", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "high", "low", name=op.f("pk_layout")),
    )
    op.create_index("ix_layout_created", "layout", ["repository_id", "created"], unique=False)
    op.create_table(
        "ledger_file",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("content_hash", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("format", TEXT, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("size", NUMBER, nullable=False),
        sa.Column("changed", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_file")),
        sa.UniqueConstraint("content_hash", "source", name=op.f("uq_ledger_file_content_hash_source")),
    )
    op.create_index("ix_ledger_file_source", "ledger_file", ["source"], unique=False)
    op.create_index("ix_ledger_file_state", "ledger_file", ["state", "id"], unique=False)
    op.create_table(
        "ledger_quarantine",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("content_hash", TEXT, nullable=False),
        sa.Column("options", TEXT, nullable=False),
        sa.Column("problems", TEXT, nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("size", NUMBER, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("changed", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_quarantine")),
        sa.UniqueConstraint("content_hash", "source", name=op.f("uq_ledger_quarantine_content_hash_source")),
    )
    op.create_table(
        "ledger_waiting",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("revision", TEXT, nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("content_hash", TEXT, nullable=False),
        sa.Column("options", TEXT, nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("size", NUMBER, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_waiting")),
    )
    op.create_index("ix_ledger_waiting_revision", "ledger_waiting", ["repository_id", "revision"], unique=False)
    op.create_table(
        "line",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("base", TEXT, nullable=False),
        sa.Column("merge_base", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("slots", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "name", name=op.f("pk_line")),
    )
    op.create_table(
        "outbox_consumer",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("name", "kind", name=op.f("pk_outbox_consumer")),
    )
    op.create_table(
        "outbox_event",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("consumer", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("payload", TEXT, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("due", TIME, nullable=False),
        sa.Column("worker", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox_event")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_event_due", "outbox_event", ["consumer", "state", "due"], unique=False)
    op.create_table(
        "param_name",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_param_name")),
        sa.UniqueConstraint("name", name=op.f("uq_param_name_name")),
    )
    op.create_table(
        "param_value",
        sa.Column("name_id", sa.Integer(), nullable=False),
        sa.Column("code", sa.Integer(), nullable=False),
        sa.Column("digest", NUMBER, nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("value", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("name_id", "code", name=op.f("pk_param_value")),
    )
    op.create_index("ix_param_value_digest", "param_value", ["digest"], unique=False)
    op.create_index("ix_param_value_version", "param_value", ["version"], unique=False)
    op.create_table(
        "repository",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("location", TEXT, nullable=False),
        sa.Column("default_line", TEXT, nullable=False),
        sa.Column("next_slot", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repository")),
        sa.UniqueConstraint("name", name=op.f("uq_repository_name")),
    )
    op.create_table(
        "run",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        sa.Column("content_hash", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("entry", TEXT, nullable=False),
        sa.Column("branch", TEXT, nullable=False),
        sa.Column("time", TIME, nullable=True),
        sa.Column("environment_id", NUMBER, nullable=False),
        sa.Column("links", TEXT, nullable=False),
        sa.Column("revisions", TEXT, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("corrections", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("chunks", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("repository_id", "identity", name=op.f("uq_run_repository_id_identity")),
    )
    op.create_index("ix_run_slot", "run", ["repository_id", "slot"], unique=False)
    op.create_table(
        "run_part",
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("chunk", NUMBER, nullable=False),
        sa.Column("run_id", NUMBER, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("slot", "chunk", "run_id", name=op.f("pk_run_part")),
    )
    op.create_table(
        "sealed_tile",
        sa.Column("chunk", NUMBER, nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("span", sa.Integer(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("sparse", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("chunk", "first", name=op.f("pk_sealed_tile")),
    )
    op.create_table(
        "segment",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("lowest", NUMBER, nullable=False),
        sa.Column("highest", NUMBER, nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("ids", sa.LargeBinary(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_segment")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_segment_repository_id", "segment", ["repository_id", "slot"], unique=False)
    op.create_table(
        "shortcut",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shortcut")),
    )
    op.create_table(
        "trace_identity",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("high", NUMBER, nullable=False),
        sa.Column("low", NUMBER, nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("trace_id", NUMBER, nullable=False),
        sa.Column("unit_id", sa.Integer(), nullable=False),
        sa.Column("better", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "high", "low", "dimension", name=op.f("pk_trace_identity")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "unit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_unit")),
        sa.UniqueConstraint("text", name=op.f("uq_unit_text")),
    )
    if op.get_context().dialect.name == "postgresql":
        for table, column in BLOBS.items():
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")
