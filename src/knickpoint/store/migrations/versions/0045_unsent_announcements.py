"""Let the ledger say why nobody is told of an announcement."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

OLDER_PROGRAMS_GO_ON = True


def upgrade() -> None:
    """Add the reason, empty for all announcements so far."""
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("announcement", sa.Column("unsent", text, server_default="", nullable=False))
