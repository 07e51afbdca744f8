"""``knick quality``: measure the alerts by what people decided."""

from __future__ import annotations

from knickpoint.cli.commands.quality import corpus, proposals  # each adds its commands to the group
from knickpoint.cli.commands.quality.command import command

__all__ = ["command", "corpus", "proposals"]
