"""Alerts outside of the configuration, changes that no alert found, and decisions about proposals."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata

# Alerts that are defined outside of the configuration: by command and API, and by files of watched repositories.


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
"""What the worker read of the file of alerts of each repository.

``tip`` is the commit that it read last, with the settings ``rule``; ``commit`` is the one that wrote the
``definitions`` that stand (name → settings, as JSON). ``failure`` is why a newer file at ``failed_at`` cannot be used,
"" where it can.
"""


# Missed changes: what people marked in traces, because no alert found it.


missed_change = Table(
    "missed_change",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("trace_id", Number, nullable=False),
    Column("trace_key", exact_text, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("movement", Code, nullable=False),
    Column("note", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("time", Time, nullable=False),
    Index("ix_missed_change_trace_id", "trace_id"),
)
"""The change lies in (previous, slot] of its line.

A row is deleted when a person takes the mark back; the audit log keeps it.
"""


# Proposals to change alerts that people accepted or rejected.


proposal_decision = Table(
    "proposal_decision",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("alert", exact_text, nullable=False),
    Column("kind", exact_text, nullable=False),
    Column("accepted", Code, nullable=False),
    Column("change", exact_text, nullable=False),
    Column("hidden", Number, nullable=False),
    Column("before", exact_text, nullable=False),
    Column("after", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("time", Time, nullable=False),
)
"""``before`` and ``after`` are JSON: name → settings of the alert.

A decision that is taken back is deleted; the audit log keeps it.
"""
