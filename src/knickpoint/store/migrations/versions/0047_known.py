"""Add what a bisection knew after each probe."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

OLDER_PROGRAMS_GO_ON = True


def upgrade() -> None:
    """Add a column; probes of older programs leave it empty."""
    op.add_column("planned_probe", sa.Column("known", sa.LargeBinary(), nullable=True))
