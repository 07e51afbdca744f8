"""Build the answers about two commits that are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from knickpoint.instance import Instance
from knickpoint.instance.named_commits import find_revision
from knickpoint.model.errors import InputError
from knickpoint.model.query import parse_query
from knickpoint.model.summary import read_summary
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.compared_rows import ComparedRow, RowRequest, list_rows
from knickpoint.server.schemas.comparisons import ComparisonAnswer, ComparisonSideAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.watch.commit_comparison import ComparedTrace, LinePosition, compare_commits

__all__ = ["MOST_COMPARED", "ComparisonRequest", "commit_side", "compare"]

MOST_COMPARED: Final = 2_000
"""Traces of one comparison: all of them are read and judged together."""


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
    settings = instance.config.check
    found = compare_commits(
        store,
        base,
        head,
        ids.tolist(),
        values=wanted.values,
        summary=summary,
        false_positives=settings.false_positives,
        minimum_effect=settings.minimum_effect,
    )
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
