"""Keep the directions by which findings were judged, so that every process shows them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.migrations.data_changes import note_changes_of

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table; the next run fills it."""
    op.create_table(
        "kept_direction",
        sa.Column("trace_id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("better", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("trace_id", name=op.f("pk_kept_direction")),
    )
    if op.get_bind().dialect.name == "postgresql":
        note_changes_of(["kept_direction"])
