"""``knick traces``: list the traces that a query matches, with how often and when each was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.trace_argument import chosen_repositories, parse_terms
from knickpoint.cli.trace_suggestions import no_trace_remedy
from knickpoint.cli.verbosity import note
from knickpoint.model.errors import InputError
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository
    from knickpoint.model.frame import Trace
    from knickpoint.model.query import Query
    from knickpoint.store import Store

__all__ = ["command"]

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
    """List the traces that QUERY matches, by key: how many values each has on the line, and the newest one.

    QUERY is a list of terms such as benchmark=parse os!=windows; without any, all traces are listed. Several terms need no
    quotes.
    """
    text = " ".join(query)
    with open_chosen_instance(instance) as opened:
        store = opened.store
        repositories = chosen_repositories(store, repository)
        terms = parse_terms(store, repositories, text)
        rows = list(_rows(store, repositories, terms, line))
        if text and not rows:
            raise InputError(
                "no trace matches", where=f"query {text!r}", remedy=no_trace_remedy(store, repositories, text)
            )
    show(_COLUMNS, rows[:limit], output, empty="There are no traces: knick import PATH.")
    if limit is not None and len(rows) > limit:
        note(f"{len(rows) - limit:,} more of {len(rows):,} traces: raise --limit, or narrow the query.", err=True)


def _rows(store: Store, repositories: Sequence[Repository], query: Query, line: str) -> Iterator[Row]:
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
                commit = None if position is None else commits[order.slots[position]]
                yield {
                    **_identity(trace, repository.name, order.name),
                    "values": int(np.count_nonzero(~np.isnan(row))),
                    "newest": None if position is None else float(row[position]),
                    "commit": commit.hash if commit else "",
                    "date": commit.time.date().isoformat() if commit and commit.has_time else "",
                }


def _identity(trace: Trace, repository: str, line: str) -> dict[str, str | int]:
    return {"trace": trace.key, "repository": repository, "line": line, "id": trace.id, "unit": trace.unit}
