"""``knick backup`` and ``restore``: the whole instance in one file, and an instance from it."""

from __future__ import annotations

from pathlib import Path

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.terminal import note


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@instance_option
def backup(file: Path, instance: str | None) -> None:
    """Copy the whole instance, configuration and store, into FILE while it is in use.

    Secrets in knickpoint.toml are left out, with variables in their place, and the key that signs sessions.
    """
    from knickpoint.instance.backup import backup_instance

    with open_chosen_instance(instance) as opened:
        variables = backup_instance(opened, file)
    note(f"Wrote {file} ({file.stat().st_size:,} bytes).")
    if variables:
        note(f"It contains no secrets. To restore it, set the environment variables {', '.join(variables)}.")


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("directory", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--store",
    default="",
    metavar="LOCATION",
    help="Where to create the store: a path relative to DIRECTORY, or postgresql://…. Default: where the configuration "
    "in the backup says.",
)
@click.option(
    "--keep-tokens",
    is_flag=True,
    help="Accept the tokens of the backup again, also those that were revoked after it was made.",
)
@click.option(
    "--outside", is_flag=True, help="Create the store outside of DIRECTORY if the configuration in the backup says so."
)
def restore(file: Path, directory: Path, *, store: str, keep_tokens: bool, outside: bool) -> None:
    """Restore an instance into DIRECTORY, where there is none yet, from a FILE of `knick backup`.

    The restored instance has revoked all tokens and ended all sessions, because the backup does not know later
    revocations.
    """
    from knickpoint.instance.backup import restore_instance

    unset = restore_instance(file, directory, store=store, keep_tokens=keep_tokens, outside=outside)
    note(f"Restored the instance into {directory.absolute()}.")
    if not keep_tokens:
        note("Its tokens are revoked: knick tokens create makes new ones.")
    if unset:
        note(f"It needs the environment variables {', '.join(unset)}: set them before you use it.")
