"""``knick check``: judge new results against the history, and say so where a pull request shows it."""

from __future__ import annotations

from knickpoint.cli.commands.check.command import command

__all__ = ["command"]
