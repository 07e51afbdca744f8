"""``knick import``: import results or whole histories into the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knickpoint.cli.exit_codes import FAILED
from knickpoint.cli.options import instance_option, open_chosen_instance, read_pairs, refuse_empty
from knickpoint.cli.output import Column, OutputFormat, format_option, show
from knickpoint.cli.terminal import Progress, Verbosity, note, verbosity
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from datetime import datetime

    from knickpoint.ingest import ImportSummary

_FORMAT_COLUMNS = (
    Column("name"),
    Column("title"),
    Column("suffixes", text=" ".join),
    Column("verified", text=lambda verified: verified or "unverified"),
    Column("note"),
)

_FILE_COLUMNS = tuple(
    Column(name)
    for name in [
        "source",
        "state",
        "repository",
        "format",
        "new",
        "same",
        "corrected",
        "rerun",
        "waiting",
        "commits",
        "points",
        "new_traces",
        "failed",
        "skipped",
        "changes",
        "problems",
        "without_direction",
        "sample_rows",
        "sampled_points",
        "repeated",
    ]
)


_IGNORED = {
    **dict.fromkeys((column.name for column in _FILE_COLUMNS), 0),
    **dict.fromkeys(("repository", "format"), ""),
    **dict.fromkeys(("changes", "problems", "without_direction", "repeated"), ()),
    "state": "ignored",
}
"""The row of a file in a folder that has no known format."""


@click.command("import")
@click.argument("paths", nargs=-1)
@click.option(
    "--as",
    "format_name",
    default="",
    callback=refuse_empty,
    metavar="FORMAT",
    help="The format, or a mapping.toml that describes where a JSON file has the results. Default: recognised from the "
    "content.",
)
@click.option(
    "--commit",
    default="",
    callback=refuse_empty,
    metavar="COMMIT",
    help="The commit that was measured: a hash or number, in a git repository also HEAD, a branch or a tag.",
)
@click.option(
    "--time",
    default="",
    callback=refuse_empty,
    metavar="TIME",
    help="Time of the measurement, if not in the results: 2026-01-31T12:00:00Z.",
)
@click.option(
    "--order",
    type=click.Choice(["time", "given"]),
    default="time",
    show_default=True,
    help="The order of new commits without a git repository: by time, or as given by PATHS and rows.",
)
@click.option("--branch", default="", callback=refuse_empty, help="The branch, if not in the results.")
@click.option(
    "--repository",
    default="",
    callback=refuse_empty,
    metavar="NAME",
    help="The repository, if not in the results.",
)
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="A param to add to every result; repeatable."
)
@click.option(
    "--as-work",
    is_flag=True,
    help="Findings in these results are to be triaged, and nothing in their repository is history.",
)
@click.option(
    "--allow-empty",
    is_flag=True,
    help="Accept files without results; otherwise a named file without results is refused.",
)
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
@click.option("--list", "list_formats", is_flag=True, help="List the formats.")
@instance_option
@format_option
def command(
    *,
    paths: tuple[str, ...],
    format_name: str,
    commit: str,
    time: str,
    order: str,
    branch: str,
    repository: str,
    params: tuple[str, ...],
    instance: str | None,
    dry_run: bool,
    as_work: bool,
    allow_empty: bool,
    list_formats: bool,
    output: OutputFormat,
) -> None:
    """Import results files, folders, or whole histories, each exactly once; - is standard input.

    A file is imported whole or not at all; a second import changes nothing. In folders, files without a known format
    are ignored. A named file without results is refused. With more than ten files, only notable ones have a line,
    unless --verbose is given. The exit code is 2 when a file was refused, could not be read, or waits for its commit.
    """
    if list_formats:
        _show_formats(output)
        return
    if not paths:
        raise InputError(
            "no files are named", where="PATH", remedy="Name files or folders, or see knick import --list."
        )
    from knickpoint.ingest import CommitOrder, ImportState, import_files

    with open_chosen_instance(instance) as opened:
        with Progress("Importing") as progress:
            summary = import_files(
                opened,
                paths,
                format=format_name,
                revision=commit,
                branch=branch,
                time=_parsed_time(time),
                order=CommitOrder(order),
                repository=repository,
                params=read_pairs(params, "--param"),
                dry_run=dry_run,
                as_work=as_work,
                allow_empty=allow_empty,
                progress=progress,
            )
        _show_summary(summary, output)
        if as_work and all(file.state is ImportState.UNCHANGED for file in summary.files):
            note("knick: nothing was imported, so --as-work changes nothing; use knick history take.", err=True)
        if not dry_run:
            opened.store.seal()
    if summary.failed or not summary.files:
        raise click.exceptions.Exit(FAILED)


def _parsed_time(text: str) -> datetime | None:
    """Return the time in ``text``, None for "". Raises ``InputError`` if it is not a time."""
    from knickpoint.formats.toolbox.numbers import read_moment

    moment = read_moment(text)
    if text and moment is None:
        raise InputError(f"{text!r} is not a time", where="--time", remedy="Write it as 2026-01-31T12:00:00Z.")
    return moment


def _show_summary(summary: ImportSummary, output: OutputFormat) -> None:
    if output is OutputFormat.TEXT:
        for line in summary.lines(every_file=verbosity() is Verbosity.VERBOSE):
            if summary.failed or not summary.files:
                click.echo(line)
            else:
                note(line)
    else:
        rows = [
            {
                **{column.name: getattr(file, column.name) for column in _FILE_COLUMNS},
                "state": file.state.value,
                "problems": [
                    f"{problem.where}: {problem.message}" if problem.where else problem.message
                    for problem in file.problems
                ],
                "without_direction": [
                    f"{count} in {unit}" if unit else f"{count} without a unit"
                    for unit, count in sorted(file.without_direction.items())
                ],
                "repeated": [f"{count} of {name}" for name, count in file.repeated.items()],
            }
            for file in summary.files
        ]
        rows += [{**_IGNORED, "source": name} for name in summary.ignored]
        show(_FILE_COLUMNS, rows, output)


def _show_formats(output: OutputFormat) -> None:
    from knickpoint.formats import all_formats

    rows = [{column.name: getattr(each, column.name) for column in _FORMAT_COLUMNS} for each in all_formats()]
    show(_FORMAT_COLUMNS[:-1] if output is OutputFormat.TEXT else _FORMAT_COLUMNS, rows, output)
