"""Add what checks of pull requests found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.migrations.data_changes import note_changes_of

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

OLDER_PROGRAMS_GO_ON = True

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Make a table; older programs do not ask for it."""
    op.create_table(
        "pull_request_check",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("head", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("branch", TEXT, nullable=False),
        sa.Column("commits", TEXT, nullable=False),
        sa.Column("time", REAL, nullable=False),
        sa.Column("changes", sa.LargeBinary(), nullable=False),
        sa.Column("environment", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_pull_request_check"),
        sa.UniqueConstraint("repository_id", "head", "digest", name="uq_pull_request_check_repository_id_head_digest"),
    )
    op.create_index("ix_pull_request_check_time", "pull_request_check", ["repository_id", "time"])
    if op.get_bind().dialect.name == "postgresql":
        note_changes_of(("pull_request_check",))
