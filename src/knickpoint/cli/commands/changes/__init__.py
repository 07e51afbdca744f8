"""``knick changes``: list regressions and improvements, one row a change point."""

from __future__ import annotations

from knickpoint.cli.commands.changes.command import command

__all__ = ["command"]
