"""Add profiles, their content, and the causes of changes that they show."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.migrations.data_changes import note_changes_of

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

OLDER_PROGRAMS_GO_ON = True

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Make three tables; older programs do not ask for them."""
    op.create_table(
        "profile",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        sa.Column("benchmark", TEXT, nullable=False),
        sa.Column("params", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("format", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("unit", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_profile"),
        sa.UniqueConstraint("repository_id", "identity", name="uq_profile_repository_id_identity"),
    )
    op.create_index("ix_profile_benchmark", "profile", ["repository_id", "benchmark", "slot"])
    op.create_index("ix_profile_digest", "profile", ["digest"])
    op.create_table(
        "profile_content",
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("size", NUMBER, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_profile_content"),
    )
    op.create_table(
        "cause",
        sa.Column("change_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("previous", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("basis", TEXT, nullable=False),
        sa.Column("sentence", TEXT, nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("change_id", name="pk_cause"),
    )
    if op.get_bind().dialect.name == "postgresql":
        note_changes_of(("cause", "profile", "profile_content"))
