"""``knick history pull`` and ``add``: the history of a CI on a branch of the project's repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.cli.commands.run import summary_lines
from knickpoint.cli.exit_codes import FAILED
from knickpoint.cli.options import read_pairs
from knickpoint.cli.verbosity import note
from knickpoint.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from knickpoint.history import FileBranch
    from knickpoint.ingest import ImportSummary
    from knickpoint.instance import Instance

__all__ = ["add", "pull"]

_TOKEN: Final = "KNICKPOINT_GIT_TOKEN"  # noqa: S105 - the name of a variable
_DIRECTORY: Final = ".knickpoint"


def _branch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which branch, of which repository, and where the instance is made."""
    for option in (
        click.option(
            "--instance",
            default=lambda: os.environ.get("KNICKPOINT_INSTANCE", "") or _DIRECTORY,
            metavar="DIR",
            help=f"Where the instance is made. Default: KNICKPOINT_INSTANCE, else {_DIRECTORY}.",
        ),
        click.option(
            "--remote",
            default="origin",
            show_default=True,
            metavar="NAME|URL",
            help=f"The repository of the branch; {_TOKEN} is the password for an https address.",
        ),
        click.option("--branch", default="knickpoint-history", show_default=True, help="The branch."),
    ):
        command = option(command)
    return command


def _open_branch(remote: str, name: str) -> FileBranch:
    """Return the branch, seen from the work tree around the current directory.

    Raises:
        ConfigError: there is no work tree.
    """
    from dataclasses import replace

    from knickpoint.history import FileBranch, Git, find_work_tree

    top = find_work_tree(Path.cwd())
    if top is None:
        raise ConfigError(
            "this is no work tree of a git repository",
            where=str(Path.cwd()),
            remedy="Run it in the checkout of the project.",
        )
    branch = FileBranch.of(Git(top), remote, name)
    token = os.environ.get(_TOKEN, "")
    if token and branch.remote.url.startswith("https://"):
        branch = replace(
            branch, remote=replace(branch.remote, user=branch.remote.user or "x-access-token", password=token)
        )
    return branch


def _repositories(directory: Path) -> dict[str, str]:
    """Return name → location of the work tree around the current directory, for a new instance."""
    from knickpoint.instance.work_tree import repository_around

    return repository_around(Path.cwd(), directory)


@click.command("pull")
@_branch_options
def pull(instance: str, remote: str, branch: str) -> None:
    """Make an instance from the branch that the history of a CI is kept on.

    If the branch does not exist yet, the instance is new, as by `knick init`.
    """
    from knickpoint.instance.history_branch import pull_instance

    directory = Path(instance).expanduser().absolute()
    opened = _open_branch(remote, branch)
    tip = pull_instance(opened, directory, repositories=_repositories(directory))
    note(
        f"Made the instance {instance} from {branch} ({tip[:12]})."
        if tip
        else f"There is no branch {branch} yet: made the new instance {instance}."
    )


@click.command("add")
@click.argument("results", nargs=-1, required=True)
@click.option(
    "--as", "format_name", default="", metavar="FORMAT", help="The format. Default: recognised from the content."
)
@click.option("--repository", default="", metavar="NAME", help="The repository, if the results do not name it.")
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="A param to add to every result; repeatable."
)
@_branch_options
def add(
    *,
    results: tuple[str, ...],
    format_name: str,
    repository: str,
    params: tuple[str, ...],
    instance: str,
    remote: str,
    branch: str,
) -> None:
    """Add RESULTS to the history on the branch: take the branch, import, run the alerts, push.

    If another job pushes first, it starts again from what that job pushed, so that no results are lost. The instance is left
    in DIR. The exit code is 2 when a file was refused or waits for its commit; the branch is then as it was.
    """
    from knickpoint.ingest import import_files
    from knickpoint.instance.history_branch import add_results

    pairs = read_pairs(params, "--param")

    def import_into(opened: Instance) -> ImportSummary:
        return import_files(opened, results, format=format_name, repository=repository, params=pairs)

    directory = Path(instance).expanduser().absolute()
    added = add_results(_open_branch(remote, branch), directory, import_into, repositories=_repositories(directory))
    for line in (*added.imported.lines(), *(summary_lines(added.run) if added.run else ())):
        note(line)
    if not added.commit:
        click.echo(f"knick: {branch} is as it was", err=True)
        raise click.exceptions.Exit(FAILED)
    after = f" at attempt {added.attempts}, after other jobs" if added.attempts > 1 else ""
    note(f"Pushed to {branch} ({added.commit[:12]}){after}.")
    failures = added.run.failures if added.run else {}
    for name, reason in failures.items():
        click.echo(f"knick: alert {name!r} could not run: {reason}", err=True)
    raise click.exceptions.Exit(FAILED if failures else 0)
