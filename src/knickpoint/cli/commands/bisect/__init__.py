"""``knick bisect``: find the commit that made a change, by building and measuring commits between two."""

from knickpoint.cli.commands.bisect.command import command

__all__ = ["command"]
