"""Keep what each change is, as it was stated."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.migrations.data_changes import note_changes_of

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Add the table; the statements of the changes that are there are written when the store is opened."""
    op.create_table(
        "statement",
        sa.Column("change_id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("direction", TEXT, nullable=False),
        sa.Column("condition", TEXT, nullable=False),
        sa.Column("side", TEXT, nullable=False),
        sa.Column("lead", NUMBER, nullable=False),
        sa.Column("severity", REAL, nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_statement")),
    )
    if op.get_bind().dialect.name == "postgresql":
        note_changes_of(["statement"])
