"""Tokens, sessions that ended early, the audit log, digests of the configuration, and settings of people."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Number, Time, exact_text, metadata

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
