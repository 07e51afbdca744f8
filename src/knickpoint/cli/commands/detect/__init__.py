"""``knick detect``: find steps in series from a file or a pipe, without an instance."""

from knickpoint.cli.commands.detect.steps import command

__all__ = ["command"]
