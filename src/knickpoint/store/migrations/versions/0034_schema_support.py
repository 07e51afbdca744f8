"""Keep which older programs may go on with a store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.tables.base import exact_text

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; each run of migrations writes its row."""
    op.create_table(
        "schema_support",
        sa.Column("revision", exact_text, primary_key=True),
        sa.Column("since", exact_text, nullable=False),
    )
