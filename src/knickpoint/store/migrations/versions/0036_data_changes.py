"""Note on PostgreSQL which transactions change data that answers show, so that answers are cached until then."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.migrations.data_changes import note_changes_of
from knickpoint.store.tables.base import Number

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

OLDER_PROGRAMS_GO_ON = True

_FUNCTION = """
CREATE FUNCTION note_data_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO data_change (backend, last) VALUES (pg_backend_pid(), txid_current())
    ON CONFLICT (backend) DO UPDATE SET last = excluded.last WHERE data_change.last <> excluded.last;
    RETURN NULL;
END $$
"""

_TABLES = (
    "alert",
    "alert_file",
    "alert_in_force",
    "alert_run",
    "announcement",
    "bisection",
    "bisection_line",
    "bystander",
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
    "gate_probe",
    "history_boundary",
    "hot_tile",
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
    "regression",
    "release_",
    "repository",
    "run",
    "run_part",
    "sealed_tile",
    "segment",
    "shortcut",
    "sighting",
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


def upgrade() -> None:
    """Make the table, which stays empty on SQLite, and the triggers that fill it on PostgreSQL."""
    op.create_table(
        "data_change",
        sa.Column("backend", Number, nullable=False, autoincrement=False),
        sa.Column("last", Number, nullable=False),
        sa.PrimaryKeyConstraint("backend"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_FUNCTION)
        note_changes_of(_TABLES)
