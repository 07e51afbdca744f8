"""``knick ingest``: list what was imported, waits or was refused; import it again, or remove it."""

from __future__ import annotations

import click

from knickpoint.cli.commands.ingested_runs import remove, runs
from knickpoint.cli.exit_codes import FAILED
from knickpoint.cli.options import instance_option, open_chosen_instance, refuse_empty
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.progress import Progress
from knickpoint.cli.verbosity import note
from knickpoint.model.plain_text import counted

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
    """List what was imported, waits or was refused; import it again, or remove it."""


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
