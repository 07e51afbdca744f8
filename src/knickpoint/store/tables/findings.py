"""Findings: change points and their sightings, changes, clusters, the triage log, alerts and their runs, tickets."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import DOUBLE_PRECISION, Column, Float, Index, PrimaryKeyConstraint, Table, UniqueConstraint

from knickpoint.store.tables.base import Blob, Code, Number, Time, exact_text, metadata

# Findings: change points and their sightings, changes, the triage log, alerts and their runs, tickets.
#
# Slots belong to the repository of the row. Whatever lists are filtered or sorted by is a column.


Real = Float(53).with_variant(DOUBLE_PRECISION(), "postgresql")
"""A double; nan is NULL on both databases."""


def _region(name: str) -> list[Column[Any]]:
    return [
        Column(f"{name}_first", Code, nullable=False),
        Column(f"{name}_last", Code, nullable=False),
        Column(f"{name}_count", Code, nullable=False),
        *(
            Column(f"{name}_{statistic}", Real, nullable=True)
            for statistic in ("minimum", "maximum", "median", "mean", "variance")
        ),
    ]


def _step() -> list[Column[Any]]:
    """Return the columns of a step on its line, the same for a change point and for each sighting of it."""
    return [
        Column("line", exact_text, nullable=False),
        Column("previous", Code, nullable=False),
        Column("slot", Code, nullable=False),
        Column("movement", Code, nullable=False),
        Column("interval", Code, nullable=False),
        Column("interval_before", Code, nullable=False, server_default="0"),
        Column("interval_after", Code, nullable=False, server_default="0"),
        Column("direction", exact_text, nullable=False),
        Column("condition", exact_text, nullable=False),
        Column("recovered_at", Code, nullable=False, server_default="-1"),
        Column("kind", exact_text, nullable=False, server_default="step"),
        Column("certainty", exact_text, nullable=False, server_default="settled"),
        Column("found_with", Code, nullable=False, server_default="0"),
        Column("needed", Code, nullable=False, server_default="0"),
        *_region("before"),
        *_region("after"),
        Column("before_level", Real, nullable=True),
        Column("after_level", Real, nullable=True),
        Column("deviation", Real, nullable=True),
        Column("size", Real, nullable=True),
        Column("relative_size", Real, nullable=True),
        Column("hazard", Real, nullable=True),
        Column("score", Real, nullable=True),
        Column("p_value", Real, nullable=True),
        Column("found_order", Code, nullable=False),
        Column("method", exact_text, nullable=False),
        Column("low", Real, nullable=True),
        Column("high", Real, nullable=True),
        Column("sign", Real, nullable=True),
        Column("reference", exact_text, nullable=False, server_default=""),
        Column("over_reference", Real, nullable=True),
    ]


change_point = Table(
    "change_point",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("trace_id", Number, nullable=False),
    Column("trace_key", exact_text, nullable=False),
    Column("unit", exact_text, nullable=False),
    *_step(),
    Column("severity", Real, nullable=False, server_default="0"),
    Column("alerts", exact_text, nullable=False),
    Column("anchor_line", exact_text, nullable=True),
    Column("anchor_previous", Code, nullable=True),
    Column("anchor_slot", Code, nullable=True),
    Column("status", exact_text, nullable=False),
    Column("note", exact_text, nullable=False),
    Column("ticket", exact_text, nullable=False),
    Column("assignee", exact_text, nullable=False),
    Column("matched_ticket", exact_text, nullable=False),
    Column("apart", Number, nullable=False),
    Column("together", Number, nullable=False),
    Column("change_id", Number, nullable=False),
    Column("found", Time, nullable=False),
    Column("changed", Time, nullable=False),
    Column("announced", Number, nullable=False, server_default="0"),
    Column("absent_since", Code, nullable=False, server_default="-1"),
    Column("held", exact_text, nullable=False, server_default=""),
    Column("alert_kind", exact_text, nullable=False, server_default="work"),
    Column("alert_severity", Code, nullable=False, server_default="1"),
    Index("ix_change_point_announced", "repository_id", "announced"),
    Index("ix_change_point_trace_id", "trace_id"),
    Index("ix_change_point_change_id", "change_id"),
    Index("ix_change_point_line", "repository_id", "line"),
)
"""``anchor_*`` is the suspect range at the last decision about the trace, NULL before the first one.

