"""``knick traces``: list the traces that a query matches, with how often and when each was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from knickpoint.cli.arguments import chosen_repositories, no_trace_remedy, parse_terms
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.answers.traces import MeasuredTraceAnswer
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.model.frame import Trace
    from knickpoint.model.query import Query
    from knickpoint.store import Store

_VALUES_AT_ONCE: Final = 4_000_000
"""Values that are read at a time; 32 MB."""

_COLUMNS = (
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
def command(
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
        show(_COLUMNS, map(_row, found[:limit]), output, empty="There are no traces: knick import PATH.")
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
