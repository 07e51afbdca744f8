"""``knick history``: show and move the history boundary, and keep the history of a CI on a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knickpoint.cli.commands.history_branch import add, pull
from knickpoint.cli.options import instance_option, open_chosen_instance, require_results
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.verbosity import note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knickpoint.model.commit import Repository
    from knickpoint.store import Store

__all__ = ["command"]

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
