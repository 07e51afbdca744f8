"""Keep the tags of repositories, and what each drift was compared with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.tables.base import Code, Number, exact_text
from knickpoint.store.tables.findings import Real

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, filled when git is read, and add the columns, which are empty until the next run over a trace."""
    op.create_table(
        "release_",
        sa.Column("repository_id", Number, nullable=False),
        sa.Column("name", exact_text, nullable=False),
        sa.Column("hash", exact_text, nullable=False),
        sa.Column("slot", Code, nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "name"),
    )
    for table in ("change_point", "sighting"):
        op.add_column(table, sa.Column("reference", exact_text, nullable=False, server_default=""))
        op.add_column(table, sa.Column("over_reference", Real, nullable=True))
