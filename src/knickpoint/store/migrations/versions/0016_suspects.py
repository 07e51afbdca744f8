"""Keep the suspects of each regression. Those of a store of before are ranked by the next run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "suspects",
        sa.Column("regression_id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("traces", sa.Integer(), nullable=False),
        sa.Column("settled", sa.Integer(), nullable=False),
        sa.Column("body", TEXT, nullable=False),
    )
