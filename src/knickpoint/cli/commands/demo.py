"""``knick demo``: show everything on a repository that it creates and benchmarks."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knickpoint.cli.output import Column, OutputFormat, percent, render
from knickpoint.cli.terminal import Progress, announcer, note

if TYPE_CHECKING:
    from knickpoint.demo.history import Comparison

_ENOUGH_FOUND = 6
_FEW_FALSE = 1


def _table(comparison: Comparison) -> str:
    columns = (
        Column("commit", right=True),
        Column("true", "true change"),
        Column("benchmarks", text=", ".join),
        Column("at", "found at", right=True),
        Column("size", "by"),
        Column("verdict"),
    )
    rows = []
    for judged in comparison.changes:
        change = judged.change
        ends = [judged.points, judged.reverts] if change.reverted is not None else [judged.points]
        rows.append(
            {
                "commit": str(change.position) if change.reverted is None else f"{change.position}–{change.reverted}",
                "true": change.subject,
                "benchmarks": change.benchmarks,
                "at": "–".join(_positions(end) for end in ends),
                "size": ", ".join(percent(point.relative_size) for end in ends for point in end),
                "verdict": "found" if judged.found else "missed",
            }
        )
    rows.extend(
        {
            "commit": "",
            "true": "nothing",
            "benchmarks": [point.benchmark],
            "at": str(point.position),
            "size": percent(point.relative_size),
            "verdict": "false",
        }
        for point in comparison.false
    )
    return render(columns, rows, OutputFormat.TEXT)


def _positions(points: tuple[object, ...]) -> str:
    positions = sorted({str(getattr(point, "position", "")) for point in points})
    return "/".join(positions) or "none"


def _bisection(directory: Path) -> str:
    """Return the command that searches the last change, which lies among commits without results."""
    from knickpoint.demo.history import LAST_RANGE

    good, bad = (79 - position for position in LAST_RANGE)
    return shlex.join(
        [
            *("knick", "bisect", f"HEAD~{good}..HEAD~{bad}", "--instance", str(directory)),
            *("--repository", str(directory / "textmill"), "--trace", "benchmark=wrap_text"),
        ]
    )


@click.command("demo")
@click.argument("directory", default="demo-instance", type=click.Path(file_okay=False, path_type=Path))
@click.option("--serve/--no-serve", default=None, help="Serve the dashboard afterwards. Default: on a terminal.")
@click.option("--port", type=int, default=None, help="The port of the dashboard.")
@click.option(
    "--rounds",
    type=click.IntRange(3, 100),
    default=None,
    help="Processes per commit; more processes reduce noise but take longer.",
)
def command(directory: Path, serve: bool | None, port: int | None, rounds: int | None) -> None:  # noqa: FBT001
    """Show everything on a real example, created in DIRECTORY.

    The command creates a git repository of a small library in which some commits really make something slower or
    faster. It benchmarks the library, imports the results, runs the alerts, and prints the true changes beside the
    findings. Then it serves the dashboard. Without a terminal, or with --no-serve, it ends after the table, with exit
    code 0 when at least six of the eight changes were found within one benchmarked commit and at most one finding is
    false.
    """
    from knickpoint.demo.demonstration import run_demonstration
    from knickpoint.demo.measurement import ROUNDS

    comparison = run_demonstration(
        directory,
        rounds=rounds or ROUNDS,
        announce=announcer(),
        progress=lambda label: Progress(label, patience=0),
    )
    note("")
    click.echo(_table(comparison))
    click.echo(
        f"{comparison.count_found} of {len(comparison.changes)} changes found within one benchmarked commit, "
        f"{len(comparison.false)} false finding{'' if len(comparison.false) == 1 else 's'}."
    )
    note(f"To find the commit of a slowdown: {_bisection(directory)}")
    wanted = sys.stdout.isatty() if serve is None else serve
    if not wanted:
        note(f"To see it: knick serve --instance {directory}")
        good = comparison.count_found >= _ENOUGH_FOUND and len(comparison.false) <= _FEW_FALSE
        raise click.exceptions.Exit(0 if good else 1)
    from knickpoint.cli.commands.serve import serve_instance

    serve_instance(str(directory), port=port)
