"""What schedules measure: one row for each commit that a schedule chose."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, UniqueConstraint

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata

__all__ = ["scheduled_probe"]

scheduled_probe = Table(
    "scheduled_probe",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("schedule", exact_text, nullable=False),
    Column("commit_hash", exact_text, nullable=False),
    Column("pins", exact_text, nullable=False),
    Column("purpose", exact_text, nullable=False),
    Column("change_id", Number, nullable=False),
    Column("state", exact_text, nullable=False),
    Column("attempts", Code, nullable=False),
    Column("worker", exact_text, nullable=False),
    Column("due", Time, nullable=False),
    Column("chosen", Time, nullable=False),
    Column("ended", Time, nullable=False),
    Column("device", exact_text, nullable=False),
    Column("seconds", Time, nullable=False),
    Column("reason", exact_text, nullable=False),
    UniqueConstraint("repository_id", "schedule", "commit_hash"),
    Index("ix_scheduled_probe_state", "state", "due"),
)
"""A schedule measures a commit once. ``due`` of a probe that runs is the end of the lease of its worker.

``pins`` are the commits of the other repositories, in JSON; ``change_id`` is the change whose range it fills, else 0.
``ended`` is 0 until it ended. ``seconds`` is what it took of the time of a device.
"""
