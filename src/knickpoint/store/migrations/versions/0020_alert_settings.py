"""Keep the alerts that run, their kind and severity at each finding, and the repository of each run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns and the table; what is there is work of normal severity."""
    op.add_column("change_point", sa.Column("alert_kind", TEXT, nullable=False, server_default="work"))
    op.add_column("change_point", sa.Column("alert_severity", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("alert_run", sa.Column("repository_id", NUMBER, nullable=False, server_default="0"))
    op.create_table(
        "alert_in_force",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("definition", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_alert_in_force")),
    )
