"""Add the alerts that fail, for the messages about them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.tables.base import Number, Time, exact_text

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "problem",
        sa.Column("id", Number, primary_key=True, autoincrement=False),
        sa.Column("alert", exact_text, nullable=False),
        sa.Column("reason", exact_text, nullable=False),
        sa.Column("opened", Time, nullable=False),
        sa.Column("closed", Time, nullable=True),
    )
