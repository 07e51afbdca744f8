"""Add what people set for themselves in the dashboard."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.tables.base import Time, exact_text

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "person_setting",
        sa.Column("provider", exact_text, nullable=False),
        sa.Column("person", exact_text, nullable=False),
        sa.Column("name", exact_text, nullable=False),
        sa.Column("value", exact_text, nullable=False),
        sa.Column("changed", Time, nullable=False),
        sa.PrimaryKeyConstraint("provider", "person", "name"),
    )
