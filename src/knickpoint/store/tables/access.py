"""What an instance keeps of itself: tokens, sessions, the audit log, settings; events and workers; checks."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata

# Tokens for machines, sessions that ended early, the audit log, and digests of the configuration.


token = Table(
    "token",
    metadata,
    Column("name", exact_text, nullable=False),
    Column("digest", exact_text, nullable=False),
    Column("scopes", exact_text, nullable=False),
    Column("repositories", exact_text, nullable=False),
    Column("created", Time, nullable=False),
    Column("created_by", exact_text, nullable=False),
    Column("expires", Time),
    Column("last_used", Time),
    Column("revoked", Time),
    PrimaryKeyConstraint("name"),
    UniqueConstraint("digest"),
)
"""``digest`` is the SHA-256 of the secret, in hex. ``scopes`` and ``repositories`` are JSON lists."""

ended_session = Table(
    "ended_session",
    metadata,
    Column("id", exact_text, nullable=False),
    Column("ended", Time, nullable=False),
    Column("until", Time, nullable=False),
    PrimaryKeyConstraint("id"),
)
"""Sessions that ended before their cookie expires, at ``until``.

The id "" ends all sessions that began before ``ended``.
"""

audit_entry = Table(
    "audit_entry",
    metadata,
    Column("id", Number, primary_key=True),
    Column("time", Time, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("about", exact_text, nullable=False),
    Column("address", exact_text, nullable=False),
    Index("ix_audit_entry_time", "time"),
    sqlite_autoincrement=True,
)
"""Triggers refuse every UPDATE, and the DELETE of entries that ``audit_retention`` does not release."""

audit_retention = Table("audit_retention", metadata, Column("before", Time, nullable=False))
"""At most one row: entries older than ``before`` may be deleted; without it, none may."""

configuration_digest = Table(
    "configuration_digest",
    metadata,
    Column("section", exact_text, nullable=False),
    Column("digest", exact_text, nullable=False),
    PrimaryKeyConstraint("section"),
)
"""A salted digest of each section of the configuration file that was last used; the row "" holds the salt."""


# What people set for themselves.


person_setting = Table(
    "person_setting",
    metadata,
    Column("provider", exact_text, nullable=False),
    Column("person", exact_text, nullable=False),
    Column("name", exact_text, nullable=False),
    Column("value", exact_text, nullable=False),
    Column("changed", Time, nullable=False),
    PrimaryKeyConstraint("provider", "person", "name"),
)
"""``provider`` and ``person`` are those of the sign-in; ``value`` is a text that only the dashboard reads."""


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


pull_request_check = Table(
    "pull_request_check",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("head", exact_text, nullable=False),
    Column("digest", exact_text, nullable=False),
    Column("branch", exact_text, nullable=False),
    Column("commits", exact_text, nullable=False),
    Column("time", Time, nullable=False),
    Column("changes", Blob, nullable=False),
    Column("environment", exact_text, nullable=False),
    UniqueConstraint("repository_id", "head", "digest"),
    Index("ix_pull_request_check_time", "repository_id", "time"),
)
"""``changes`` are packed ids of traces, their changes, and which are flagged; ``digest`` is that of the changes, so that
results that are judged twice count once.
"""