``announced`` is the chain of announcements that the point belongs to: 0 for none yet, -1 where it was history once and
is never announced. ``absent_since`` is the newest measured commit of the trace when the point was first found to be
gone, -2 where no alert watches it any more. ``held`` is why results at its place are quarantined, "" where none are.

``severity`` is the sort key of lists: :func:`knickpoint.model.change_point.severity_of`. ``alert_kind`` and
``alert_severity`` (0 for low, 1 for normal, 2 for high) come from the settings of the alerts, and change with them.
"""

sighting = Table(
    "sighting",
    metadata,
    Column("change_point_id", Number, nullable=False),
    Column("alert", exact_text, nullable=False),
    Column("repository_id", Number, nullable=False),
    Column("trace_id", Number, nullable=False),
    *_step(),
    PrimaryKeyConstraint("change_point_id", "alert"),
    Index("ix_sighting_trace_id", "trace_id", "alert"),
    Index("ix_sighting_alert", "alert"),
)

change = Table(
    "change",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("hazard", Real, nullable=False),
    Column("traces", Code, nullable=False),
    Column("unprocessed", Code, nullable=False),
    Column("history", Code, nullable=False, server_default="0"),
    Column("found", Time, nullable=False),
    Column("changed", Time, nullable=False),
    Index("ix_change_unprocessed", "repository_id", "unprocessed"),
)
"""``traces`` and ``unprocessed`` count live members; a change without live members is gone.

``history`` is 1 where the change lies at or before the history boundary of its line.
"""

statement = Table(
    "statement",
    metadata,
    Column("change_id", Number, primary_key=True, autoincrement=False),
    Column("direction", exact_text, nullable=False),
    Column("condition", exact_text, nullable=False),
    Column("side", exact_text, nullable=False),
    Column("lead", Number, nullable=False),
    Column("severity", Real, nullable=False),
    Column("body", exact_text, nullable=False),
)
"""What each change is: :class:`knickpoint.model.statement.Statement`, written with whatever it depends on.

``direction`` to ``severity`` are columns because lists filter and sort by them; ``body`` is JSON with the rest.
"""

STATEMENTS_OF_CHANGES: Final = "statements of changes"
STATEMENTS_OF_POINTS: Final = "statements of the changes of change points"
"""What :meth:`knickpoint.store.database.Database.later` is asked for by whoever writes what a statement depends on."""

suspects = Table(
    "suspects",
    metadata,
    Column("change_id", Number, primary_key=True, autoincrement=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("traces", Code, nullable=False),
    Column("settled", Code, nullable=False),
    Column("body", exact_text, nullable=False),
    Column("bisection", Number, nullable=False, server_default="0"),
)
"""The ranked suspects of each change. ``line`` to ``settled`` are what they were ranked for; if the change differs,
they are ranked again. ``body`` is JSON. ``bisection`` is the id of the bisection whose answer leads, 0 for none.
"""

boundary = Table(
    "history_boundary",
    metadata,
    Column("repository_id", Number, nullable=False),
    Column("slot", Code, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("changed", Time, nullable=False),
    PrimaryKeyConstraint("repository_id", "slot"),
)
"""The last commits of a repository that are history, one row each; a single row with slot -1 where nothing is."""

decision = Table(
    "decision",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("change_point_id", Number, nullable=False),
    Column("action", exact_text, nullable=False),
    Column("status", exact_text, nullable=False),
    Column("who", exact_text, nullable=False),
    Column("time", Time, nullable=False),
    Column("note", exact_text, nullable=False),
    Column("ticket", exact_text, nullable=False),
    Column("assignee", exact_text, nullable=False),
    Column("apart", Number, nullable=False),
    Column("together", Number, nullable=False),
    Column("undoes", Number, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("change_id", Number, nullable=False, server_default="0"),
    Index("ix_decision_change_point_id", "change_point_id", "id"),
)
"""The triage log: rows are added, never changed. Each row holds the whole state of its change point after it.

