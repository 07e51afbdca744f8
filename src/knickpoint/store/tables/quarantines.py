"""Quarantined results: which runs, why, with which outcome, and calls of hooks about them."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata

__all__ = ["hook_call", "quarantine", "withheld_run"]

quarantine = Table(
    "quarantine",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("identity", exact_text, nullable=False),
    Column("run_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("machine", exact_text, nullable=False),
    Column("state", exact_text, nullable=False),
    Column("since", Time, nullable=False),
    Column("until", Time, nullable=False),
    Column("reasons", exact_text, nullable=False),
    Column("evidence", exact_text, nullable=False),
    Column("traces", Code, nullable=False),
    Column("trace_ids", Blob, nullable=False),
    Column("outcome", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    UniqueConstraint("repository_id", "identity"),
    Index("ix_quarantine_state", "repository_id", "state"),
)
"""``reasons`` are the moves of canaries and the changes of facts, in JSON; ``trace_ids`` the packed ids of the traces.

``evidence`` stands for the content of the run: a person who lifts a quarantine lifts it for this content.
"""

withheld_run = Table(
    "withheld_run",
    metadata,
    Column("run_id", Number, nullable=False, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("kept", Blob, nullable=False),
    PrimaryKeyConstraint("run_id"),
    Index("ix_withheld_run_slot", "repository_id", "slot"),
)
"""Runs whose values are in no point; ``kept`` are the packed ids of the traces that keep theirs, which are canaries."""

hook_call = Table(
    "hook_call",
    metadata,
    Column("id", Number, primary_key=True),
    Column("repository_id", Number, nullable=False),
    Column("identity", exact_text, nullable=False),
    Column("hook", exact_text, nullable=False),
    Column("state", exact_text, nullable=False),
    Column("attempts", Code, nullable=False),
    Column("due", Time, nullable=False),
    Column("answer", exact_text, nullable=False),
    UniqueConstraint("repository_id", "identity", "hook"),
    Index("ix_hook_call_due", "state", "due"),
)
"""One row for each run and hook: a hook is called once about a run. ``due`` of a claimed call is the end of its lease."""
