"""Mark the announcements that only those may hear who ask for findings that are not settled."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; what was announced before had settled."""
    op.add_column("announcement", sa.Column("provisional", sa.Integer(), nullable=False, server_default="0"))
