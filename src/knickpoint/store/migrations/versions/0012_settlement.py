"""Keep of findings which kind they are, and whether they are settled.

What was found before counts as settled until an alert judges the trace again, which the next run of each alert does: its
settings have grown, so its digests differ.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns."""
    for table in ("change_point", "sighting"):
        op.add_column(table, sa.Column("kind", TEXT, nullable=False, server_default="step"))
        op.add_column(table, sa.Column("certainty", TEXT, nullable=False, server_default="settled"))
        op.add_column(table, sa.Column("found_with", sa.Integer(), nullable=False, server_default="0"))
        op.add_column(table, sa.Column("needed", sa.Integer(), nullable=False, server_default="0"))
