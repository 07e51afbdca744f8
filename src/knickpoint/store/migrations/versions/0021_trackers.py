"""Keep the tickets of trackers, their threads, and how far they were read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.Float(53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "tracker_ticket",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in ("channel", "name", "url", "title")),
        sa.Column("open", sa.Integer(), nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in ("assignee", "fixed")),
        sa.Column("updated", TIME, nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in ("verdict", "checked")),
        sa.PrimaryKeyConstraint("id", name="pk_tracker_ticket"),
        sa.UniqueConstraint("channel", "name", name="uq_tracker_ticket_channel_name"),
    )
    op.create_index("ix_tracker_ticket_name", "tracker_ticket", ["name"])
    op.create_table(
        "tracker_thread",
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("thread", TEXT, nullable=False),
        sa.Column("ticket_id", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("channel", "thread", name="pk_tracker_thread"),
    )
    op.create_table(
        "tracker_cursor",
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("since", TEXT, nullable=False),
        sa.Column("etag", TEXT, nullable=False),
        sa.Column("resume", TIME, nullable=False),
        sa.PrimaryKeyConstraint("channel", name="pk_tracker_cursor"),
    )
