"""Bisections: what is searched, the probes, what they measured, the log."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata
from knickpoint.store.tables.findings import Real

__all__ = ["bisection", "bisection_line", "planned_probe", "probe", "probe_file"]

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
"""``slots`` are the packed slots of the places, from the good end to the bad end. ``request`` is JSON: levels, budget, pins.

``previous`` and ``slot`` are the suspect range that was found, -1 without one; ``culprits`` is a JSON list of slots.
``posterior`` is packed. ``holder`` is the worker that coordinates it until ``lease``. ``edition`` grows with each change.
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
    PrimaryKeyConstraint("bisection_id", "name"),
    Index("ix_planned_probe_probe_id", "probe_id"),
)
"""Which probes a bisection asked for. ``probe_id`` is 0 until there is a result: one result may serve several bisections."""

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
