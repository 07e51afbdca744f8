"""``knick explain``: why there is, or is not, a change point in a trace."""

from knickpoint.cli.commands.explain.command import command

__all__ = ["command"]
