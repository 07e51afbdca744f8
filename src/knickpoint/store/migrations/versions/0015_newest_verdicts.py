"""Make the table of the verdicts on newest values."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "newest_verdict",
        sa.Column("trace_id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("verdict", TEXT, nullable=False),
        sa.Column("value", REAL, nullable=False),
        *(sa.Column(name, REAL, nullable=True) for name in ("centre", "low", "high", "relative_size", "p_value")),
        sa.Column("judged", REAL, nullable=False),
        sa.PrimaryKeyConstraint("trace_id", name=op.f("pk_newest_verdict")),
    )
