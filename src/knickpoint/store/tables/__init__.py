"""Describe the tables, one module an area; importing this package fills :data:`metadata`."""

from __future__ import annotations

from knickpoint.store.tables import (
    access,
    alerts,
    announcements,
    base,
    bisections,
    checks,
    commits,
    events,
    findings,
    points,
    profiles,
    traces,
)
from knickpoint.store.tables.base import metadata

__all__ = [
    "access",
    "alerts",
    "announcements",
    "base",
    "bisections",
    "checks",
    "commits",
    "events",
    "findings",
    "metadata",
    "points",
    "profiles",
    "traces",
]
