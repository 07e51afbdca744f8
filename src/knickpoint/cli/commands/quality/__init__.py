"""``knick quality``: measure the alerts by what people decided."""

from __future__ import annotations

from knickpoint.cli.commands.quality import proposals
from knickpoint.cli.commands.quality.command import command

__all__ = ["command", "proposals"]
