"""``knick init``: create an instance."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from knickpoint.cli.options import read_pairs
from knickpoint.cli.verbosity import note
from knickpoint.model.errors import InputError

__all__ = ["command"]


def _seen_from(directory: str, location: str) -> str:
    """Return ``location``, a URL or a path relative to here, for the configuration in ``directory``."""
    path = Path(location).expanduser()
    if not location or path.is_absolute() or not path.is_dir():
        return location
    return os.path.relpath(path, Path(directory).expanduser())


def _offered_repository(directory: str) -> dict[str, str]:
    """Return name → location of the repository that contains the instance; {} if there is none, or the user declines.

    At a terminal, the command asks, and offers the repository of the current directory also to an instance elsewhere.
    """
    from knickpoint.history import find_work_tree
    from knickpoint.instance.work_tree import repository_around

    target = Path(directory).expanduser().resolve()
    asks = sys.stdin.isatty() and sys.stdout.isatty()
    top = find_work_tree(target) or (find_work_tree(Path.cwd()) if asks else None)
    if top is None:
        return {}
    found = repository_around(top, target)
    question = f"Take the commits from the git repository {' '.join(found)} ({top})?"
    return found if not asks or click.confirm(question, default=True) else {}


@click.command("init")
@click.argument("directory", default=".", type=click.Path(file_okay=False))
@click.option("--name", default="", help="The name of the instance. Default: the name of its directory.")
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
    help="A git repository, by path from here or URL; repeatable. Default: the repository that contains DIRECTORY.",
)
@click.option(
    "--no-repository",
    is_flag=True,
    help="Do not use the repository that contains DIRECTORY; take commits from the results.",
)
@click.option(
    "--as-work",
    is_flag=True,
    help="Findings of the first run over a repository are to be triaged; they are not history.",
)
def command(
    directory: str, name: str, store: str, repositories: tuple[str, ...], *, no_repository: bool, as_work: bool
) -> None:
    """Create an instance in DIRECTORY: the file knickpoint.toml and an embedded store.

    Inside the work tree of a git repository, commits come from that repository; at a terminal, the command asks first.
    """
    from knickpoint.instance import create_instance

    pairs = read_pairs(repositories, "--repository")
    if pairs and no_repository:
        raise InputError(
            "a repository is named and left out", where="--no-repository", remedy="Give one of the two options."
        )
    offered = {} if pairs or no_repository else _offered_repository(directory)
    chosen = offered or {repository: _seen_from(directory, location) for repository, location in pairs.items()}
    with create_instance(directory, name=name, store=store, repositories=chosen, as_work=as_work) as instance:
        for repository, location in offered.items():
            note(
                f"Commits come from the git repository {repository} ({location}), and results without a commit take"
                " its HEAD; --no-repository leaves it out."
            )
        note(f"Made an instance in {instance.directory}. Next: knick import PATH, knick run, knick serve.")
