"""The delivery ledger, how far announcements are planned, and the signed links that were used."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata

__all__ = ["delivery", "delivery_item", "notification_cursor", "problem", "untaken_chain", "used_link"]

delivery = Table(
    "delivery",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("key", exact_text, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("channel", exact_text, nullable=False),
    Column("address", exact_text, nullable=False),
    Column("person", exact_text, nullable=False),
    Column("repository_id", Number, nullable=False),
    Column("announcements", exact_text, nullable=False),
    Column("thread", exact_text, nullable=False),
    Column("created", Time, nullable=False),
    Column("due", Time, nullable=False),
    Column("state", exact_text, nullable=False),
    Column("holder", exact_text, nullable=False),
    Column("attempts", Code, nullable=False),
    Column("answer", exact_text, nullable=False),
    Column("sent", Time, nullable=True),
    Column("reference", exact_text, nullable=False),
    Column("link", exact_text, nullable=False),
    UniqueConstraint("key"),
    Index("ix_delivery_state_due", "state", "due"),
    Index("ix_delivery_channel_address_thread", "channel", "address", "thread"),
)
"""While a sender holds a delivery, ``holder`` is its name, and ``due`` is when its lease ends."""

delivery_item = Table(
    "delivery_item",
    metadata,
    Column("receiver", exact_text, nullable=False),
    Column("purpose", exact_text, nullable=False),
    Column("announcement_id", Number, nullable=False),
    Column("chain", Number, nullable=False),
    Column("delivery_id", Number, nullable=False),
    PrimaryKeyConstraint("receiver", "purpose", "announcement_id"),
    Index("ix_delivery_item_chain", "chain"),
    Index("ix_delivery_item_delivery_id", "delivery_id"),
)
"""Which announcements a receiver hears of, and in which delivery: the key keeps two alerts from announcing one thing twice."""

notification_cursor = Table(
    "notification_cursor",
    metadata,
    Column("name", exact_text, primary_key=True),
    Column("announcement_id", Number, nullable=False),
)
"""The last announcement that was planned; without a row, notifications are switched off."""

untaken_chain = Table(
    "untaken_chain",
    metadata,
    Column("chain", Number, primary_key=True, autoincrement=False),
    Column("opened", Time, nullable=False),
)
"""Chains of announcements that were sent, and that may still have to be escalated."""

used_link = Table(
    "used_link",
    metadata,
    Column("link", exact_text, primary_key=True),
    Column("time", Time, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("expires", Time, nullable=False),
)
"""Signed links with which a decision was made; a row may go once its link has expired."""

problem = Table(
    "problem",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("alert", exact_text, nullable=False),
    Column("reason", exact_text, nullable=False),
    Column("opened", Time, nullable=False),
    Column("closed", Time, nullable=True),
)
"""Alerts that fail, and that did: each row has the deliveries that open and close it in its transactions."""
