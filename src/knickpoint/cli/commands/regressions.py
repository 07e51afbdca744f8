"""``knick regressions``: ``knick changes`` restricted to regressions and mixed changes."""

from __future__ import annotations

from functools import partial

import click

from knickpoint.cli.commands.changes import command as changes

command = click.Command(
    "regressions",
    callback=partial(changes.callback, directions=("regression", "mixed")) if changes.callback else None,
    params=[option for option in changes.params if option.name != "directions"],
    help="List regressions and mixed changes: `knick changes --direction regression --direction mixed`.",
)
