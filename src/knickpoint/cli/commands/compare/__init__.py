"""``knick compare``: build two commits, measure them in turns on this machine, and judge what changed."""

from __future__ import annotations

from knickpoint.cli.commands.compare.command import command

__all__ = ["command"]
