"""Events by consumer with their leases, and the workers that take them."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata

# The transactional outbox: events by consumer, with leases and a dead-letter list.


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


# The workers of an instance and their state.


worker = Table(
    "worker",
    metadata,
    Column("name", exact_text, nullable=False),
    Column("started", Time, nullable=False),
    Column("seen", Time, nullable=False),
    Column("failures", Code, nullable=False),
    Column("failed", Time, nullable=False),
    Column("reason", exact_text, nullable=False),
    Column("parts", exact_text, nullable=False, server_default=""),
    Column("machine", exact_text, nullable=False, server_default=""),
    PrimaryKeyConstraint("name"),
)
"""``failures`` counts the rounds in a row that failed; ``reason`` is the message of the last one, at ``failed``. Where
``failed`` is 0, ``reason`` is why the worker is slower than it could be.

``parts`` are names of parts, separated by commas; ``machine`` is that of
:func:`knickpoint.instance.worker.heartbeat.this_machine`.
"""
