"""``knick history``: up to which commits findings are history, and how to move that boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knickpoint.cli.options import instance_option, open_chosen_instance, signature
from knickpoint.cli.output import Column, OutputFormat, counted, format_option, show
from knickpoint.model.errors import InputError

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
    Column("history_regressions"),
    Column("work_regressions"),
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
_BY = click.option(
    "--by", "who", default="", metavar="NAME", help="Who decides. Default: KNICKPOINT_USER, else the user's name."
)


@click.group("history")
def command() -> None:
    """Show up to which commits findings are history, and move that boundary.

    What the first run over a repository finds up to the newest commit with results is history: it is listed, and
    never announced. What is newer is work.
    """


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
    help="Only what is newer than this commit, or of this day and later. Without it, all of it.",
)
@_BY
@instance_option
@format_option
def take(name: str, since: str, who: str, instance: str | None, output: OutputFormat) -> None:
    """Take history into work: the boundary moves back, and what is newer than it is to be triaged."""
    from knickpoint.watch.triage.history_boundary import take as take_history

    with open_chosen_instance(instance) as opened:
        store = opened.store
        by = signature(who)
        with store.transaction():
            chosen = _chosen(store, name, since)
            moved = sum(len(take_history(store, repository, since, who=by).work) for repository in chosen)
        _report(store, chosen, output, f"{counted(moved, 'regression')} became work.")


@command.command("set")
@_REPOSITORY
@click.option(
    "--until", required=True, metavar="DATE|COMMIT", help="The last commit, or the last day, that is history."
)
@_BY
@instance_option
@format_option
def set_until(name: str, until: str, who: str, instance: str | None, output: OutputFormat) -> None:
    """Declare everything up to a commit or date history, and everything newer work."""
    from knickpoint.watch.triage.history_boundary import set_boundary

    with open_chosen_instance(instance) as opened:
        store = opened.store
        by = signature(who)
        with store.transaction():
            chosen = _chosen(store, name, until)
            moved = [set_boundary(store, repository, until, who=by) for repository in chosen]
        history, work = sum(len(one.history) for one in moved), sum(len(one.work) for one in moved)
        _report(
            store,
            chosen,
            output,
            f"{counted(history, 'regression')} became history, {counted(work, 'regression')} became work.",
        )


def _chosen(store: Store, name: str, at: str) -> list[Repository]:
    """Return the repository ``name``, or all that know the commit or date ``at``.

    Raises:
        InputError: there is no repository that has the commit.
        HistoryError: there is no repository of the name.
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


def _report(store: Store, repositories: Sequence[Repository], output: OutputFormat, what: str) -> None:
    _show(store, repositories, output)
    if output is OutputFormat.TEXT and repositories:
        click.echo(what)


def _show(store: Store, repositories: Sequence[Repository], output: OutputFormat) -> None:
    rows = [_row(store, repository) for repository in repositories]
    columns = _COLUMNS if output is OutputFormat.TEXT else _COLUMNS + _DETAILS
    show(columns, rows, output, empty="There is no repository yet: knick import PATH.")


def _row(store: Store, repository: Repository) -> dict[str, Any]:
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
        "history_regressions": sides.history_regressions,
        "work_regressions": sides.work_regressions,
        "set": boundary.changed.isoformat(timespec="seconds") if boundary else "",
        "by": boundary.who if boundary else "",
    }
