"""``knick restore``: restore an instance from a backup."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("directory", default=".", type=click.Path(file_okay=False, path_type=Path))
def command(file: Path, directory: Path) -> None:
    """Restore an instance into DIRECTORY, where there is none yet, from a FILE of `knick backup`."""
    from knickpoint.instance.backup import restore_instance

    restore_instance(file, directory)
    click.echo(f"Restored the instance into {directory.absolute()}.")
