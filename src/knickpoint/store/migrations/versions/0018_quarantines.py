"""Make the tables of quarantined results, and keep with each finding why it is held."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Make the tables, and add the column."""
    op.create_table(
        "quarantine",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        sa.Column("run_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("machine", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("since", TIME, nullable=False),
        sa.Column("until", TIME, nullable=False),
        sa.Column("reasons", TEXT, nullable=False),
        sa.Column("evidence", TEXT, nullable=False),
        sa.Column("traces", sa.Integer(), nullable=False),
        sa.Column("trace_ids", sa.LargeBinary(), nullable=False),
        sa.Column("outcome", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quarantine")),
        sa.UniqueConstraint("repository_id", "identity", name=op.f("uq_quarantine_repository_id_identity")),
    )
    op.create_index("ix_quarantine_state", "quarantine", ["repository_id", "state"])
    op.create_table(
        "withheld_run",
        sa.Column("run_id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("kept", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_withheld_run")),
    )
    op.create_index("ix_withheld_run_slot", "withheld_run", ["repository_id", "slot"])
    op.create_table(
        "hook_call",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        sa.Column("hook", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due", TIME, nullable=False),
        sa.Column("answer", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hook_call")),
        sa.UniqueConstraint("repository_id", "identity", "hook", name=op.f("uq_hook_call_repository_id_identity_hook")),
    )
    op.create_index("ix_hook_call_due", "hook_call", ["state", "due"])
    op.add_column("change_point", sa.Column("held", TEXT, nullable=False, server_default=""))
