"""``knick backup``: the whole instance in one file."""

from __future__ import annotations

from pathlib import Path

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.terminal import note


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@instance_option
def command(file: Path, instance: str | None) -> None:
    """Copy the whole instance, configuration and store, into FILE while it is in use.

    Secrets in knickpoint.toml are left out, with variables in their place, and the key that signs sessions.
    """
    from knickpoint.instance.backup import backup_instance

    with open_chosen_instance(instance) as opened:
        variables = backup_instance(opened, file)
    note(f"Wrote {file} ({file.stat().st_size:,} bytes).")
    if variables:
        note(f"It contains no secrets. To restore it, set the environment variables {', '.join(variables)}.")
