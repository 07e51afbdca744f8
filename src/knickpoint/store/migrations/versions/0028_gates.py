"""Make the table of what gates measure."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "gate_probe",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("gate", TEXT, nullable=False),
        sa.Column("commit_hash", TEXT, nullable=False),
        sa.Column("pins", TEXT, nullable=False),
        sa.Column("purpose", TEXT, nullable=False),
        sa.Column("regression_id", NUMBER, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", TEXT, nullable=False),
        sa.Column("due", REAL, nullable=False),
        sa.Column("chosen", REAL, nullable=False),
        sa.Column("ended", REAL, nullable=False),
        sa.Column("device", TEXT, nullable=False),
        sa.Column("seconds", REAL, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gate_probe")),
        sa.UniqueConstraint(
            "repository_id", "gate", "commit_hash", name=op.f("uq_gate_probe_repository_id_gate_commit_hash")
        ),
    )
    op.create_index("ix_gate_probe_state", "gate_probe", ["state", "due"])
