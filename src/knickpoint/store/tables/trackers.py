"""Tickets of trackers: what each tracker last said about them, the threads that they belong to, how far they were read."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata

__all__ = ["tracker_cursor", "tracker_thread", "tracker_ticket"]

tracker_ticket = Table(
    "tracker_ticket",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("channel", exact_text, nullable=False),
    Column("name", exact_text, nullable=False),
    Column("url", exact_text, nullable=False),
    Column("title", exact_text, nullable=False),
    Column("open", Code, nullable=False),
    Column("assignee", exact_text, nullable=False),
    Column("fixed", exact_text, nullable=False),
    Column("updated", Time, nullable=False),
    Column("verdict", exact_text, nullable=False),
    Column("checked", exact_text, nullable=False),
    UniqueConstraint("channel", "name"),
    Index("ix_tracker_ticket_name", "name"),
)
"""``updated`` is the tracker's time, 0 where it is unknown."""

tracker_thread = Table(
    "tracker_thread",
    metadata,
    Column("channel", exact_text, nullable=False),
    Column("thread", exact_text, nullable=False),
    Column("ticket_id", Number, nullable=False),
    PrimaryKeyConstraint("channel", "thread"),
)
"""Which ticket the messages of a thread go to. ``R12`` is the thread of a change."""

tracker_cursor = Table(
    "tracker_cursor",
    metadata,
    Column("channel", exact_text, nullable=False, primary_key=True),
    Column("since", exact_text, nullable=False),
    Column("etag", exact_text, nullable=False),
    Column("resume", Time, nullable=False),
)
"""How far the tickets of a channel were read. ``resume`` is when the tracker may be asked again."""