``change_id`` is the change of the point before the entry, or the one that an undo returns it to; 0 in rows of
older versions.
"""

bystander = Table(
    "bystander",
    metadata,
    Column("decision_id", Number, nullable=False),
    Column("change_point_id", Number, nullable=False),
    Column("change_id", Number, nullable=False),
    PrimaryKeyConstraint("decision_id", "change_point_id"),
)
"""The change that a change point was in before a split or merge of others moved it, by the number of the act."""

alert = Table(
    "alert",
    metadata,
    Column("name", exact_text, primary_key=True),
    Column("definition", exact_text, nullable=False),
    Column("applied", Time, nullable=False),
)

alert_in_force = Table(
    "alert_in_force",
    metadata,
    Column("name", exact_text, primary_key=True),
    Column("definition", exact_text, nullable=False),
)
"""The alerts that run, wherever they were defined: name, and settings as JSON."""

alert_run = Table(
    "alert_run",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("run", Number, nullable=False),
    Column("alert", exact_text, nullable=False),
    Column("repository_id", Number, nullable=False, server_default="0"),
    Column("complete", Code, nullable=False),
    Column("started", Time, nullable=False),
    Column("seconds", Real, nullable=False),
    Column("traces", Number, nullable=False),
    Column("kept", Number, nullable=False),
    Column("added", Number, nullable=False),
    Column("lost", Number, nullable=False),
    Column("failure", exact_text, nullable=False, server_default=""),
    Index("ix_alert_run_alert", "alert", "id"),
)
"""One row per alert, repository and run: how many traces it ran over, and how many sightings stayed, came and went.

``failure`` is the reason why the alert could not run, "" where it could. ``repository_id`` is 0 in rows of older
versions.
"""

judged = Table(
    "judged",
    metadata,
    Column("alert", exact_text, nullable=False),
    Column("chunk", Number, nullable=False),
    Column("digests", Blob, nullable=False),
    Column("whole", Number, nullable=True),
    PrimaryKeyConstraint("alert", "chunk"),
)
"""What an alert last detected in: a digest for each of the 1024 traces of a chunk, 0 for none.

``whole`` is a digest of the whole chunk at the last run over everything, null where there was none.
"""

ticket = Table(
    "ticket",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("name", exact_text, nullable=False),
    Column("query", exact_text, nullable=False),
    Column("slot", Code, nullable=False),
    Column("url", exact_text, nullable=False),
    Column("open", Code, nullable=False),
    Column("changed", Time, nullable=False),
    UniqueConstraint("repository_id", "name", "slot", "query"),
)
"""Tickets of an issue tracker: the traces (as a query) and the commit that they are about."""


# Clusters: traces that moved together, as alerts that judge traces together found them.


cluster = Table(
    "cluster",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("repository_id", Number, nullable=False),
    Column("alert", exact_text, nullable=False),
    Column("group_key", exact_text, nullable=False),
    Column("line", exact_text, nullable=False),
    Column("previous", Code, nullable=False),
    Column("slot", Code, nullable=False),
    Column("movement", Code, nullable=False),
    Column("regression", Real, nullable=False),
    Column("gone", Code, nullable=False),
    Column("run", Number, nullable=False),
    Column("found", Time, nullable=False),
    Column("body", exact_text, nullable=False),
    Index("ix_cluster_alert", "repository_id", "alert", "group_key"),
)
"""``group_key`` is a JSON list of the values of the params that the alert groups by.

``run`` and ``found`` are those of the
first run that found it. ``body`` is JSON: the centroid, its commits, what members have in common.
"""

cluster_member = Table(
    "cluster_member",
    metadata,
    Column("cluster_id", Number, nullable=False),
    Column("trace_id", Number, nullable=False),
    Column("trace_key", exact_text, nullable=False),
    Column("state", exact_text, nullable=False),
    Column("rank", Code, nullable=False),
    Column("distance", Real, nullable=False),
    Column("run", Number, nullable=False),
    Column("since", Time, nullable=False),
    Column("point_id", Number, nullable=False),
    Column("body", exact_text, nullable=False),
    PrimaryKeyConstraint("cluster_id", "trace_id"),
    Index("ix_cluster_member_trace_id", "trace_id"),
    Index("ix_cluster_member_point_id", "point_id"),
)
"""``run`` and ``since`` say since when the trace is in its ``state``. ``body`` is JSON: the verdict on it."""
