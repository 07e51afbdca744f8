"""Alerts that are defined outside of the configuration: by command and API, and by files of watched repositories."""

from __future__ import annotations

from sqlalchemy import Column, Table

from knickpoint.store.tables.base import Time, exact_text, metadata

__all__ = ["alert_file", "stored_alert"]

stored_alert = Table(
    "stored_alert",
    metadata,
    Column("name", exact_text, primary_key=True),
    Column("definition", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("changed", Time, nullable=False),
)
"""Alerts that people made by command or API: settings as JSON."""

alert_file = Table(
    "alert_file",
    metadata,
    Column("repository", exact_text, primary_key=True),
    Column("path", exact_text, nullable=False),
    Column("rule", exact_text, nullable=False),
    Column("tip", exact_text, nullable=False),
    Column("commit", exact_text, nullable=False),
    Column("definitions", exact_text, nullable=False),
    Column("failure", exact_text, nullable=False),
    Column("failed_at", exact_text, nullable=False),
)
"""What the worker read of the file of alerts of each repository. ``tip`` is the commit that it read last, with the settings
``rule``; ``commit`` is the one that wrote the ``definitions`` that stand (name → settings, as JSON). ``failure`` is why a newer
file at ``failed_at`` cannot be used, "" where it can.
"""
