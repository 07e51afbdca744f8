"""Keep how many commits of the line each interval of location covers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.tables.base import Code

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

OLDER_PROGRAMS_GO_ON = True


def upgrade() -> None:
    """Add the columns; they are 0, as if every commit was measured, until the next run over the trace."""
    for table in ("change_point", "sighting"):
        for name in ("interval_before", "interval_after"):
            op.add_column(table, sa.Column(name, Code, nullable=False, server_default="0"))
