"""Remember what alerts judged, why one could not run, and which workers there are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Make two tables, and add a column."""
    op.add_column("alert_run", sa.Column("failure", TEXT, nullable=False, server_default=""))
    op.create_table(
        "judged",
        sa.Column("alert", TEXT, nullable=False),
        sa.Column("chunk", NUMBER, nullable=False),
        sa.Column("digests", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("alert", "chunk", name="pk_judged"),
    )
    op.create_table(
        "worker",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("started", TIME, nullable=False),
        sa.Column("seen", TIME, nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed", TIME, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_worker"),
    )
