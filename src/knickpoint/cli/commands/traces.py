"""``knick traces`` and ``query``: the traces that a query matches, and their values or those of a formula."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from knickpoint.cli.options import (
    chosen_repositories,
    instance_option,
    no_trace_remedy,
    open_chosen_instance,
    parse_terms,
)
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError, StoreError
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.answers.traces import MeasuredTraceAnswer
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.model.frame import Trace
    from knickpoint.model.query import Query
    from knickpoint.store import Store
    from knickpoint.store.export import Batch


_VALUES_AT_ONCE: Final = 4_000_000
"""Values that are read at a time; 32 MB."""

_TRACE_COLUMNS = (
    Column("trace"),
    Column("repository", detail=True),
    Column("line", detail=True),
    Column("id", right=True, detail=True),
    Column("values", right=True),
    Column("newest", text=lambda value: "–" if value is None else figure_text(value, ".6g"), right=True),
    Column("unit"),
    Column("commit", text=lambda commit: commit[:10]),
    Column("date"),
)


@click.command("traces")
@click.argument("query", nargs=-1, metavar="[QUERY]…")
@click.option("--repository", default="", metavar="NAME", help="Only this repository.")
@click.option("--line", default="", help="The line (branch). Default: the default line of each repository.")
@click.option("--limit", type=click.IntRange(1), default=None, metavar="N", help="At most N traces.")
@instance_option
@format_option
def traces(
    *, query: tuple[str, ...], repository: str, line: str, limit: int | None, instance: str | None, output: OutputFormat
) -> None:
    """List the traces that QUERY matches, by key, with the number of values on the line and the newest one.

    QUERY is a list of terms such as benchmark=parse os!=windows; without any, all traces are listed. Several terms need
    no quotes.
    """
    text = " ".join(query)
    with open_chosen_instance(instance) as opened:
        store = opened.store
        repositories = chosen_repositories(store, repository)
        terms = parse_terms(store, repositories, text)
        found = list(_measured(store, repositories, terms, line))
        if text and not found:
            raise InputError(
                "no trace matches", where=f"query {text!r}", remedy=no_trace_remedy(store, repositories, text)
            )
    if output is OutputFormat.TEXT:
        show(_TRACE_COLUMNS, map(_row, found[:limit]), output, empty="There are no traces: knick import PATH.")
    else:
        from knickpoint.answers.traces import MeasuredTraceAnswer

        show_answers(MeasuredTraceAnswer, list(map(_answer, found[:limit])), output)
    if limit is not None and len(found) > limit:
        note(f"{len(found) - limit:,} more of {len(found):,} traces: raise --limit, or narrow the query.", err=True)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A trace, how many values it has on a line, and the newest one with its commit and its position."""

    trace: Trace
    repository: str
    line: str
    values: int
    newest: float | None
    commit: Commit | None
    position: int | None


def _measured(store: Store, repositories: Sequence[Repository], query: Query, line: str) -> Iterator[_Measured]:
    for repository in repositories:
        order = store.commits.line(repository, line)
        traces = sorted(
            store.traces.get(store.traces.select(repository, query)), key=lambda each: (each.key, each.unit)
        )
        at_once = max(1, _VALUES_AT_ONCE // max(1, len(order.slots)))
        for begin in range(0, len(traces), at_once):
            some = traces[begin : begin + at_once]
            values = np.asarray(store.frames.values(order, [each.id for each in some]), dtype=np.float64)
            newest = [int(found[-1]) if (found := np.flatnonzero(~np.isnan(row))).size else None for row in values]
            slots = sorted({order.slots[position] for position in newest if position is not None})
            commits = {each.slot: each.commit for each in store.commits.get(repository, slots)}
            for trace, row, position in zip(some, values, newest, strict=True):
                yield _Measured(
                    trace,
                    repository.name,
                    order.name,
                    int(np.count_nonzero(~np.isnan(row))),
                    None if position is None else float(row[position]),
                    None if position is None else commits[order.slots[position]],
                    position,
                )


def _row(each: _Measured) -> Row:
    commit = each.commit
    return {
        "trace": each.trace.key,
        "repository": each.repository,
        "line": each.line,
        "id": each.trace.id,
        "values": each.values,
        "newest": each.newest,
        "unit": each.trace.unit,
        "commit": commit.hash if commit else "",
        "date": commit.time.date().isoformat() if commit and commit.has_time else "",
    }


def _answer(each: _Measured) -> MeasuredTraceAnswer:
    from knickpoint.answers.commits import commit_answer
    from knickpoint.answers.traces import MeasuredTraceAnswer, trace_answer

    commit = commit_answer(each.commit, each.position) if each.commit else None
    return MeasuredTraceAnswer.of(trace_answer(each.trace, each.repository), each, commit=commit)


_NEWEST_IN_TEXT: Final = 10
"""Values of each trace that text shows where no number is given."""

_VALUE_COLUMNS = (
    Column("repository", detail=True),
    Column("line", detail=True),
    Column("id", "trace"),
    Column("pos", right=True),
    Column("commit", text=lambda commit: commit[:10]),
    Column("commit_time", "date", lambda time: time[:10]),
    Column("author", detail=True),
    Column("value", text=lambda value: figure_text(value, ".6g"), right=True),
    Column("unit"),
    Column("better", detail=True),
)


@click.command("query")
@click.argument("query", nargs=-1, metavar="[QUERY]…")
@click.option("--formula", default="", help="A formula instead of a query, such as 'ave(filter(\"os=linux\"))'.")
@click.option("--repository", default="", metavar="NAME", help="Only this repository.")
@click.option("--line", default="", help="The line (branch). Default: the default line of each repository.")
@click.option(
    "--newest",
    type=click.IntRange(1),
    default=None,
    metavar="N",
    help=f"Only the newest N values of each trace. Default: {_NEWEST_IN_TEXT} in text, all in other formats.",
)
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "csv", "json", "parquet"]),
    default="text",
    show_default=True,
    help="How to print the values.",
)
@click.option(
    "--output",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="The file. Default: standard output.",
)
@instance_option
def query(
    *,
    query: tuple[str, ...],
    formula: str,
    repository: str,
    line: str,
    newest: int | None,
    output: str,
    path: Path | None,
    instance: str | None,
) -> None:
    """Print the values of the traces that QUERY matches, or of a formula over them, one row each, oldest first.

    QUERY is a list of terms such as benchmark=parse os!=windows; several terms need no quotes. CSV, JSON and Parquet
    have the columns of `knick export`.
    """
    text = " ".join(query)
    if bool(text) == bool(formula):
        raise InputError(
            "a query and a formula exclude each other" if text else "a query or a formula is required",
            where="QUERY",
            remedy="Write knick query benchmark=parse, or knick query --formula 'ave(filter(\"benchmark=parse\"))'.",
        )
    if output == "text" and path is not None:
        raise InputError(
            "a table of text is not written to a file", where="--output", remedy="Choose --format csv, json or parquet."
        )
    with open_chosen_instance(instance) as opened:
        store = opened.store
        repositories = chosen_repositories(store, repository)
        found = (
            _calculated(store, repositories, formula, line) if formula else _selected(store, repositories, text, line)
        )
        batches = [_newest(batch, newest or (_NEWEST_IN_TEXT if output == "text" else 0)) for batch in found]
    if not any(len(batch.value) for batch in batches):
        raise InputError("there are no values", where=formula or text, remedy="List the traces with knick traces.")
    if output == "text":
        _show(batches, found)
    else:
        _write(batches, output, path)


