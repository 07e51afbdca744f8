"""Make the tables of a new store, with triggers for an append-only audit log and for changes of data."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.migrations.data_changes import note_changes_of

revision = "0044"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")

SQLITE_TRIGGERS = (
    """
    CREATE TRIGGER audit_entry_is_not_changed BEFORE UPDATE ON audit_entry
    BEGIN SELECT RAISE(ABORT, 'entries of the audit log are not changed'); END
    """,
    """
    CREATE TRIGGER audit_entry_is_kept BEFORE DELETE ON audit_entry
    WHEN OLD.time >= COALESCE((SELECT MAX(before) FROM audit_retention), 0)
    BEGIN SELECT RAISE(ABORT, 'entries of the audit log are deleted by age only'); END
    """,
)
POSTGRES_TRIGGERS = (
    """
    CREATE FUNCTION refuse_change_of_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            IF OLD.time < COALESCE((SELECT MAX(before) FROM audit_retention), 0) THEN RETURN OLD; END IF;
        END IF;
        RAISE EXCEPTION 'entries of the audit log are not changed, and deleted by age only';
    END $$
    """,
    """
    CREATE TRIGGER audit_entry_is_kept BEFORE UPDATE OR DELETE ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit_entry()
    """,
    """
    CREATE TRIGGER audit_entry_is_not_truncated BEFORE TRUNCATE ON audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_audit_entry()
    """,
    """
    CREATE FUNCTION note_data_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO data_change (backend, last) VALUES (pg_backend_pid(), txid_current())
        ON CONFLICT (backend) DO UPDATE SET last = excluded.last WHERE data_change.last <> excluded.last;
        RETURN NULL;
    END $$
    """,
)
NOTED_TABLES = (
    "alert",
    "alert_file",
    "alert_in_force",
    "alert_run",
    "announcement",
    "bisection",
    "bisection_line",
    "bystander",
    "change",
    "change_point",
    "chunk",
    "cluster",
    "cluster_member",
    "commit_",
    "commit_order",
    "commit_successor",
    "configuration_digest",
    "counter",
    "decision",
    "environment",
    "history_boundary",
    "hot_tile",
    "kept_direction",
    "layout",
    "ledger_file",
    "ledger_quarantine",
    "ledger_waiting",
    "line",
    "missed_change",
    "newest_verdict",
    "param_name",
    "param_value",
    "planned_probe",
    "probe",
    "probe_file",
    "problem",
    "proposal_decision",
    "quarantine",
    "release_",
    "repository",
    "run",
    "run_part",
    "scheduled_probe",
    "sealed_tile",
    "segment",
    "shortcut",
    "sighting",
    "statement",
    "stored_alert",
    "suspects",
    "ticket",
    "trace_identity",
    "trace_rename",
    "tracker_thread",
    "tracker_ticket",
    "unit",
    "untaken_chain",
    "withheld_run",
)
"""Tables whose changes end cached answers."""

BLOBS = {"hot_tile": "data", "run_part": "data", "sealed_tile": "data", "segment": "data"}
"""Numbers that do not compress: PostgreSQL keeps them as they are."""


def upgrade() -> None:  # noqa: PLR0915 - one statement for each table and index
    """Make the tables, then what each database needs besides."""
    op.create_table(
        "alert",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("definition", TEXT, nullable=False),
        sa.Column("applied", REAL, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_alert")),
    )
    op.create_table(
        "alert_file",
        sa.Column("repository", TEXT, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("rule", TEXT, nullable=False),
        sa.Column("tip", TEXT, nullable=False),
        sa.Column("commit", TEXT, nullable=False),
        sa.Column("definitions", TEXT, nullable=False),
        sa.Column("failure", TEXT, nullable=False),
        sa.Column("failed_at", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("repository", name=op.f("pk_alert_file")),
    )
    op.create_table(
        "alert_in_force",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("definition", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_alert_in_force")),
    )
    op.create_table(
        "alert_run",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("run", NUMBER, nullable=False),
        sa.Column("alert", TEXT, nullable=False),
        sa.Column("repository_id", NUMBER, server_default="0", nullable=False),
        sa.Column("complete", sa.Integer(), nullable=False),
        sa.Column("started", REAL, nullable=False),
        sa.Column("seconds", REAL, nullable=False),
        sa.Column("traces", NUMBER, nullable=False),
        sa.Column("kept", NUMBER, nullable=False),
        sa.Column("added", NUMBER, nullable=False),
        sa.Column("lost", NUMBER, nullable=False),
        sa.Column("failure", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_run")),
    )
    op.create_index("ix_alert_run_alert", "alert_run", ["alert", "id"])
    op.create_table(
        "announcement",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("chain", NUMBER, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("change_id", NUMBER, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("direction", TEXT, nullable=False),
        sa.Column("finding_kind", TEXT, nullable=False),
        sa.Column("condition", TEXT, nullable=False),
        sa.Column("traces", sa.Integer(), nullable=False),
        sa.Column("lead", NUMBER, nullable=False),
        sa.Column("trace_key", TEXT, nullable=False),
        sa.Column("unit", TEXT, nullable=False),
        sa.Column("before_level", REAL, nullable=True),
        sa.Column("after_level", REAL, nullable=True),
        sa.Column("size", REAL, nullable=True),
        sa.Column("relative_size", REAL, nullable=True),
        sa.Column("interval", sa.Integer(), nullable=False),
        sa.Column("cause_id", NUMBER, nullable=False),
        sa.Column("provisional", sa.Integer(), server_default="0", nullable=False),
        sa.Column("unsent", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcement")),
        sa.UniqueConstraint("chain", "number", name=op.f("uq_announcement_chain_number")),
    )
    op.create_index("ix_announcement_change_id", "announcement", ["change_id"])
    op.create_index("ix_announcement_repository_id", "announcement", ["repository_id", "id"])
    op.create_table(
        "audit_entry",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("about", TEXT, nullable=False),
        sa.Column("address", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_entry_time", "audit_entry", ["time"])
    op.create_table("audit_retention", sa.Column("before", REAL, nullable=False))
    op.create_table(
        "bisection",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("slots", sa.LargeBinary(), nullable=False),
        sa.Column("change_id", NUMBER, nullable=False),
        sa.Column("trace_id", NUMBER, nullable=False),
        sa.Column("trace_key", TEXT, nullable=False),
        sa.Column("recipe", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("request", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("by_rule", sa.Integer(), nullable=False),
        sa.Column("asked", REAL, nullable=False),
        sa.Column("started", REAL, nullable=True),
        sa.Column("ended", REAL, nullable=True),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("culprits", TEXT, nullable=False),
        sa.Column("probability", REAL, nullable=False),
        sa.Column("posterior", sa.LargeBinary(), nullable=False),
        sa.Column("devices", TEXT, nullable=False),
        sa.Column("left_seconds", REAL, nullable=True),
        sa.Column("holder", TEXT, nullable=False),
        sa.Column("lease", REAL, nullable=False),
        sa.Column("stopped_by", TEXT, nullable=False),
        sa.Column("edition", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bisection")),
    )
    op.create_index("ix_bisection_change_id", "bisection", ["change_id"])
    op.create_index("ix_bisection_state", "bisection", ["state", "lease"])
    op.create_table(
        "bisection_line",
        sa.Column("bisection_id", NUMBER, nullable=False),
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("bisection_id", "number", name=op.f("pk_bisection_line")),
    )
    op.create_table(
        "bystander",
        sa.Column("decision_id", NUMBER, nullable=False),
        sa.Column("change_point_id", NUMBER, nullable=False),
        sa.Column("change_id", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("decision_id", "change_point_id", name=op.f("pk_bystander")),
    )
    op.create_table(
        "change",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("hazard", REAL, nullable=False),
        sa.Column("traces", sa.Integer(), nullable=False),
        sa.Column("unprocessed", sa.Integer(), nullable=False),
        sa.Column("history", sa.Integer(), server_default="0", nullable=False),
        sa.Column("found", REAL, nullable=False),
        sa.Column("changed", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_change")),
    )
    op.create_index("ix_change_unprocessed", "change", ["repository_id", "unprocessed"])
    op.create_table(
        "change_point",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("trace_id", NUMBER, nullable=False),
        sa.Column("trace_key", TEXT, nullable=False),
        sa.Column("unit", TEXT, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("movement", sa.Integer(), nullable=False),
        sa.Column("interval", sa.Integer(), nullable=False),
        sa.Column("interval_before", sa.Integer(), server_default="0", nullable=False),
        sa.Column("interval_after", sa.Integer(), server_default="0", nullable=False),
        sa.Column("direction", TEXT, nullable=False),
        sa.Column("condition", TEXT, nullable=False),
        sa.Column("recovered_at", sa.Integer(), server_default="-1", nullable=False),
        sa.Column("kind", TEXT, server_default="step", nullable=False),
        sa.Column("certainty", TEXT, server_default="settled", nullable=False),
        sa.Column("found_with", sa.Integer(), server_default="0", nullable=False),
        sa.Column("needed", sa.Integer(), server_default="0", nullable=False),
        sa.Column("before_first", sa.Integer(), nullable=False),
        sa.Column("before_last", sa.Integer(), nullable=False),
        sa.Column("before_count", sa.Integer(), nullable=False),
        sa.Column("before_minimum", REAL, nullable=True),
        sa.Column("before_maximum", REAL, nullable=True),
        sa.Column("before_median", REAL, nullable=True),
        sa.Column("before_mean", REAL, nullable=True),
        sa.Column("before_variance", REAL, nullable=True),
        sa.Column("after_first", sa.Integer(), nullable=False),
        sa.Column("after_last", sa.Integer(), nullable=False),
        sa.Column("after_count", sa.Integer(), nullable=False),
        sa.Column("after_minimum", REAL, nullable=True),
        sa.Column("after_maximum", REAL, nullable=True),
        sa.Column("after_median", REAL, nullable=True),
        sa.Column("after_mean", REAL, nullable=True),
        sa.Column("after_variance", REAL, nullable=True),
        sa.Column("before_level", REAL, nullable=True),
        sa.Column("after_level", REAL, nullable=True),
        sa.Column("deviation", REAL, nullable=True),
        sa.Column("size", REAL, nullable=True),
        sa.Column("relative_size", REAL, nullable=True),
        sa.Column("hazard", REAL, nullable=True),
        sa.Column("score", REAL, nullable=True),
        sa.Column("p_value", REAL, nullable=True),
        sa.Column("found_order", sa.Integer(), nullable=False),
        sa.Column("method", TEXT, nullable=False),
        sa.Column("low", REAL, nullable=True),
        sa.Column("high", REAL, nullable=True),
        sa.Column("sign", REAL, nullable=True),
        sa.Column("reference", TEXT, server_default="", nullable=False),
        sa.Column("over_reference", REAL, nullable=True),
        sa.Column("severity", REAL, server_default="0", nullable=False),
        sa.Column("alerts", TEXT, nullable=False),
        sa.Column("anchor_line", TEXT, nullable=True),
        sa.Column("anchor_previous", sa.Integer(), nullable=True),
        sa.Column("anchor_slot", sa.Integer(), nullable=True),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("ticket", TEXT, nullable=False),
        sa.Column("assignee", TEXT, nullable=False),
        sa.Column("matched_ticket", TEXT, nullable=False),
        sa.Column("apart", NUMBER, nullable=False),
        sa.Column("together", NUMBER, nullable=False),
        sa.Column("change_id", NUMBER, nullable=False),
        sa.Column("found", REAL, nullable=False),
        sa.Column("changed", REAL, nullable=False),
        sa.Column("announced", NUMBER, server_default="0", nullable=False),
        sa.Column("absent_since", sa.Integer(), server_default="-1", nullable=False),
        sa.Column("held", TEXT, server_default="", nullable=False),
        sa.Column("alert_kind", TEXT, server_default="work", nullable=False),
        sa.Column("alert_severity", sa.Integer(), server_default="1", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_change_point")),
    )
    op.create_index("ix_change_point_announced", "change_point", ["repository_id", "announced"])
    op.create_index("ix_change_point_change_id", "change_point", ["change_id"])
    op.create_index("ix_change_point_line", "change_point", ["repository_id", "line"])
    op.create_index("ix_change_point_trace_id", "change_point", ["trace_id"])
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
    op.create_index("ix_chunk_repository_id", "chunk", ["repository_id", "id"])
    op.create_index("ix_chunk_version", "chunk", ["version"])
    op.create_table(
        "cluster",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("alert", TEXT, nullable=False),
        sa.Column("group_key", TEXT, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("movement", sa.Integer(), nullable=False),
        sa.Column("regression", REAL, nullable=False),
        sa.Column("gone", sa.Integer(), nullable=False),
        sa.Column("run", NUMBER, nullable=False),
        sa.Column("found", REAL, nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cluster")),
    )
    op.create_index("ix_cluster_alert", "cluster", ["repository_id", "alert", "group_key"])
    op.create_table(
        "cluster_member",
        sa.Column("cluster_id", NUMBER, nullable=False),
        sa.Column("trace_id", NUMBER, nullable=False),
        sa.Column("trace_key", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("distance", REAL, nullable=False),
        sa.Column("run", NUMBER, nullable=False),
        sa.Column("since", REAL, nullable=False),
        sa.Column("point_id", NUMBER, nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("cluster_id", "trace_id", name=op.f("pk_cluster_member")),
    )
    op.create_index("ix_cluster_member_point_id", "cluster_member", ["point_id"])
    op.create_index("ix_cluster_member_trace_id", "cluster_member", ["trace_id"])
    op.create_table(
        "commit_",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("number", NUMBER, nullable=True),
        sa.Column("author", TEXT, nullable=False),
        sa.Column("email", TEXT, nullable=False),
        sa.Column("time", REAL, nullable=True),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("parents", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "slot", name=op.f("pk_commit_")),
        sa.UniqueConstraint("repository_id", "hash", name=op.f("uq_commit__repository_id_hash")),
    )
    op.create_index("ix_commit_number", "commit_", ["repository_id", "number"])
    op.create_index("ix_commit_time", "commit_", ["repository_id", "time", "hash"])
    op.create_table(
        "commit_order",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("before", sa.Integer(), nullable=False),
        sa.Column("after", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "before", "after", name=op.f("pk_commit_order")),
    )
    op.create_table(
        "commit_successor",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("successor", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "line", "slot", name=op.f("pk_commit_successor")),
    )
    op.create_table(
        "configuration_digest",
        sa.Column("section", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("section", name=op.f("pk_configuration_digest")),
    )
    op.create_table(
        "counter",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("value", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counter")),
    )
    op.create_table(
        "data_change",
        sa.Column("backend", NUMBER, autoincrement=False, nullable=False),
        sa.Column("last", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("backend", name=op.f("pk_data_change")),
    )
    op.create_table(
        "decision",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("change_point_id", NUMBER, nullable=False),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("ticket", TEXT, nullable=False),
        sa.Column("assignee", TEXT, nullable=False),
        sa.Column("apart", NUMBER, nullable=False),
        sa.Column("together", NUMBER, nullable=False),
        sa.Column("undoes", NUMBER, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("change_id", NUMBER, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
    )
    op.create_index("ix_decision_change_point_id", "decision", ["change_point_id", "id"])
    op.create_table(
        "delivery",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("address", TEXT, nullable=False),
        sa.Column("person", TEXT, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("announcements", TEXT, nullable=False),
        sa.Column("thread", TEXT, nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.Column("due", REAL, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("holder", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("answer", TEXT, nullable=False),
        sa.Column("sent", REAL, nullable=True),
        sa.Column("reference", TEXT, nullable=False),
        sa.Column("link", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint("key", name=op.f("uq_delivery_key")),
    )
    op.create_index("ix_delivery_channel_address_thread", "delivery", ["channel", "address", "thread"])
    op.create_index("ix_delivery_state_due", "delivery", ["state", "due"])
    op.create_table(
        "delivery_item",
        sa.Column("receiver", TEXT, nullable=False),
        sa.Column("purpose", TEXT, nullable=False),
        sa.Column("announcement_id", NUMBER, nullable=False),
        sa.Column("chain", NUMBER, nullable=False),
        sa.Column("delivery_id", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("receiver", "purpose", "announcement_id", name=op.f("pk_delivery_item")),
    )
    op.create_index("ix_delivery_item_chain", "delivery_item", ["chain"])
    op.create_index("ix_delivery_item_delivery_id", "delivery_item", ["delivery_id"])
    op.create_table(
        "ended_session",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("ended", REAL, nullable=False),
        sa.Column("until", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ended_session")),
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
        "history_boundary",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("changed", REAL, nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "slot", name=op.f("pk_history_boundary")),
    )
    op.create_table(
        "hook_call",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        sa.Column("hook", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due", REAL, nullable=False),
        sa.Column("answer", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hook_call")),
        sa.UniqueConstraint("repository_id", "identity", "hook", name=op.f("uq_hook_call_repository_id_identity_hook")),
    )
    op.create_index("ix_hook_call_due", "hook_call", ["state", "due"])
    op.create_table(
        "hot_tile",
        sa.Column("chunk", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("checksum", NUMBER, nullable=True),
        sa.PrimaryKeyConstraint("chunk", "slot", name=op.f("pk_hot_tile")),
    )
    op.create_table(
        "judged",
        sa.Column("alert", TEXT, nullable=False),
        sa.Column("chunk", NUMBER, nullable=False),
        sa.Column("digests", sa.LargeBinary(), nullable=False),
        sa.Column("whole", NUMBER, nullable=True),
        sa.PrimaryKeyConstraint("alert", "chunk", name=op.f("pk_judged")),
    )
    op.create_table(
        "kept_direction",
        sa.Column("trace_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("better", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("trace_id", name=op.f("pk_kept_direction")),
    )
    op.create_table(
        "layout",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("high", NUMBER, nullable=False),
        sa.Column("low", NUMBER, nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.Column("traces", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "high", "low", name=op.f("pk_layout")),
    )
    op.create_index("ix_layout_created", "layout", ["repository_id", "created"])
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
        sa.Column("changed", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_file")),
        sa.UniqueConstraint("content_hash", "source", name=op.f("uq_ledger_file_content_hash_source")),
    )
    op.create_index("ix_ledger_file_source", "ledger_file", ["source"])
    op.create_index("ix_ledger_file_state", "ledger_file", ["state", "id"])
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
        sa.Column("changed", REAL, nullable=False),
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
        sa.Column("created", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_waiting")),
    )
    op.create_index("ix_ledger_waiting_revision", "ledger_waiting", ["repository_id", "revision"])
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
        "missed_change",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("trace_id", NUMBER, nullable=False),
        sa.Column("trace_key", TEXT, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("movement", sa.Integer(), nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_missed_change")),
    )
    op.create_index("ix_missed_change_trace_id", "missed_change", ["trace_id"])
    op.create_table(
        "newest_verdict",
        sa.Column("trace_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("verdict", TEXT, nullable=False),
        sa.Column("value", REAL, nullable=False),
        sa.Column("centre", REAL, nullable=True),
        sa.Column("low", REAL, nullable=True),
        sa.Column("high", REAL, nullable=True),
        sa.Column("relative_size", REAL, nullable=True),
        sa.Column("p_value", REAL, nullable=True),
        sa.Column("judged", REAL, nullable=False),
        sa.PrimaryKeyConstraint("trace_id", name=op.f("pk_newest_verdict")),
    )
    op.create_table(
        "notification_cursor",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("announcement_id", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_notification_cursor")),
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
        sa.Column("created", REAL, nullable=False),
        sa.Column("due", REAL, nullable=False),
        sa.Column("worker", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox_event")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_event_due", "outbox_event", ["consumer", "state", "due"])
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
    op.create_index("ix_param_value_digest", "param_value", ["digest"])
    op.create_index("ix_param_value_version", "param_value", ["version"])
    op.create_table(
        "person_setting",
        sa.Column("provider", TEXT, nullable=False),
        sa.Column("person", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("value", TEXT, nullable=False),
        sa.Column("changed", REAL, nullable=False),
        sa.PrimaryKeyConstraint("provider", "person", "name", name=op.f("pk_person_setting")),
    )
    op.create_table(
        "planned_probe",
        sa.Column("bisection_id", NUMBER, nullable=False),
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("device", TEXT, nullable=False),
        sa.Column("purpose", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("begun", REAL, nullable=False),
        sa.Column("probe_id", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("bisection_id", "name", name=op.f("pk_planned_probe")),
    )
    op.create_index("ix_planned_probe_probe_id", "planned_probe", ["probe_id"])
    op.create_table(
        "probe",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("device", TEXT, nullable=False),
        sa.Column("outcome", TEXT, nullable=False),
        sa.Column("started", REAL, nullable=False),
        sa.Column("seconds", REAL, nullable=False),
        sa.Column("measured", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("output", TEXT, nullable=False),
        sa.Column("built", sa.Integer(), nullable=False),
        sa.Column("waits", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_probe")),
    )
    op.create_index("ix_probe_key", "probe", ["key"])
    op.create_index("ix_probe_waits", "probe", ["waits"])
    op.create_table(
        "probe_file",
        sa.Column("probe_id", NUMBER, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("probe_id", "name", name=op.f("pk_probe_file")),
    )
    op.create_table(
        "problem",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("alert", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("opened", REAL, nullable=False),
        sa.Column("closed", REAL, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_problem")),
    )
    op.create_table(
        "proposal_decision",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("alert", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("accepted", sa.Integer(), nullable=False),
        sa.Column("change", TEXT, nullable=False),
        sa.Column("hidden", NUMBER, nullable=False),
        sa.Column("before", TEXT, nullable=False),
        sa.Column("after", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_proposal_decision")),
    )
    op.create_table(
        "quarantine",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        sa.Column("run_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("machine", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("since", REAL, nullable=False),
        sa.Column("until", REAL, nullable=False),
        sa.Column("reasons", TEXT, nullable=False),
        sa.Column("evidence", TEXT, nullable=False),
        sa.Column("traces", sa.Integer(), nullable=False),
        sa.Column("trace_ids", sa.LargeBinary(), nullable=False),
        sa.Column("outcome", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quarantine")),
        sa.UniqueConstraint("repository_id", "identity", name=op.f("uq_quarantine_repository_id_identity")),
    )
    op.create_index("ix_quarantine_state", "quarantine", ["repository_id", "state"])
    op.create_table(
        "release_",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "name", name=op.f("pk_release_")),
    )
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
        sa.Column("time", REAL, nullable=True),
        sa.Column("environment_id", NUMBER, nullable=False),
        sa.Column("links", TEXT, nullable=False),
        sa.Column("revisions", TEXT, nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.Column("corrections", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("chunks", sa.LargeBinary(), nullable=False),
        sa.Column("unmeasured", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("repository_id", "identity", name=op.f("uq_run_repository_id_identity")),
    )
    op.create_index("ix_run_slot", "run", ["repository_id", "slot"])
    op.create_table(
        "run_part",
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("chunk", NUMBER, nullable=False),
        sa.Column("run_id", NUMBER, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("checksum", NUMBER, nullable=True),
        sa.PrimaryKeyConstraint("slot", "chunk", "run_id", name=op.f("pk_run_part")),
    )
    op.create_table(
        "scheduled_probe",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("schedule", TEXT, nullable=False),
        sa.Column("commit_hash", TEXT, nullable=False),
        sa.Column("pins", TEXT, nullable=False),
        sa.Column("purpose", TEXT, nullable=False),
        sa.Column("change_id", NUMBER, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", TEXT, nullable=False),
        sa.Column("due", REAL, nullable=False),
        sa.Column("chosen", REAL, nullable=False),
        sa.Column("ended", REAL, nullable=False),
        sa.Column("device", TEXT, nullable=False),
        sa.Column("seconds", REAL, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scheduled_probe")),
        sa.UniqueConstraint(
            "repository_id",
            "schedule",
            "commit_hash",
            name=op.f("uq_scheduled_probe_repository_id_schedule_commit_hash"),
        ),
    )
    op.create_index("ix_scheduled_probe_state", "scheduled_probe", ["state", "due"])
    op.create_table(
        "schema_support",
        sa.Column("revision", TEXT, nullable=False),
        sa.Column("since", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_schema_support")),
    )
    op.create_table(
        "sealed_tile",
        sa.Column("chunk", NUMBER, nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("span", sa.Integer(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("sparse", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("checksum", NUMBER, nullable=True),
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
        sa.Column("checksum", NUMBER, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_segment")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_segment_repository_id", "segment", ["repository_id", "slot"])
    op.create_table(
        "shortcut",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shortcut")),
    )
    op.create_table(
        "sighting",
        sa.Column("change_point_id", NUMBER, nullable=False),
        sa.Column("alert", TEXT, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("trace_id", NUMBER, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("movement", sa.Integer(), nullable=False),
        sa.Column("interval", sa.Integer(), nullable=False),
        sa.Column("interval_before", sa.Integer(), server_default="0", nullable=False),
        sa.Column("interval_after", sa.Integer(), server_default="0", nullable=False),
        sa.Column("direction", TEXT, nullable=False),
        sa.Column("condition", TEXT, nullable=False),
        sa.Column("recovered_at", sa.Integer(), server_default="-1", nullable=False),
        sa.Column("kind", TEXT, server_default="step", nullable=False),
        sa.Column("certainty", TEXT, server_default="settled", nullable=False),
        sa.Column("found_with", sa.Integer(), server_default="0", nullable=False),
        sa.Column("needed", sa.Integer(), server_default="0", nullable=False),
        sa.Column("before_first", sa.Integer(), nullable=False),
        sa.Column("before_last", sa.Integer(), nullable=False),
        sa.Column("before_count", sa.Integer(), nullable=False),
        sa.Column("before_minimum", REAL, nullable=True),
        sa.Column("before_maximum", REAL, nullable=True),
        sa.Column("before_median", REAL, nullable=True),
        sa.Column("before_mean", REAL, nullable=True),
        sa.Column("before_variance", REAL, nullable=True),
        sa.Column("after_first", sa.Integer(), nullable=False),
        sa.Column("after_last", sa.Integer(), nullable=False),
        sa.Column("after_count", sa.Integer(), nullable=False),
        sa.Column("after_minimum", REAL, nullable=True),
        sa.Column("after_maximum", REAL, nullable=True),
        sa.Column("after_median", REAL, nullable=True),
        sa.Column("after_mean", REAL, nullable=True),
        sa.Column("after_variance", REAL, nullable=True),
        sa.Column("before_level", REAL, nullable=True),
        sa.Column("after_level", REAL, nullable=True),
        sa.Column("deviation", REAL, nullable=True),
        sa.Column("size", REAL, nullable=True),
        sa.Column("relative_size", REAL, nullable=True),
        sa.Column("hazard", REAL, nullable=True),
        sa.Column("score", REAL, nullable=True),
        sa.Column("p_value", REAL, nullable=True),
        sa.Column("found_order", sa.Integer(), nullable=False),
        sa.Column("method", TEXT, nullable=False),
        sa.Column("low", REAL, nullable=True),
        sa.Column("high", REAL, nullable=True),
        sa.Column("sign", REAL, nullable=True),
        sa.Column("reference", TEXT, server_default="", nullable=False),
        sa.Column("over_reference", REAL, nullable=True),
        sa.PrimaryKeyConstraint("change_point_id", "alert", name=op.f("pk_sighting")),
    )
    op.create_index("ix_sighting_alert", "sighting", ["alert"])
    op.create_index("ix_sighting_trace_id", "sighting", ["trace_id", "alert"])
    op.create_table(
        "statement",
        sa.Column("change_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("direction", TEXT, nullable=False),
        sa.Column("condition", TEXT, nullable=False),
        sa.Column("side", TEXT, nullable=False),
        sa.Column("lead", NUMBER, nullable=False),
        sa.Column("severity", REAL, nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_statement")),
    )
    op.create_table(
        "stored_alert",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("definition", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("changed", REAL, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_stored_alert")),
    )
    op.create_table(
        "suspects",
        sa.Column("change_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("traces", sa.Integer(), nullable=False),
        sa.Column("settled", sa.Integer(), nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("bisection", NUMBER, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_suspects")),
    )
    op.create_table(
        "ticket",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("query", TEXT, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("open", sa.Integer(), nullable=False),
        sa.Column("changed", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ticket")),
        sa.UniqueConstraint(
            "repository_id", "name", "slot", "query", name=op.f("uq_ticket_repository_id_name_slot_query")
        ),
    )
    op.create_table(
        "token",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("scopes", TEXT, nullable=False),
        sa.Column("repositories", TEXT, nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.Column("created_by", TEXT, nullable=False),
        sa.Column("expires", REAL, nullable=True),
        sa.Column("last_used", REAL, nullable=True),
        sa.Column("revoked", REAL, nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_token_digest")),
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
        "trace_rename",
        sa.Column("old_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("new_id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.PrimaryKeyConstraint("old_id", name=op.f("pk_trace_rename")),
        sa.UniqueConstraint("new_id", name=op.f("uq_trace_rename_new_id")),
    )
    op.create_table(
        "tracker_cursor",
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("since", TEXT, nullable=False),
        sa.Column("etag", TEXT, nullable=False),
        sa.Column("resume", REAL, nullable=False),
        sa.PrimaryKeyConstraint("channel", name=op.f("pk_tracker_cursor")),
    )
    op.create_table(
        "tracker_thread",
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("thread", TEXT, nullable=False),
        sa.Column("ticket_id", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("channel", "thread", name=op.f("pk_tracker_thread")),
    )
    op.create_table(
        "tracker_ticket",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("open", sa.Integer(), nullable=False),
        sa.Column("assignee", TEXT, nullable=False),
        sa.Column("fixed", TEXT, nullable=False),
        sa.Column("updated", REAL, nullable=False),
        sa.Column("verdict", TEXT, nullable=False),
        sa.Column("checked", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tracker_ticket")),
        sa.UniqueConstraint("channel", "name", name=op.f("uq_tracker_ticket_channel_name")),
    )
    op.create_index("ix_tracker_ticket_name", "tracker_ticket", ["name"])
    op.create_table(
        "unit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_unit")),
        sa.UniqueConstraint("text", name=op.f("uq_unit_text")),
    )
    op.create_table(
        "untaken_chain",
        sa.Column("chain", NUMBER, autoincrement=False, nullable=False),
        sa.Column("opened", REAL, nullable=False),
        sa.PrimaryKeyConstraint("chain", name=op.f("pk_untaken_chain")),
    )
    op.create_table(
        "used_link",
        sa.Column("link", TEXT, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("expires", REAL, nullable=False),
        sa.PrimaryKeyConstraint("link", name=op.f("pk_used_link")),
    )
    op.create_table(
        "withheld_run",
        sa.Column("run_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("kept", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_withheld_run")),
    )
    op.create_index("ix_withheld_run_slot", "withheld_run", ["repository_id", "slot"])
    op.create_table(
        "worker",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("started", REAL, nullable=False),
        sa.Column("seen", REAL, nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed", REAL, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("parts", TEXT, server_default="", nullable=False),
        sa.Column("machine", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worker")),
    )
    if op.get_bind().dialect.name == "sqlite":
        _execute(SQLITE_TRIGGERS)
        return
    _execute(POSTGRES_TRIGGERS)
    note_changes_of(NOTED_TABLES)
    for table, column in BLOBS.items():
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


def _execute(statements: tuple[str, ...]) -> None:
    for statement in statements:
        op.execute(sa.text(statement.replace(":", "\\:")))
