"""Keep which parts of an instance a worker runs, and on which machine."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.tables.base import exact_text

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; a worker of an older version reports neither."""
    for name in ("parts", "machine"):
        op.add_column("worker", sa.Column(name, exact_text, nullable=False, server_default=""))
