"""Keep a digest of each whole chunk that an alert detected in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the column; without a digest, values are read and compared as before."""
    op.add_column("judged", sa.Column("whole", NUMBER, nullable=True))
