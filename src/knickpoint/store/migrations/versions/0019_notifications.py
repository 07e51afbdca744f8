"""Make the delivery ledger. What was announced before is never sent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "delivery",
        sa.Column("id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("address", TEXT, nullable=False),
        sa.Column("person", TEXT, nullable=False),
        sa.Column("repository_id", NUMBER, nullable=False),
        sa.Column("announcements", TEXT, nullable=False),
        sa.Column("thread", TEXT, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("due", TIME, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("holder", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("answer", TEXT, nullable=False),
        sa.Column("sent", TIME, nullable=True),
        sa.Column("reference", TEXT, nullable=False),
        sa.Column("link", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint("key", name=op.f("uq_delivery_key")),
    )
    op.create_index("ix_delivery_state_due", "delivery", ["state", "due"])
    op.create_index("ix_delivery_channel_address_thread", "delivery", ["channel", "address", "thread"])
    op.create_table(
        "delivery_item",
        sa.Column("receiver", TEXT, nullable=False),
        sa.Column("purpose", TEXT, nullable=False),
        sa.Column("announcement_id", NUMBER, nullable=False),
        sa.Column("chain", NUMBER, nullable=False),
        sa.Column("delivery_id", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("receiver", "purpose", "announcement_id", name=op.f("pk_delivery_item")),
    )
    op.create_index("ix_delivery_item_chain", "delivery_item", ["chain"])
    op.create_index("ix_delivery_item_delivery_id", "delivery_item", ["delivery_id"])
    op.create_table(
        "notification_cursor",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("announcement_id", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_notification_cursor")),
    )
    op.create_table(
        "untaken_chain",
        sa.Column("chain", NUMBER, nullable=False, autoincrement=False),
        sa.Column("opened", TIME, nullable=False),
        sa.PrimaryKeyConstraint("chain", name=op.f("pk_untaken_chain")),
    )
    op.create_table(
        "used_link",
        sa.Column("link", TEXT, nullable=False),
        sa.Column("time", TIME, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("expires", TIME, nullable=False),
        sa.PrimaryKeyConstraint("link", name=op.f("pk_used_link")),
    )
