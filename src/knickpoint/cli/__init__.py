"""The ``knick`` command: thin over the library, one module a command."""

from knickpoint.cli.program import main

__all__ = ["main"]
