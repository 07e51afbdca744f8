"""Clusters: traces that moved together, as alerts that judge traces together found them."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from knickpoint.store.tables.base import Code, Number, Time, exact_text, metadata
from knickpoint.store.tables.findings import Real

__all__ = ["cluster", "cluster_member"]

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
"""``group_key`` is a JSON list of the values of the params that the alert groups by. ``run`` and ``found`` are those of the
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
