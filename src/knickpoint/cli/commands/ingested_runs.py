"""``knick ingest runs`` and ``knick ingest remove``: list the runs that were imported, and remove wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance, refuse_empty
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.trace_argument import chosen_repositories
from knickpoint.cli.verbosity import note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from knickpoint.model.commit import Repository
    from knickpoint.store import Run, Store

__all__ = ["remove", "runs"]

_COLUMNS: Final = (
    Column("id", right=True),
    Column("repository"),
    Column("commit", text=lambda commit: commit[:12]),
    Column("points", right=True),
    Column("stored"),
    Column("source"),
)


@dataclass(frozen=True, slots=True)
class _Selection:
    """Which runs are meant: those that all of it fits."""

    repository: str
    commit: str
    source: str
    ids: Collection[int] | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """How the store may name the file: as it was given, or by the absolute path of a local file."""
        return (self.source, str(Path(self.source).absolute())) if self.source else ("",)


def _selecting(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select runs."""
    for option in (
        click.option("--repository", default="", metavar="NAME", help="Only this repository."),
        click.option("--commit", default="", callback=refuse_empty, metavar="COMMIT", help="Only runs at this commit."),
        click.option(
            "--source",
            default="",
            callback=refuse_empty,
            metavar="SOURCE",
            help="Only runs of this file, as knick ingest status names it.",
        ),
    ):
        command = option(command)
    return command


@click.command("runs")
@_selecting
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="The newest N runs.")
@instance_option
@format_option
def runs(*, repository: str, commit: str, source: str, last: int, instance: str | None, output: OutputFormat) -> None:
    """List the runs that were imported, the newest first."""
    with open_chosen_instance(instance) as opened:
        found = _found(opened.store, _Selection(repository, commit, source), limit=last)
        rows = _rows(opened.store, found)[:last]
    show(
        _COLUMNS,
        rows,
        output,
        empty="There is no such run."
        if repository or commit or source
        else "Nothing has been imported yet: knick import PATH.",
    )


@click.command("remove")
@click.argument("ids", nargs=-1, type=click.IntRange(1), metavar="[ID]…")
@_selecting
@click.option("--dry-run", is_flag=True, help="List what would be removed, and remove nothing.")
@instance_option
@format_option
def remove(
    ids: tuple[int, ...],
    *,
    repository: str,
    commit: str,
    source: str,
    dry_run: bool,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Remove the runs of a wrong import: these IDs, or all of a file or a commit.

    Their values are gone for good, so try it with --dry-run. Commits and traces stay. The next run of the alerts judges the
    traces anew. A watched folder does not import the file again; knick import with its name does.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.ingest.removal import remove_runs

    if not (ids or commit or source):
        raise InputError("nothing says which runs", remedy="Give their ids (knick ingest runs), --source or --commit.")
    with open_chosen_instance(instance) as opened:
        store = opened.store
        found = _found(store, _Selection(repository, commit, source, ids or None))
        present = {run.id for _, several in found for run, _ in several}
        if unknown := sorted(set(ids) - present):
            raise InputError(f"there is no run {unknown[0]} among these", remedy="See knick ingest runs.")
        if not present:
            options = {"--repository": repository, "--source": source, "--commit": commit}
            where = " ".join(f"{name} {value}" for name, value in options.items() if value)
            raise InputError(
                "there is no such run", where=where, remedy="See knick ingest runs and knick ingest status."
            )
        rows = _rows(store, found)
        points = sum(number for _, several in found for _, number in several)
        if not dry_run:
            who = local_caller().name
            with store.transaction():
                for owner, several in found:
                    remove_runs(store, owner, [run for run, _ in several], who=who)
    show(_COLUMNS, rows, output)
    if output is not OutputFormat.TEXT:
        return
    what = f"{counted(len(rows), 'run')} with {counted(points, 'point')}"
    note(f"Would remove {what}." if dry_run else f"Removed {what}; the next knick run judges their traces anew.")


def _found(
    store: Store, wanted: _Selection, *, limit: int | None = None
) -> list[tuple[Repository, list[tuple[Run, int]]]]:
    """Return the selected runs and their points by repository, the newest first; repositories without any are left out."""
    owners = chosen_repositories(store, wanted.repository)
    slots: dict[int, int | None] = {each.id: None for each in owners}
    if wanted.commit:
        named = {each.id: store.commits.find(each, wanted.commit) for each in owners}
        slots = {owner: commit.slot for owner, commit in named.items() if commit}
        if not slots:
            raise InputError(
                f"there is no commit {wanted.commit!r}", where="--commit", remedy="Give its hash or its number."
            )
    found = []
    for owner in (each for each in owners if each.id in slots):
        for source in wanted.sources:
            several = store.runs.newest(owner, source=source, slot=slots[owner.id], run_ids=wanted.ids, limit=limit)
            if several:
                found.append((owner, several))
                break
    return found


def _rows(store: Store, found: list[tuple[Repository, list[tuple[Run, int]]]]) -> list[Row]:
    rows: dict[int, Row] = {}
    for owner, several in found:
        commits = store.commits.get(owner, sorted({run.slot for run, _ in several}))
        hashes = {each.slot: each.commit.hash for each in commits}
        for run, points in several:
            rows[run.id] = {
                "id": run.id,
                "repository": owner.name,
                "commit": hashes.get(run.slot, ""),
                "points": points,
                "stored": run.created.isoformat(timespec="seconds"),
                "source": run.source,
            }
    return [rows[key] for key in sorted(rows, reverse=True)]
