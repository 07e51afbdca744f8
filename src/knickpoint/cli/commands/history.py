"""``knick history``: show and move the history boundary, and keep the history of a CI on a branch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.cli.commands.run import summary_lines
from knickpoint.cli.exit_codes import FAILED
from knickpoint.cli.options import instance_option, open_chosen_instance, read_pairs, require_results
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.terminal import note
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knickpoint.history import FileBranch
    from knickpoint.ingest import ImportSummary
    from knickpoint.instance import Instance
    from knickpoint.model.commit import Repository
    from knickpoint.store import Store


# ``knick history pull`` and ``add``: the history of a CI on a branch of the project's repository.


_TOKEN: Final = "KNICKPOINT_GIT_TOKEN"  # noqa: S105 - the name of a variable
_DIRECTORY: Final = ".knickpoint"


def _branch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which branch, of which repository, and where the instance is made."""
    for option in (
        click.option(
            "--instance",
            default=lambda: os.environ.get("KNICKPOINT_INSTANCE", "") or _DIRECTORY,
            metavar="DIR",
            help=f"Directory of the new instance. Default: KNICKPOINT_INSTANCE, else {_DIRECTORY}.",
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
            "this is not a work tree of a git repository",
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
    from knickpoint.ingest.commit_sources.git_repository import repository_around

    return repository_around(Path.cwd(), directory)


@click.command("pull")
@_branch_options
def pull(instance: str, remote: str, branch: str) -> None:
    """Create an instance from the branch with the history of a CI.

    If the branch does not exist yet, the instance is new, as by `knick init`.
    """
    from knickpoint.instance.history_branch import pull_instance

    directory = Path(instance).expanduser().absolute()
    opened = _open_branch(remote, branch)
    tip = pull_instance(opened, directory, repositories=_repositories(directory))
    note(
        f"Created the instance {instance} from {branch} ({tip[:12]})."
        if tip
        else f"There is no branch {branch} yet: created the new instance {instance}."
    )


@click.command("add")
@click.argument("results", nargs=-1, required=True)
@click.option(
    "--as", "format_name", default="", metavar="FORMAT", help="The format. Default: recognised from the content."
)
@click.option("--repository", default="", metavar="NAME", help="The repository, if not in the results.")
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
    """Add RESULTS to the history on the branch: fetch the branch, import, run the alerts, push.

    If another job pushes first, it starts again from what that job pushed, so that no results are lost. The instance
    is left in DIR. The exit code is 2 when a file was refused or waits for its commit; the branch is then unchanged.
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
        click.echo(f"knick: {branch} is unchanged", err=True)
        raise click.exceptions.Exit(FAILED)
    after = f" on attempt {added.attempts}, after other jobs" if added.attempts > 1 else ""
    note(f"Pushed to {branch} ({added.commit[:12]}){after}.")
    failures = added.run.failures if added.run else {}
    for name, reason in failures.items():
        click.echo(f"knick: alert {name!r} could not run: {reason}", err=True)
    raise click.exceptions.Exit(FAILED if failures else 0)


_COLUMNS = (
    Column("repository"),
    Column("line"),
    Column("commit", "up to", text=lambda commit: commit[:10] or "–"),
    Column("date", text=lambda date: date or "–"),
    Column("subject", text=lambda subject: subject if len(subject) <= 44 else f"{subject[:43]}…"),
    Column("history", right=True),
    Column("work", right=True),
)
_DETAILS = (
    Column("history_changes"),
    Column("work_changes"),
    Column("set", text=lambda moment: moment or "–"),
    Column("by"),
)
_REPOSITORY = click.option(
    "--repository",
    "name",
    default="",
    metavar="NAME",
    help="The repository. Default: all of them, or those that have the commit.",
)


@click.group("history")
def command() -> None:
    """Show and move the history boundary, and keep the history of a CI on a branch.

    Findings of the first run over a repository, up to its newest commit with results, are history: listed, and never
    announced. Findings at newer commits are to be triaged.
    """


command.add_command(pull)
command.add_command(add)


@command.command("list")
@instance_option
@format_option
def list_boundaries(instance: str | None, output: OutputFormat) -> None:
    """List the boundary of each repository, with the number of findings on either side."""
    with open_chosen_instance(instance) as opened:
        _show(opened.store, opened.store.commits.repositories(), output)


@command.command("take")
@_REPOSITORY
@click.option(
    "--since",
    default="",
    metavar="DATE|COMMIT",
    help="Only findings after this commit, or of this day and later. Default: all of them.",
)
@instance_option
@format_option
def take(name: str, since: str, instance: str | None, output: OutputFormat) -> None:
    """Move the boundary back: findings after it are to be triaged."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.triage.history_boundary import take as take_history

    with open_chosen_instance(instance) as opened:
        require_results(opened)
        store = opened.store
        by = local_caller().name
        with store.transaction():
            chosen = _chosen(store, name, since)
            moved = sum(len(take_history(store, repository, since, who=by).work) for repository in chosen)
        _report(store, chosen, output, f"{counted(moved, 'change')} became work.")


@command.command("set")
@_REPOSITORY
@click.option(
    "--until", required=True, metavar="DATE|COMMIT", help="The last commit, or the last day, that is history."
)
@instance_option
@format_option
def set_until(name: str, until: str, instance: str | None, output: OutputFormat) -> None:
    """Move the boundary to a commit or date: findings up to it are history, later ones are to be triaged."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.triage.history_boundary import set_boundary

    with open_chosen_instance(instance) as opened:
        store = opened.store
        by = local_caller().name
        with store.transaction():
            chosen = _chosen(store, name, until)
            moved = [set_boundary(store, repository, until, who=by) for repository in chosen]
        history, work = sum(len(each.history) for each in moved), sum(len(each.work) for each in moved)
        _report(
            store,
            chosen,
            output,
            f"{counted(history, 'change')} became history, {counted(work, 'change')} became work.",
        )


def _chosen(store: Store, name: str, at: str) -> list[Repository]:
    """Return the repository ``name``; without a name, all that have the commit ``at``, or all for a date.

    Raises:
        InputError: no repository has the commit.
        HistoryError: there is no repository of this name.
    """
    from knickpoint.watch.triage.history_boundary import is_date

    if name:
        return [store.commits.repository(name)]
    known = store.commits.repositories()
    if not at or is_date(at):
        return known
    found = [repository for repository in known if store.commits.find(repository, at) is not None]
    if not found:
        raise InputError(
            "no repository has this commit",
            where=repr(at),
            remedy="Name a commit of the default line by its hash, or a date as in 2026-05-31.",
        )
    return found


def _report(store: Store, repositories: Sequence[Repository], output: OutputFormat, result: str) -> None:
    _show(store, repositories, output)
    if output is OutputFormat.TEXT and repositories:
        note(result)


def _show(store: Store, repositories: Sequence[Repository], output: OutputFormat) -> None:
    rows = [_row(store, repository) for repository in repositories]
    columns = _COLUMNS if output is OutputFormat.TEXT else _COLUMNS + _DETAILS
    show(columns, rows, output, empty="There is no repository yet: knick import PATH.")


def _row(store: Store, repository: Repository) -> Row:
    from knickpoint.watch.triage.history_boundary import read_extent

    extent = read_extent(store, repository)
    commit, boundary, sides = extent.commit, extent.boundary, extent.sides
    return {
        "repository": repository.name,
        "line": extent.line,
        "commit": commit.hash if commit else "",
        "date": commit.time.date().isoformat() if commit and commit.has_time else "",
        "subject": commit.subject if commit else "no run yet" if boundary is None else "nothing is history",
        "history": sides.history,
        "work": sides.work,
        "history_changes": sides.history_changes,
        "work_changes": sides.work_changes,
        "set": boundary.changed.isoformat(timespec="seconds") if boundary else "",
        "by": boundary.who if boundary else "",
    }
