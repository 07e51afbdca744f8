"""``knick detect``: find steps in series from a file or a pipe, without an instance."""

from __future__ import annotations

from knickpoint.cli.commands.detect.command import command

__all__ = ["command"]
