"""Keep the interval of each size, and the chance of its sign."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.tables.findings import Real

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; they are empty until the next run over the trace."""
    for table in ("change_point", "sighting"):
        for name in ("low", "high", "sign"):
            op.add_column(table, sa.Column(name, Real, nullable=True))
