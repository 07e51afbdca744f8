"""Keep which trace continues which other one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "trace_rename",
        sa.Column("old_id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("new_id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.PrimaryKeyConstraint("old_id", name=op.f("pk_trace_rename")),
        sa.UniqueConstraint("new_id", name=op.f("uq_trace_rename_new_id")),
    )
