"""Call what chooses the commits to be measured a schedule, in its table too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from knickpoint.store.migrations.data_changes import note_changes_of

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Move the rows into a table of the new name: SQLite cannot rename constraints."""
    op.create_table(
        "scheduled_probe",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("schedule", TEXT, nullable=False),
        sa.Column("commit_hash", TEXT, nullable=False),
        sa.Column("pins", TEXT, nullable=False),
        sa.Column("purpose", TEXT, nullable=False),
        sa.Column("change_id", NUMBER, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", TEXT, nullable=False),
        sa.Column("due", REAL, nullable=False),
        sa.Column("chosen", REAL, nullable=False),
        sa.Column("ended", REAL, nullable=False),
        sa.Column("device", TEXT, nullable=False),
        sa.Column("seconds", REAL, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scheduled_probe")),
        sa.UniqueConstraint(
            "repository_id",
            "schedule",
            "commit_hash",
            name=op.f("uq_scheduled_probe_repository_id_schedule_commit_hash"),
        ),
    )
    op.execute("INSERT INTO scheduled_probe SELECT * FROM gate_probe")
    op.drop_table("gate_probe")
    op.create_index("ix_scheduled_probe_state", "scheduled_probe", ["state", "due"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "SELECT setval(pg_get_serial_sequence('scheduled_probe', 'id'), max(id)) FROM scheduled_probe"
        )  # of no row it is NULL, which leaves the sequence at its beginning
        note_changes_of(["scheduled_probe"])
