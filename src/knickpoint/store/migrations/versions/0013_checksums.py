"""Give the rows that hold points and provenance a checksum; rows that are there have none until they are written anew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns."""
    for table in ("hot_tile", "sealed_tile", "segment", "run_part"):
        op.add_column(table, sa.Column("checksum", NUMBER, nullable=True))
