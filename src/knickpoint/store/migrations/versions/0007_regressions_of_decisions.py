"""Keep with each decision the regression that the change point was in, so that undoing a merge finds it again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the column; of decisions from before it is not known."""
    op.add_column("decision", sa.Column("regression_id", NUMBER, nullable=False, server_default="0"))
