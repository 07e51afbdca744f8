"""Keep the changes that people marked as missed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "missed_change",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
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
    )
    op.create_index("ix_missed_change_trace_id", "missed_change", ["trace_id"])
