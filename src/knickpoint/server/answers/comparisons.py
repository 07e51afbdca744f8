"""Build the answers about two commits that are compared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final

import numpy as np

from knickpoint.instance import Instance
from knickpoint.instance.named_commits import named_position
from knickpoint.model.commit import Line
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.query import parse_query
from knickpoint.model.summary import read_summary
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.compared_rows import ComparedRow, RowRequest, list_rows
from knickpoint.server.schemas.comparisons import ComparisonAnswer, ComparisonSideAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.watch.commit_comparison import ComparedTrace, LinePosition, compare_commits

__all__ = ["MOST_COMPARED", "ComparisonRequest", "commit_side", "compare", "find_revision"]

MOST_COMPARED: Final = 2_000
"""Traces of one comparison: all of them are read and judged together."""

_NEWEST: Final = "newest"


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What to compare: a revision on a line each, the traces of ``query``, and which rows of the list."""

    repository: str
    line: str
    head_line: str
    base: str
    head: str
    query: str
    summary: str
    values: int
    rows: RowRequest


def compare(visible: VisibleRepositories, instance: Instance, wanted: ComparisonRequest) -> ComparisonAnswer:
    """Return the verdicts on the traces of a query.

    Raises:
        HistoryError: there is no such repository, line or commit, or a commit is not on its line.
        InputError: the query selects too many traces, or the head does not come after the base.
        QueryError: the query cannot be read.
    """
    store = visible.store
    base_line = visible.line(wanted.repository, wanted.line)
    head_line = visible.line(wanted.repository, wanted.head_line) if wanted.head_line else base_line
    base = find_revision(instance, base_line, wanted.base)
    head = find_revision(instance, head_line, wanted.head)
    ids = store.traces.select(base_line.repository, parse_query(wanted.query))
    if len(ids) > MOST_COMPARED:
        raise InputError(
            f"the query selects {len(ids):,} traces",
            where="query",
            remedy=f"Select at most {MOST_COMPARED:,}, for example one benchmark, suite or configuration.",
        )
    summary = read_summary(wanted.summary)
    found = compare_commits(store, base, head, ids.tolist(), values=wanted.values, summary=summary)
    listed = list_rows([_row(each) for each in found.traces], wanted.rows)
    return ComparisonAnswer(
        repository=base_line.repository.name,
        base=commit_side(store, base),
        head=commit_side(store, head),
        query=wanted.query,
        summary=wanted.summary,
        selected=len(ids),
        compared=len(found.traces),
        counts=dict(found.counts),
        false_positives=found.false_positives,
        replayed=found.replayed,
        total=listed.total,
        by=listed.by,
        suites=listed.suites,
        traces=listed.traces,
    )


def commit_side(store: Store, at: LinePosition) -> ComparisonSideAnswer:
    """Return the side of a comparison that is a commit."""
    [found] = store.commits.get(at.line.repository, [at.line.slots[at.position]])
    return ComparisonSideAnswer(line=at.line.name, commit=commit_answer(found.commit, at.position))


def _row(each: ComparedTrace) -> ComparedRow:
    trace = each.trace
    return ComparedRow(
        trace.key, trace.id, trace.unit, trace.better, each.judgement, each.margin, each.past, each.new, each.decides
    )


# ---- Revisions


def find_revision(instance: Instance, line: Line, revision: str) -> LinePosition:
    """Return the commit of a hash, a number, a day (the last commit of that day or before), ``newest``, or a name of git.

    Raises:
        HistoryError: there is no such commit, or it is not on the line.
    """
    store = instance.store
    if not line.slots:
        raise HistoryError("the line has no commits", where=line.name, remedy="Import results with knick import.")
    if revision == _NEWEST:
        return LinePosition(line, len(line.slots) - 1)
    day = _day(revision)
    if day is not None:
        return LinePosition(line, _position_of_day(store, line, day))
    found = store.commits.find(line.repository, revision)
    named = named_position(instance, line, revision) if found is None else None
    if named is not None:
        return LinePosition(line, named)
    if found is None:
        raise HistoryError(
            f"there is no commit {revision!r}",
            where=line.repository.name,
            remedy="Give its hash or its number, a day as 2026-03-14, newest, or a tag or a branch that the repository has here.",
        )
    position = line.positions.get(found.slot)
    if position is None:
        raise HistoryError(
            f"the commit {revision!r} is not on the line {line.name!r}",
            where=line.repository.name,
            remedy="Name the line of each of the two commits.",
        )
    return LinePosition(line, position)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == len("2026-03-14") else None
    except ValueError:
        return None


def _position_of_day(store: Store, line: Line, day: date) -> int:
    """Return the position of the last commit at the end of a day, in UTC."""
    end = datetime.combine(day, time.max, UTC).timestamp()
    times = store.commits.times(line.repository, line.slots)
    reached = np.flatnonzero((times != 0.0) & (times <= end))
    if not reached.size:
        raise HistoryError(
            f"the line {line.name!r} has no commit up to {day.isoformat()}",
            where=line.repository.name,
            remedy="Choose a later day.",
        )
    return int(reached[-1])
