"""Keep alerts that are defined outside of the configuration."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "stored_alert",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("definition", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("changed", REAL, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_stored_alert")),
    )
    op.create_table(
        "alert_file",
        sa.Column("repository", TEXT, nullable=False),
        *(
            sa.Column(name, TEXT, nullable=False)
            for name in ("path", "rule", "tip", "commit", "definitions", "failure", "failed_at")
        ),
        sa.PrimaryKeyConstraint("repository", name=op.f("pk_alert_file")),
    )
