"""Make the announcement ledger. What was found before is never announced."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Add the columns and the table."""
    op.add_column("change_point", sa.Column("announced", NUMBER, nullable=False, server_default="0"))
    op.add_column("change_point", sa.Column("absent_since", sa.Integer(), nullable=False, server_default="-1"))
    op.execute("UPDATE change_point SET announced = -1")
    op.create_index("ix_change_point_announced", "change_point", ["repository_id", "announced"])
    op.create_table(
        "announcement",
        sa.Column("id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("chain", NUMBER, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("regression_id", NUMBER, nullable=False),
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcement")),
        sa.UniqueConstraint("chain", "number", name=op.f("uq_announcement_chain_number")),
    )
    op.create_index("ix_announcement_regression_id", "announcement", ["regression_id"])
    op.create_index("ix_announcement_repository_id", "announcement", ["repository_id", "id"])
