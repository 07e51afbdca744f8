"""Keep up to which commits findings are history; in repositories that alerts ran over before, nothing is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Add the column, make the table, and say of repositories that had a run that nothing of them is history."""
    op.add_column("regression", sa.Column("history", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "history_boundary",
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("changed", TIME, nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "slot", name=op.f("pk_history_boundary")),
    )
    # A repository had a run where something was found, or where its first results are older than the last run.
    op.execute(
        """
        INSERT INTO history_boundary (repository_id, slot, who, changed)
        SELECT repository.id, -1, '', COALESCE((SELECT MAX(started) FROM alert_run), 0)
        FROM repository
        WHERE EXISTS (SELECT 1 FROM change_point WHERE change_point.repository_id = repository.id)
           OR (SELECT MIN(created) FROM run WHERE run.repository_id = repository.id)
              <= (SELECT MAX(started) FROM alert_run WHERE complete = 1)
        """
    )
