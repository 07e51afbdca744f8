"""Bisections, schedules and quarantines: what is searched, measured or held back, and the log."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata
from knickpoint.store.tables.findings import Real

# Bisections: what is searched, the probes, what they measured, the log.


bisection = Table(
    "bisection",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("slots", Blob, nullable=False),
    Column("change_id", Number, nullable=False),
    Column("trace_id", Number, nullable=False),
    Column("trace_key", exact_text, nullable=False),
    Column("recipe", exact_text, nullable=False),
    Column("digest", exact_text, nullable=False),
    Column("request", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("by_rule", Code, nullable=False),
    Column("asked", Time, nullable=False),
    Column("started", Time, nullable=True),
    Column("ended", Time, nullable=True),
    Column("state", exact_text, nullable=False),
    Column("reason", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("culprits", exact_text, nullable=False),
    Column("probability", Real, nullable=False),
    Column("posterior", Blob, nullable=False),
    Column("devices", exact_text, nullable=False),
    Column("left_seconds", Real, nullable=True),
    Column("holder", exact_text, nullable=False),
    Column("lease", Time, nullable=False),
    Column("stopped_by", exact_text, nullable=False),
    Column("edition", Number, nullable=False),
    Index("ix_bisection_change_id", "change_id"),
    Index("ix_bisection_state", "state", "lease"),
)
"""``slots`` are the packed slots of the places, from the good end to the bad end.

``request`` is JSON: levels, budget, pins.

``previous`` and ``slot`` are the suspect range that was found, -1 without one; ``culprits`` is a JSON list of slots.
``posterior`` is packed. ``holder`` is the worker that coordinates it until ``lease``. ``edition`` grows with each
change.
"""

bisection_line = Table(
    "bisection_line",
    metadata,
    Column("bisection_id", Number, nullable=False),
    Column("number", Number, nullable=False),
    Column("time", Time, nullable=False),
    Column("text", exact_text, nullable=False),
    PrimaryKeyConstraint("bisection_id", "number"),
)
"""The log of each bisection, without its oldest lines where it is long."""

planned_probe = Table(
    "planned_probe",
    metadata,
    Column("bisection_id", Number, nullable=False),
    Column("number", Number, nullable=False),
    Column("name", exact_text, nullable=False),
    Column("place", Code, nullable=False),
    Column("device", exact_text, nullable=False),
    Column("purpose", exact_text, nullable=False),
    Column("target", exact_text, nullable=False),
    Column("begun", Time, nullable=False),
    Column("probe_id", Number, nullable=False),
    Column("known", Blob, nullable=True),
    PrimaryKeyConstraint("bisection_id", "name"),
    Index("ix_planned_probe_probe_id", "probe_id"),
)
"""Which probes a bisection asked for.

``probe_id`` is 0 until there is a result: one result may serve several bisections. ``known`` is the packed posterior
after it.
"""

probe = Table(
    "probe",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("identity", exact_text, nullable=False),
    Column("key", exact_text, nullable=False),
    Column("slot", Code, nullable=False),
    Column("device", exact_text, nullable=False),
    Column("outcome", exact_text, nullable=False),
    Column("started", Time, nullable=False),
    Column("seconds", Real, nullable=False),
    Column("measured", exact_text, nullable=False),
    Column("reason", exact_text, nullable=False),
    Column("output", exact_text, nullable=False),
    Column("built", Code, nullable=False),
    Column("waits", Code, nullable=False),
    Index("ix_probe_key", "key"),
    Index("ix_probe_waits", "waits"),
)
"""Probes that ended. ``identity`` is that of the run which their results become; ``key`` that of target and recipe.

``measured`` is JSON: by trace key the value, the samples and the unit. ``waits`` is 1 until the results are imported.
"""

probe_file = Table(
    "probe_file",
    metadata,
    Column("probe_id", Number, nullable=False),
    Column("name", exact_text, nullable=False),
    Column("content", Blob, nullable=False),
    PrimaryKeyConstraint("probe_id", "name"),
)
"""The results files of probes, compressed, until they are imported."""


# What schedules measure: one row for each commit that a schedule chose.


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


# Quarantined results: which runs, why, with which outcome, and calls of hooks about them.


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
"""One row for each run and hook: a hook is called once about a run.

``due`` of a claimed call is the end of its lease.
"""
