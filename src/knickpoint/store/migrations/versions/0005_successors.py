"""Keep what rebases and force-pushes made of commits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "commit_successor",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("successor", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "line", "slot", name=op.f("pk_commit_successor")),
    )
