"""Keep the clusters that alerts find. Those of a store of before are kept by the next run that judges their group."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "cluster",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
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
    op.create_index("ix_cluster_member_trace_id", "cluster_member", ["trace_id"])
    op.create_index("ix_cluster_member_point_id", "cluster_member", ["point_id"])
