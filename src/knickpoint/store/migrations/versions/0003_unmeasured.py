"""Let runs keep results without a value, of benchmarks that were never measured and so have no trace."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the column."""
    op.add_column("run", sa.Column("unmeasured", TEXT, nullable=False, server_default=""))
