"""Keep which regressions the findings beside a split or merge were in, so that undoing it finds them again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table; for splits and merges from before, it stays empty."""
    op.create_table(
        "bystander",
        sa.Column("decision_id", NUMBER, nullable=False),
        sa.Column("change_point_id", NUMBER, nullable=False),
        sa.Column("regression_id", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("decision_id", "change_point_id", name=op.f("pk_bystander")),
    )
