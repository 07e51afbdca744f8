"""Describe the tables, one module an area; importing this package fills :data:`metadata`."""

from __future__ import annotations

from knickpoint.store.tables import (
    access,
    alerts,
    announcements,
    bisections,
    clusters,
    commits,
    findings,
    gates,
    ledger,
    missed,
    notifications,
    outbox,
    people,
    proposals,
    quarantines,
    runs,
    shortcuts,
    tiles,
    traces,
    trackers,
    workers,
)
from knickpoint.store.tables.base import metadata

__all__ = [
    "access",
    "alerts",
    "announcements",
    "bisections",
    "clusters",
    "commits",
    "findings",
    "gates",
    "ledger",
    "metadata",
    "missed",
    "notifications",
    "outbox",
    "people",
    "proposals",
    "quarantines",
    "runs",
    "shortcuts",
    "tiles",
    "traces",
    "trackers",
    "workers",
]
