"""Make the tables of bisections: requests, probes, results files that wait, logs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Make the tables, and note with the suspects of a regression by which bisection they are ranked."""
    op.create_table(
        "bisection",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("slots", sa.LargeBinary(), nullable=False),
        sa.Column("regression_id", NUMBER, nullable=False),
        sa.Column("trace_id", NUMBER, nullable=False),
        sa.Column("trace_key", TEXT, nullable=False),
        sa.Column("profile", TEXT, nullable=False),
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
    )
    op.create_index("ix_bisection_regression_id", "bisection", ["regression_id"])
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
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
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
    op.add_column("suspects", sa.Column("bisection", NUMBER, nullable=False, server_default="0"))
