"""``knick init``, ``move-in``, ``backup`` and ``restore``: make an instance, empty or not, and copy one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import click

from knickpoint.cli.exit_codes import FAILED
from knickpoint.cli.options import instance_option, open_chosen_instance, read_pairs
from knickpoint.cli.output import Column, OutputFormat, format_option, show
from knickpoint.cli.terminal import Progress, note
from knickpoint.model.errors import ConfigError, HistoryError, InputError
from knickpoint.model.plain_text import without_secrets

_REMEDY: Final = (
    "Give the path of a git repository from here, or a URL such as https://example.org/mylib.git. Without git, leave "
    "--repository out: commits then come from the results."
)


def _seen_from(directory: str, location: str) -> str:
    """Return ``location``, a URL or a path relative to here, for the configuration in ``directory``."""
    path = Path(location).expanduser()
    if not location or path.is_absolute() or not path.is_dir():
        return location
    return os.path.relpath(path, Path(directory).expanduser())


def _refuse_missing(directory: str, name: str, location: str) -> None:
    """Refuse a path where no git repository is. Whether a URL leads to one is known only once it is fetched.

    Raises:
        InputError: there is no such directory, or it has no repository that git can read.
    """
    from knickpoint.history import Git, is_url

    local = location.lower().startswith("file://")
    if not location or (is_url(location) and not local):
        return
    path = Path(unquote(urlsplit(location).path) if local else location).expanduser()
    places = (path, Path(directory).expanduser() / path)
    where = f"--repository {name}={without_secrets(location)}"
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise InputError(
            f"there is no directory {path if local else without_secrets(location)}", where=where, remedy=_REMEDY
        )
    try:
        Git.at(found)
    except HistoryError as error:
        remedy = _REMEDY if "not a git repository" in error.message else error.remedy
        raise InputError(error.message, where=where, remedy=remedy) from error


def _offered_repository(directory: str) -> dict[str, str]:
    """Return name → location of the repository that contains the instance; {} if there is none, or the user declines.

    At a terminal, the command asks, and offers the repository of the current directory also to an instance elsewhere.
    """
    from knickpoint.history import find_work_tree
    from knickpoint.ingest.commit_sources.git_repository import repository_around

    target = Path(directory).expanduser().resolve()
    asks = sys.stdin.isatty() and sys.stdout.isatty()
    try:
        top = find_work_tree(target) or (find_work_tree(Path.cwd()) if asks else None)
    except HistoryError as error:
        remedy = f"{error.remedy} Or take the commits from the results: --no-repository."
        raise HistoryError(error.message, where=error.where, remedy=remedy) from error
    if top is None:
        return {}
    found = repository_around(top, target)
    question = f"Take the commits from the git repository {' '.join(found)} ({top})?"
    return found if not asks or click.confirm(question, default=True) else {}


def _make_store(directory: str, *, stated: bool) -> None:
    """Make the store of an instance whose configuration came first.

    Raises:
        ConfigError: options state what the configuration states, or the instance has its store already.
    """
    from knickpoint.instance import make_configured_store, open_instance

    where = str(Path(directory).expanduser().absolute())
    if stated:
        remedy = "Change it there, then run knick init without options; it makes the store that the file names."
        raise ConfigError("there is a knickpoint.toml already, which sets this", where=where, remedy=remedy)
    if not make_configured_store(directory):
        remedy = "Use it, or choose another directory."
        raise ConfigError("the instance already exists", where=where, remedy=remedy)
    with open_instance(directory) as instance:
        note(
            f"Created the store of the instance in {instance.directory}. Next: knick import PATH, knick run, knick "
            "serve."
        )


@click.command("init")
@click.argument("directory", default=".", type=click.Path(file_okay=False))
@click.option("--name", default="", help="The name of the instance. Default: the name of its directory.")
@click.option(
    "--store",
    default="",
    metavar="LOCATION",
    help="Path of an embedded store, relative to the instance, or postgresql://… Default: knickpoint.db.",
)
@click.option(
    "--repository",
    "repositories",
    multiple=True,
    metavar="NAME=LOCATION",
    help="A git repository, by path from here or URL; repeatable. A path has to exist. Default: the repository that "
    "contains DIRECTORY.",
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
def init(
    directory: str, name: str, store: str, repositories: tuple[str, ...], *, no_repository: bool, as_work: bool
) -> None:
    """Create an instance in DIRECTORY: the file knickpoint.toml and an embedded store.

    Inside the work tree of a git repository, commits come from that repository; at a terminal, the command asks first.
    If DIRECTORY already has a knickpoint.toml, the command creates the store that it names.
    """
    from knickpoint.instance import CONFIG_FILE, create_instance

    if Path(directory, CONFIG_FILE).expanduser().exists():
        _make_store(directory, stated=bool(name or store or repositories or no_repository or as_work))
        return
    pairs = read_pairs(repositories, "--repository")
    if pairs and no_repository:
        raise InputError(
            "--repository and --no-repository exclude each other",
            where="--no-repository",
            remedy="Give one of the two options.",
        )
    for repository, location in pairs.items():
        _refuse_missing(directory, repository, location)
    offered = {} if pairs or no_repository else _offered_repository(directory)
    chosen = offered or {repository: _seen_from(directory, location) for repository, location in pairs.items()}
    store = store or "knickpoint.db"
    with create_instance(directory, name=name, store=store, repositories=chosen, as_work=as_work) as instance:
        for repository, location in offered.items():
            note(
                f"Commits come from the git repository {repository} ({location}), and results without a commit take"
                " its HEAD; --no-repository leaves it out."
            )
        note(f"Created an instance in {instance.directory}. Next: knick import PATH, knick run, knick serve.")


_COLUMNS = tuple(
    Column(name)
    for name in [
        "tool",
        "place",
        "directory",
        "created",
        "files",
        "commits",
        "traces",
        "points",
        "findings",
        "failed",
        "incomplete",
        "left",
        "remarks",
    ]
)


@click.command("move-in")
@click.argument("source")
@click.argument("directory", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--no-repository",
    is_flag=True,
    help="Take commits from the results, not from the git repository of SOURCE.",
)
@format_option
def move_in(*, source: str, directory: Path, no_repository: bool, output: OutputFormat) -> None:
    """Import the whole history of another tool from SOURCE into the instance in DIRECTORY, and find its changes.

    SOURCE is a directory, a file or an address: the work tree of a project that uses asv or github-action-benchmark
    (its branch gh-pages is read, too), asv.conf.json, asv's results, a site that asv published, a file data.js, or the
    page that shows it. The instance is created if there is none. Run again, the command imports only new results.

    The exit code is 2 when no history was found, a file was refused, or results wait for commits that git does not
    have.
    """
    from knickpoint.instance.move_in import move_in

    with Progress("Fetching graphs") as progress:
        summary = move_in(source, directory.expanduser().resolve(), with_git=not no_repository, progress=progress)
    if output is OutputFormat.TEXT:
        for line in summary.lines():
            note(line)
        note("Next: knick changes --history, knick serve.")
    else:
        row = {column.name: getattr(summary, column.name) for column in _COLUMNS}
        show(_COLUMNS, [row | {"directory": str(summary.directory)}], output)
    if summary.incomplete:
        raise click.exceptions.Exit(FAILED)


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
