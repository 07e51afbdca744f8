"""``knick move-in``: take the whole history of another tool into an instance."""

from __future__ import annotations

from pathlib import Path

import click

from knickpoint.cli.exit_codes import FAILED
from knickpoint.cli.output import Column, OutputFormat, format_option, show
from knickpoint.cli.progress import Progress
from knickpoint.cli.terminal import note

_COLUMNS = tuple(
    Column(name)
    for name in [
        "tool",
        "place",
        "directory",
        "created",
        "files",
        "commits",
        "traces",
        "points",
        "findings",
        "failed",
        "incomplete",
        "left",
        "remarks",
    ]
)


@click.command("move-in")
@click.argument("source")
@click.argument("directory", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--no-repository",
    is_flag=True,
    help="Do not take commits from the git repository of SOURCE; the results say which there are.",
)
@format_option
def command(*, source: str, directory: Path, no_repository: bool, output: OutputFormat) -> None:
    """Take the whole history of another tool from SOURCE into the instance in DIRECTORY, and find changes in it.

    SOURCE is a directory, a file or an address: the work tree of a project that uses asv or github-action-benchmark
    (its branch gh-pages is read, too), asv.conf.json, asv's results, a site that asv published, a file data.js, or the
    page that shows it. The instance is created where there is none. A second time, only what is new comes in.

    The exit code is 2 when no history was found, a file was refused, or results wait for commits that git does not
    have.
    """
    from knickpoint.instance.move_in import move_in

    with Progress("Fetching graphs") as progress:
        summary = move_in(source, directory.expanduser().resolve(), with_git=not no_repository, progress=progress)
    if output is OutputFormat.TEXT:
        for line in summary.lines():
            note(line)
        note("Next: knick changes --history, knick serve.")
    else:
        row = {column.name: getattr(summary, column.name) for column in _COLUMNS}
        show(_COLUMNS, [row | {"directory": str(summary.directory)}], output)
    if summary.incomplete:
        raise click.exceptions.Exit(FAILED)
