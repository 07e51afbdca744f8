"""Keep which commit brought the level before a change back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.tables.base import Code

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

OLDER_PROGRAMS_GO_ON = True


def upgrade() -> None:
    """Add the columns; they are -1 for none until the next run over the trace."""
    for table in ("change_point", "sighting"):
        op.add_column(table, sa.Column("recovered_at", Code, nullable=False, server_default="-1"))
