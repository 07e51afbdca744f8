"""Make the tables of findings: change points, sightings, regressions, decisions, alerts and their runs, tickets."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")


def _column(name: str, kind: Any, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable)


def _id() -> sa.Column[Any]:
    return sa.Column("id", NUMBER, autoincrement=False, nullable=False)


def _region(name: str) -> list[sa.Column[Any]]:
    statistics = ("minimum", "maximum", "median", "mean", "variance")
    return [
        *(_column(f"{name}_{bound}", sa.Integer()) for bound in ("first", "last", "count")),
        *(_column(f"{name}_{statistic}", REAL, nullable=True) for statistic in statistics),
    ]


def _step() -> list[sa.Column[Any]]:
    return [
        _column("line", TEXT),
        *(_column(name, sa.Integer()) for name in ("previous", "slot", "movement", "interval")),
        _column("direction", TEXT),
        _column("condition", TEXT),
        *_region("before"),
        *_region("after"),
        *(_column(name, REAL, nullable=True) for name in ("size", "relative_size", "hazard", "score", "p_value")),
        _column("found_order", sa.Integer()),
        _column("method", TEXT),
    ]


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "change_point",
        _id(),
        _column("repository_id", NUMBER),
        _column("trace_id", NUMBER),
        _column("trace_key", TEXT),
        _column("unit", TEXT),
        *_step(),
        _column("alerts", TEXT),
        _column("anchor_line", TEXT, nullable=True),
        _column("anchor_previous", sa.Integer(), nullable=True),
        _column("anchor_slot", sa.Integer(), nullable=True),
        *(_column(name, TEXT) for name in ("status", "note", "ticket", "assignee", "matched_ticket")),
        *(_column(name, NUMBER) for name in ("apart", "together", "regression_id")),
        _column("found", REAL),
        _column("changed", REAL),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_change_point")),
    )
    op.create_index("ix_change_point_trace_id", "change_point", ["trace_id"])
    op.create_index("ix_change_point_regression_id", "change_point", ["regression_id"])
    op.create_index("ix_change_point_line", "change_point", ["repository_id", "line"])
    op.create_table(
        "sighting",
        _column("change_point_id", NUMBER),
        _column("alert", TEXT),
        _column("repository_id", NUMBER),
        _column("trace_id", NUMBER),
        *_step(),
        sa.PrimaryKeyConstraint("change_point_id", "alert", name=op.f("pk_sighting")),
    )
    op.create_index("ix_sighting_trace_id", "sighting", ["trace_id", "alert"])
    op.create_index("ix_sighting_alert", "sighting", ["alert"])
    op.create_table(
        "regression",
        _id(),
        _column("repository_id", NUMBER),
        _column("line", TEXT),
        _column("previous", sa.Integer()),
        _column("slot", sa.Integer()),
        _column("hazard", REAL),
        _column("traces", sa.Integer()),
        _column("unprocessed", sa.Integer()),
        _column("found", REAL),
        _column("changed", REAL),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_regression")),
    )
    op.create_index("ix_regression_unprocessed", "regression", ["repository_id", "unprocessed"])
    op.create_table(
        "decision",
        _id(),
        _column("change_point_id", NUMBER),
        *(_column(name, TEXT) for name in ("action", "status", "who")),
        _column("time", REAL),
        *(_column(name, TEXT) for name in ("note", "ticket", "assignee")),
        *(_column(name, NUMBER) for name in ("apart", "together", "undoes")),
        _column("line", TEXT),
        _column("previous", sa.Integer()),
        _column("slot", sa.Integer()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
    )
    op.create_index("ix_decision_change_point_id", "decision", ["change_point_id", "id"])
    op.create_table(
        "alert",
        _column("name", TEXT),
        _column("definition", TEXT),
        _column("applied", REAL),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_alert")),
    )
    op.create_table(
        "alert_run",
        _id(),
        _column("run", NUMBER),
        _column("alert", TEXT),
        _column("complete", sa.Integer()),
        _column("started", REAL),
        _column("seconds", REAL),
        *(_column(name, NUMBER) for name in ("traces", "kept", "added", "lost")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_run")),
    )
    op.create_index("ix_alert_run_alert", "alert_run", ["alert", "id"])
    op.create_table(
        "ticket",
        _id(),
        _column("repository_id", NUMBER),
        _column("name", TEXT),
        _column("query", TEXT),
        _column("slot", sa.Integer()),
        _column("url", TEXT),
        _column("open", sa.Integer()),
        _column("changed", REAL),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ticket")),
        sa.UniqueConstraint(
            "repository_id", "name", "slot", "query", name=op.f("uq_ticket_repository_id_name_slot_query")
        ),
    )
