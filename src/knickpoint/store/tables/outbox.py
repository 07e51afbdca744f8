"""The transactional outbox: events by consumer, with leases and a dead-letter list."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata

__all__ = ["consumer", "event"]

consumer = Table(
    "outbox_consumer",
    metadata,
    Column("name", exact_text, nullable=False),
    Column("kind", exact_text, nullable=False),
    PrimaryKeyConstraint("name", "kind"),
)
"""Which consumers get a copy of events of a kind; the consumer ``main`` gets all events and is not listed."""

event = Table(
    "outbox_event",
    metadata,
    Column("id", Number, primary_key=True),
    Column("consumer", exact_text, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("payload", exact_text, nullable=False),
    Column("created", Time, nullable=False),
    Column("due", Time, nullable=False),
    Column("worker", exact_text, nullable=False),
    Column("attempts", Code, nullable=False),
    Column("state", exact_text, nullable=False),
    Column("reason", exact_text, nullable=False),
    Index("ix_outbox_event_due", "consumer", "state", "due"),
    sqlite_autoincrement=True,
)
"""``due`` is when the event may be claimed: its creation, the end of a lease, or the next try."""
