"""``knick ingest``: list what was imported, waits or was refused; import it again, or remove it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.exit_codes import FAILED
from knickpoint.cli.options import chosen_repositories, instance_option, open_chosen_instance, refuse_empty
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.terminal import Progress, note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from knickpoint.model.commit import Repository
    from knickpoint.store import Run, Store
    from knickpoint.store.profiles import StoredProfile


# ``knick ingest runs`` and ``knick ingest remove``: list the runs that were imported, and remove wrong ones.


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
        return (self.source, os.path.abspath(self.source)) if self.source else ("",)  # noqa: PTH100 - as imports do


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
        empty="No matching runs."
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
    """Remove the runs of a wrong import: these IDs, or all of a file or a commit, with its profiles.

    Their values are gone for good, so try it with --dry-run. Commits and traces stay. The next run of the alerts judges
    the traces again. A watched folder does not import the file again; knick import with its name does.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.ingest.held_files import remove_profiles, remove_runs

    if not (ids or commit or source):
        raise InputError("no runs are selected", remedy="Give their ids (knick ingest runs), --source or --commit.")
    with open_chosen_instance(instance) as opened:
        store = opened.store
        wanted = _Selection(repository, commit, source, ids or None)
        found = _found(store, wanted)
        profiles = _profiles(store, wanted)
        present = {run.id for _, several in found for run, _ in several}
        if unknown := sorted(set(ids) - present):
            raise InputError(f"there is no run {unknown[0]} among these", remedy="See knick ingest runs.")
        if not present and not profiles:
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
                remove_profiles(store, profiles, who=who)
    show(_COLUMNS, rows, output)
    if output is not OutputFormat.TEXT:
        return
    what = f"{counted(len(rows), 'run')} with {counted(points, 'point')}"
    what += f", {counted(len(profiles), 'profile')}" if profiles else ""
    note(f"Would remove {what}." if dry_run else f"Removed {what}; the next knick run judges their traces again.")


def _found(
    store: Store, wanted: _Selection, *, limit: int | None = None
) -> list[tuple[Repository, list[tuple[Run, int]]]]:
    """Return the selected runs and their points by repository, the newest first.

    Repositories without any are left out.
    """
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


def _profiles(store: Store, wanted: _Selection) -> list[tuple[Repository, StoredProfile]]:
    """Return the profiles of the selected files or of the selected commit; ids are those of runs."""
    if wanted.ids is not None:
        return []
    found = []
    for owner in chosen_repositories(store, wanted.repository):
        commit = store.commits.find(owner, wanted.commit) if wanted.commit else None
        for each in store.profiles.all(owner) if commit or not wanted.commit else ():
            of_file = not wanted.source or each.source in wanted.sources
            if of_file and (commit is None or each.slot == commit.slot):
                found.append((owner, each))
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


_STATUS = (
    Column("state"),
    Column("source"),
    Column("repository"),
    Column("since"),
    Column("detail"),
)
_QUARANTINE = (
    Column("id", right=True),
    Column("source"),
    Column("attempts", right=True),
    Column("since"),
    Column("problems", "why", text=" · ".join),
)
_UNMEASURED = (
    Column("params"),
    Column("outcome"),
    Column("runs", right=True),
    Column("commit", text=lambda commit: commit[:12]),
    Column("since", "last"),
    Column("message", "why"),
)


@click.group("ingest")
def command() -> None:
    """List imported, waiting and refused files; import them again, or remove their runs."""


command.add_command(runs)
command.add_command(remove)


@command.command("status")
@instance_option
@format_option
def status(instance: str | None, output: OutputFormat) -> None:
    """List the files that wait for their commit, and the newest files with their outcome."""
    from knickpoint.ingest.held_files import ingest_status

    with open_chosen_instance(instance) as opened:
        found = ingest_status(opened)
    rows = [
        {
            "state": "waiting",
            "source": waiting.source,
            "repository": waiting.repository,
            "since": waiting.since.isoformat(timespec="seconds"),
            "detail": f"for commit {', '.join(revision[:12] for revision in waiting.unknown)}",
        }
        for waiting in found.waiting
    ]
    rows += [
        {
            "state": entry.state.value,
            "source": entry.source,
            "repository": "",
            "since": entry.changed.isoformat(timespec="seconds"),
            "detail": entry.detail or f"{counted(entry.runs, 'run')}, {entry.format}",
        }
        for entry in found.recent
        if entry.state.value != "waiting"
    ]
    show(_STATUS, rows, output, empty="Nothing has been imported yet: knick import PATH.")
    if output is OutputFormat.TEXT and rows:
        counts = [f"{count:,} {state}" for state, count in found.counts.items() if count or state != "removed"]
        note(", ".join(counts))


@command.command("quarantine")
@instance_option
@format_option
def quarantine(instance: str | None, output: OutputFormat) -> None:
    """List the files that were refused, and why."""
    from knickpoint.ingest.held_files import ingest_status

    with open_chosen_instance(instance) as opened:
        found = ingest_status(opened, recent=0)
    rows: list[Row] = [
        {
            "id": refused.id,
            "source": refused.source,
            "attempts": refused.attempts,
            "since": refused.since.isoformat(timespec="seconds"),
            "problems": [
                f"{problem.where}: {problem.message}" if problem.where else problem.message
                for problem in refused.problems
            ],
        }
        for refused in found.refused
    ]
    show(_QUARANTINE, rows, output, empty="Nothing was refused.")


@command.command("unmeasured")
@click.option("--repository", default="", metavar="NAME", help="Only this repository.")
@instance_option
@format_option
def unmeasured(repository: str, instance: str | None, output: OutputFormat) -> None:
    """List benchmarks without a trace: every run of them failed or was skipped."""
    from knickpoint.ingest.unmeasured import list_never_measured

    with open_chosen_instance(instance) as opened:
        commits = opened.store.commits
        chosen = [commits.repository(repository)] if repository else commits.repositories()
        found = [benchmark for each in chosen for benchmark in list_never_measured(opened.store, each)]
    rows: list[Row] = [
        {
            "params": " ".join(f"{name}={value}" for name, value in benchmark.params.items()),
            "outcome": benchmark.outcome.value,
            "runs": benchmark.runs,
            "commit": benchmark.commit,
            "since": benchmark.time.isoformat(timespec="seconds"),
            "message": benchmark.message,
        }
        for benchmark in found
    ]
    show(_UNMEASURED, rows, output, empty="Every known benchmark has been measured.")


@command.command("retry")
@click.argument("ids", nargs=-1, type=int, metavar="[ID]…")
@click.option("--as", "format_name", default="", metavar="FORMAT", help="The format, if it was not recognised.")
@click.option(
    "--commit",
    default="",
    callback=refuse_empty,
    metavar="COMMIT",
    help="The commit that was measured, as for knick import.",
)
@instance_option
def retry(ids: tuple[int, ...], format_name: str, commit: str, instance: str | None) -> None:
    """Import the refused files again (all of them, or these IDs), and the files that wait for their commit."""
    from knickpoint.ingest.retries import retry_refused, retry_waiting

    with open_chosen_instance(instance) as opened, Progress("Importing again") as progress:
        summary = retry_refused(opened, ids, format=format_name, revision=commit, progress=progress)
        if not ids:
            summary = summary.followed_by(retry_waiting(opened, progress=progress))
    for line in summary.lines() if summary.files or summary.remarks else ["Nothing was refused, and nothing waits."]:
        click.echo(line)
    if summary.failed:
        raise click.exceptions.Exit(FAILED)