def _selected(store: Store, repositories: Sequence[Repository], text: str, line: str) -> list[Batch]:
    """Return the values of the traces that a query matches. Raises ``InputError`` where it matches none."""
    from knickpoint.store import export

    terms = parse_terms(store, repositories, text)
    if not any(len(store.traces.select(repository, terms)) for repository in repositories):
        raise InputError("no trace matches", where=f"query {text!r}", remedy=no_trace_remedy(store, repositories, text))
    return list(export.batches(store, repositories, line=line, query=terms))


def _calculated(store: Store, repositories: Sequence[Repository], formula: str, line: str) -> list[Batch]:
    """Return the values of a formula in each repository."""
    from knickpoint.model.frame import Trace
    from knickpoint.model.unit_names import Better
    from knickpoint.store import export
    from knickpoint.watch.formula_traces import calculate_traces

    batches = []
    for repository in repositories:
        order = store.commits.line(repository, line)
        traces, unit = calculate_traces(store, order, formula, short_id=store.shortcuts.get)
        named = [Trace(0, name, unit, "", Better.UNKNOWN) for name in traces.ids]
        batches.append(export.calculated(store, order, named, traces.values))
    return batches


def _newest(batch: Batch, count: int) -> Batch:
    """Return the newest ``count`` points of each trace; 0 means all.

    Points are in the order of traces and positions.
    """
    if not count or not len(batch.trace):
        return batch
    ends = np.searchsorted(batch.trace, batch.trace, side="right")
    kept = ends - np.arange(len(batch.trace)) <= count
    return dataclasses.replace(batch, trace=batch.trace[kept], position=batch.position[kept], value=batch.value[kept])


def _show(batches: Sequence[Batch], found: Sequence[Batch]) -> None:
    from knickpoint.store import export

    layout = export.AUTHORED
    rows = [dict(zip(layout.names, row, strict=True)) for row in export.table_rows(batches, layout)]
    show(_VALUE_COLUMNS, rows, OutputFormat.TEXT)
    left_out = sum(len(batch.value) for batch in found) - len(rows)
    if left_out:
        note(f"{left_out:,} older values: --newest N shows more, --format csv all of them.", err=True)


def _write(batches: Iterable[Batch], output: str, path: Path | None) -> None:
    from knickpoint.store import export

    if output == "parquet":
        if path is None:
            raise InputError("Parquet is not text", where="--format parquet", remedy="Name a file with --output.")
        export.write_parquet(batches, path, export.AUTHORED)
        note(f"Wrote {path}.")
        return
    write = export.write_json if output == "json" else export.write_csv
    points: Iterator[tuple[str | int | float, ...]] = export.table_rows(batches, export.AUTHORED)
    if path is None:
        write(points, sys.stdout, export.AUTHORED.names)
        return
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            write(points, file, export.AUTHORED.names)
    except OSError as error:
        raise StoreError(
            f"the file cannot be written: {error.strerror}", where=str(path), remedy="Choose another with --output."
        ) from error
    note(f"Wrote {path}.")
