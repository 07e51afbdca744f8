"""``knick regressions``: ``knick changes`` restricted to what got worse."""

from __future__ import annotations

from functools import partial

import click

from knickpoint.cli.commands.changes import command as changes

__all__ = ["command"]

command = click.Command(
    "regressions",
    callback=partial(changes.callback, direction="regression") if changes.callback else None,
    params=[option for option in changes.params if option.name != "direction"],
    help="List the change points that got worse: `knick changes --direction regression`.",
)
