"""``knick ingest``: what waits, what was refused and why, and another try."""

from __future__ import annotations

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.progress import Progress

__all__ = ["command"]

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
    """Show what waits and what was refused, and try again."""


@command.command("status")
@instance_option
@format_option
def status(instance: str | None, output: OutputFormat) -> None:
    """List what waits for its commit, and the newest files with what became of them."""
    from knickpoint.ingest.held_files import ingest_status

    with open_chosen_instance(instance) as opened:
        found = ingest_status(opened)
    rows = [
        {
            "state": "waiting",
            "source": one.source,
            "repository": one.repository,
            "since": one.since.isoformat(timespec="seconds"),
            "detail": f"for commit {', '.join(revision[:12] for revision in one.unknown)}",
        }
        for one in found.waiting
    ]
    rows += [
        {
            "state": entry.state.value,
            "source": entry.source,
            "repository": "",
            "since": entry.changed.isoformat(timespec="seconds"),
            "detail": entry.detail or f"{entry.runs} runs, {entry.format}",
        }
        for entry in found.recent
        if entry.state.value != "waiting"
    ]
    show(_STATUS, rows, output, empty="Nothing came in yet: knick import PATH.")
    if output is OutputFormat.TEXT and rows:
        click.echo(", ".join(f"{count:,} {state}" for state, count in found.counts.items()))


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
            "id": one.id,
            "source": one.source,
            "attempts": one.attempts,
            "since": one.since.isoformat(timespec="seconds"),
            "problems": [
                f"{problem.where}: {problem.message}" if problem.where else problem.message for problem in one.problems
            ],
        }
        for one in found.refused
    ]
    show(_QUARANTINE, rows, output, empty="Nothing was refused.")


@command.command("unmeasured")
@click.option("--repository", default="", metavar="NAME", help="Of one repository alone.")
@instance_option
@format_option
def unmeasured(repository: str, instance: str | None, output: OutputFormat) -> None:
    """List benchmarks without a trace: they failed or were skipped, and nobody ever measured them."""
    from knickpoint.ingest.unmeasured import list_never_measured

    with open_chosen_instance(instance) as opened:
        commits = opened.store.commits
        chosen = [commits.repository(repository)] if repository else commits.repositories()
        found = [one for each in chosen for one in list_never_measured(opened.store, each)]
    rows: list[Row] = [
        {
            "params": " ".join(f"{name}={value}" for name, value in one.params.items()),
            "outcome": one.outcome.value,
            "runs": one.runs,
            "commit": one.commit,
            "since": one.time.isoformat(timespec="seconds"),
            "message": one.message,
        }
        for one in found
    ]
    show(_UNMEASURED, rows, output, empty="Every benchmark that was told of has been measured.")


@command.command("retry")
@click.argument("ids", nargs=-1, type=int, metavar="[ID]…")
@click.option("--as", "format_name", default="", metavar="FORMAT", help="The format, where it was not recognised.")
@click.option("--commit", default="", metavar="COMMIT", help="The commit that was measured, as for knick import.")
@instance_option
def retry(ids: tuple[int, ...], format_name: str, commit: str, instance: str | None) -> None:
    """Try again what was refused (all of it, or these IDs) and what waits for its commit."""
    from knickpoint.ingest.retries import retry_refused, retry_waiting

    with open_chosen_instance(instance) as opened, Progress("Trying again") as progress:
        summary = retry_refused(opened, ids, format=format_name, revision=commit, progress=progress)
        if not ids:
            summary = summary.followed_by(retry_waiting(opened, progress=progress))
    for line in summary.lines() if summary.files or summary.remarks else ["Nothing was refused, and nothing waits."]:
        click.echo(line)
    if summary.failed:
        raise click.exceptions.Exit(2)
