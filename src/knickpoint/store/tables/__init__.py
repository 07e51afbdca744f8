"""Describe the tables, one module an area; importing this package fills :data:`metadata`."""

from __future__ import annotations

from knickpoint.store.tables import access, announcements, base, bisections, commits, findings, points
from knickpoint.store.tables.base import metadata

__all__ = ["access", "announcements", "base", "bisections", "commits", "findings", "metadata", "points"]
