"""``knick init``: make an instance."""

from __future__ import annotations

import click

from knickpoint.cli.options import read_pairs

__all__ = ["command"]


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
    help="A git repository by path or URL; repeatable. Without one, commits are taken from the results.",
)
def command(directory: str, name: str, store: str, repositories: tuple[str, ...]) -> None:
    """Make an instance in DIRECTORY: the file knickpoint.toml and an embedded store."""
    from knickpoint.instance import create_instance

    chosen = read_pairs(repositories, "--repository")
    with create_instance(directory, name=name, store=store, repositories=chosen) as instance:
        click.echo(f"Made an instance in {instance.directory}. Next: knick import PATH, knick run, knick serve.")
