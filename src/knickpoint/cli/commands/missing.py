"""``knick missing``: list what should have results and has none, and accept renames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from knickpoint.cli.arguments import find_trace
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.answers.missing import MissingAnswer
    from knickpoint.instance import Instance
    from knickpoint.model.commit import Repository
    from knickpoint.watch.absence.missing_data import MissingEntry


def _share(value: float | None) -> str:
    return "" if value is None else figure_text(value, ".0%")


_LIST = (
    Column("repository"),
    Column("kind"),
    Column("what"),
    Column("count", "traces", text=lambda count: f"{count:,}" if count else "", right=True),
    Column("last", "last results", text=lambda commit: commit[:10]),
    Column("date"),
    Column("silent", "commits without", right=True),
    Column("usual", "usual gap", right=True),
)
_RENAMES = (
    Column("repository"),
    Column("old"),
    Column("new"),
    Column("name_likeness", "names alike", text=_share, right=True),
    Column("value_likeness", "values alike", text=_share, right=True),
    Column("probability", text=_share, right=True),
    Column("accepted"),
)


@click.group("missing", invoke_without_command=True)
@instance_option
@format_option
@click.pass_context
def command(context: click.Context, instance: str | None, output: OutputFormat) -> None:
    """List jobs, series and commits whose results are overdue by their usual schedule.

    A series is missing when its silence is longer than twice its longest recent gap. Series that stopped together,
    such as a whole job, are one row. `knick missing renames` shows which new series may continue old ones.
    """
    if context.invoked_subcommand is not None:
        return
    from knickpoint.instance.notices import find_missing

    rows: list[Row] = []
    with open_chosen_instance(instance) as opened:
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.missing import MissingEntryAnswer

            show_answers(MissingEntryAnswer, [entry for each in _answers(opened) for entry in each.entries], output)
            return
        for repository in opened.store.commits.repositories():
            found = find_missing(opened, repository)
            rows += _rows(opened, repository, found.entries)
    show(_LIST, rows, output, empty="Nothing is missing.")


def _answers(opened: Instance) -> list[MissingAnswer]:
    from knickpoint.answers.missing import list_missing
    from knickpoint.answers.visible_repositories import VisibleRepositories

    return list_missing(opened, VisibleRepositories.to_local_user(opened.store), "", traces=None)


def _rows(opened: Instance, repository: Repository, entries: tuple[MissingEntry, ...]) -> Iterator[Row]:
    slots = sorted({each.last for each in entries if each.last >= 0})
    commits = {each.slot: each.commit for each in opened.store.commits.get(repository, slots)}
    for each in entries:
        last = commits.get(each.last)
        yield {
            "repository": repository.name,
            "kind": each.kind.value,
            "what": _what(each),
            "count": len(each.traces),
            "last": last.hash if last else "",
            "date": last.time.date().isoformat() if last and last.has_time else "",
            "silent": each.silent,
            "usual": each.usual,
        }


def _what(entry: MissingEntry) -> str:
    from knickpoint.watch.absence.missing_data import MissingKind

    if entry.kind is MissingKind.COMMITS:
        return f"{counted(entry.silent, 'commit')} without results"
    if len(entry.traces) == 1:
        return entry.traces[0].trace.key
    return " ".join(entry.params) or ("everything" if not entry.traces else "several series")


@command.command("renames")
@instance_option
@format_option
def renames(instance: str | None, output: OutputFormat) -> None:
    """List renames that may explain what is missing, the most likely first, and those that were accepted."""
    from knickpoint.instance.notices import find_missing

    rows: list[Row] = []
    with open_chosen_instance(instance) as opened:
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.missing import RenameAnswer

            found = [rename for each in _answers(opened) for rename in (*each.proposed, *each.accepted)]
            show_answers(RenameAnswer, found, output)
            return
        traces = opened.store.traces
        for repository in opened.store.commits.repositories():
            rows += [
                {
                    "repository": repository.name,
                    "old": each.old.key,
                    "new": each.new.key,
                    "name_likeness": each.name_likeness,
                    "value_likeness": each.value_likeness,
                    "probability": each.probability,
                    "accepted": "",
                }
                for each in find_missing(opened, repository).renames
            ]
            for each in traces.renames.all(repository):
                old, new = traces.get([each.old, each.new])
                accepted = f"{each.who}, {each.time:%Y-%m-%d}"
                row = dict.fromkeys(("name_likeness", "value_likeness", "probability"))
                rows.append(
                    {**row, "repository": repository.name, "old": old.key, "new": new.key, "accepted": accepted}
                )
    show(_RENAMES, rows, output, empty="No likely or accepted renames.")


@command.command("rename")
@click.argument("old")
@click.argument("new")
@click.option("--undo", is_flag=True, help="Withdraw an accepted rename.")
@instance_option
def rename(*, old: str, new: str, undo: bool, instance: str | None) -> None:
    """Let the series NEW continue OLD: for plots, detection and findings. No stored value changes.

    OLD and NEW are trace keys, or queries that match one trace each. The findings of OLD, with their decisions, become
    findings of NEW, which the next run judges as one series with OLD.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.absence.missing_data import accept_rename, withdraw_rename
    from knickpoint.watch.explanation import find_trace_in

    change = withdraw_rename if undo else accept_rename
    with open_chosen_instance(instance) as opened:
        repository, before = find_trace_in(opened.store, find_trace(opened.store, old))
        other, after = find_trace_in(opened.store, find_trace(opened.store, new))
        if repository.id != other.id:
            raise InputError("the series belong to two repositories", remedy="A rename stays within one repository.")
        change(opened.store, repository, before, after, who=local_caller().name)
    verb = "no longer continues" if undo else "continues"
    note(f"{after.key} {verb} {before.key}; the next run judges again.")
