"""``knick export``: the points, one row each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.model.errors import InputError, StoreError

if TYPE_CHECKING:
    from knickpoint.model.query import Query
    from knickpoint.store import Store

__all__ = ["command"]


def _write(store: Store, query: Query, line: str, output: str, path: Path | None) -> int:
    from knickpoint.store import export

    if output == "parquet":
        if path is None:
            raise InputError("Parquet is not text", where="--format parquet", remedy="Name a file with --output.")
        return export.write_parquet(export.batches(store, line=line, query=query), path)
    write = export.write_json if output == "json" else export.write_csv
    points = export.rows(store, line=line, query=query)
    if path is None:
        return write(points, sys.stdout)
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            return write(points, file)
    except OSError as error:
        raise StoreError(
            f"the file cannot be written: {error.strerror}", where=str(path), remedy="Choose another with --output."
        ) from error


@click.command("export")
@click.option(
    "--format",
    "output",
    type=click.Choice(["csv", "parquet", "json"]),
    default="csv",
    show_default=True,
    help="How to write the points.",
)
@click.option(
    "--output", "path", type=click.Path(dir_okay=False, path_type=Path), default=None, help="The file. Default: print."
)
@click.option("--query", "query_text", default="", help="Only the traces that match, as in 'benchmark=parse os=linux'.")
@click.option("--line", default="", help="The line (branch). Default: that of each repository.")
@instance_option
def command(output: str, path: Path | None, query_text: str, line: str, instance: str | None) -> None:
    """Write the points, one row each: repository, line, trace key, unit, position, commit, value, direction, time.

    The time is that of the commit. The order and the columns are stable and hold no ids or times of this instance: two
    instances with the same results write the same text. `knick detect` reads it, and `knick import` makes the same
    points of it, without the runs and samples behind them, which `knick backup` keeps.
    """
    from knickpoint.model.query import parse_query

    with open_chosen_instance(instance) as opened:
        count = _write(opened.store, parse_query(query_text), line, output, path)
    if path is not None:
        click.echo(f"Wrote {count:,} points to {path}.")
