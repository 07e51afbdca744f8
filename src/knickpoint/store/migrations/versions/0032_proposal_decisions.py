"""Keep which proposals to change alerts people accepted and rejected."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.tables.base import Code, Number, Time, exact_text

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "proposal_decision",
        sa.Column("id", Number, primary_key=True, autoincrement=False),
        sa.Column("alert", exact_text, nullable=False),
        sa.Column("kind", exact_text, nullable=False),
        sa.Column("accepted", Code, nullable=False),
        sa.Column("change", exact_text, nullable=False),
        sa.Column("hidden", Number, nullable=False),
        sa.Column("before", exact_text, nullable=False),
        sa.Column("after", exact_text, nullable=False),
        sa.Column("who", exact_text, nullable=False),
        sa.Column("time", Time, nullable=False),
    )
