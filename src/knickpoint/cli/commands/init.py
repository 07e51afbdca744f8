"""``knick init``: make an instance."""

from __future__ import annotations

import os
from pathlib import Path

import click

from knickpoint.cli.options import read_pairs

__all__ = ["command"]


def _seen_from(directory: str, location: str) -> str:
    """Return ``location``, a path as seen from here or a URL, as the configuration in ``directory`` has to say it."""
    path = Path(location).expanduser()
    if not location or path.is_absolute() or not path.is_dir():
        return location
    return os.path.relpath(path, Path(directory).expanduser())


@click.command("init")
@click.argument("directory", default=".", type=click.Path(file_okay=False))
@click.option("--name", default="", help="What the instance is called; its directory's name without it.")
@click.option(
    "--store",
    default="knickpoint.db",
    show_default=True,
    metavar="LOCATION",
    help="Path of an embedded store, relative to the instance, or postgresql://…",
)
@click.option(
    "--repository",
    "repositories",
    multiple=True,
    metavar="NAME=LOCATION",
    help="A git repository, by path from here or URL; repeatable. Without one, commits are taken from the results.",
)
def command(directory: str, name: str, store: str, repositories: tuple[str, ...]) -> None:
    """Make an instance in DIRECTORY: the file knickpoint.toml and an embedded store."""
    from knickpoint.instance import create_instance

    pairs = read_pairs(repositories, "--repository")
    chosen = {repository: _seen_from(directory, location) for repository, location in pairs.items()}
    with create_instance(directory, name=name, store=store, repositories=chosen) as instance:
        click.echo(f"Made an instance in {instance.directory}. Next: knick import PATH, knick run, knick serve.")
