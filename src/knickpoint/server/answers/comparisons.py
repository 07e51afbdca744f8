"""Build the answers about two commits that are compared, or about results that someone sends; what is sent is not stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from knickpoint.gate import GateOptions, GateReport, judge_commits, judge_files, judge_upload
from knickpoint.ingest.new_results import NewResults
from knickpoint.instance import Instance
from knickpoint.instance.named_commits import find_revision
from knickpoint.instance.separate_import import read_separately
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.query import parse_query
from knickpoint.model.unit import read_unit
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.compared_benchmarks import ListRequest, list_benchmarks
from knickpoint.server.schemas.comparisons import ComparisonAnswer, ComparisonSideAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.watch.commit_comparison import LinePosition

__all__ = ["ComparisonRequest", "UploadedRequest", "compare", "compare_uploaded"]

_MOST_COMPARED: Final = 2_000
"""Traces of one comparison: all of them are read and judged together."""

_MOST_WARNINGS: Final = 20


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What to compare: a revision on a line each, the traces of ``query``, and which part of the list."""

    repository: str
    line: str
    head_line: str
    base: str
    head: str
    query: str
    summary: str
    values: int
    listed: ListRequest


@dataclass(frozen=True, slots=True)
class UploadedRequest:
    """What the results of the file ``name`` are compared with, and which part of the list is wanted.

    The base is a revision, or with a ``base_name`` or ``base_bytes`` another file: so many bytes of the body, from its beginning.
    ``partial`` says that the new results lack benchmarks on purpose.
    """

    repository: str
    line: str
    base: str
    base_name: str
    base_bytes: int
    name: str
    query: str
    summary: str
    partial: bool
    listed: ListRequest


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
    if len(ids) > _MOST_COMPARED:
        raise InputError(
            f"the query selects {len(ids):,} traces",
            where="query",
            remedy=f"Select at most {_MOST_COMPARED:,}, for example one benchmark, suite or configuration.",
        )
    options = GateOptions(wanted.query, wanted.summary)
    report = judge_commits(instance, base, head, ids.tolist(), options, values=wanted.values)
    sides = _commit_side(store, base), _commit_side(store, head)
    return _answer(base_line.repository.name, sides, report, wanted, selected=len(ids))


def compare_uploaded(
    visible: VisibleRepositories, instance: Instance, data: bytes, wanted: UploadedRequest
) -> ComparisonAnswer:
    """Return the verdicts on the results of a file, judged against the history up to a commit, or against another file.

    Raises:
        DeadlineError: the time of the request is up.
        FormatError: a file cannot be read; ``where`` names it and the place in it.
        HistoryError: there is no such repository, line or commit, or the commit is not on the line.
        InputError: a file has no results or those of too many traces, the new results are of several commits, the query selects
            nothing, or an option cannot be.
        QueryError: the query cannot be read.
    """
    if wanted.base_name or wanted.base_bytes:
        return _compare_files(visible, instance, data, wanted)
    line = visible.line(wanted.repository, wanted.line)
    base = find_revision(instance, line, wanted.base)
    read = _read(instance, data, wanted.name, line.repository.name)
    report = judge_upload(instance, read, _options(wanted), file=wanted.name, base=base)
    sides = _commit_side(visible.store, base), ComparisonSideAnswer(file=wanted.name, runs=len(read.runs))
    return _answer(line.repository.name, sides, report, wanted)


def _compare_files(
    visible: VisibleRepositories, instance: Instance, data: bytes, wanted: UploadedRequest
) -> ComparisonAnswer:
    """Return the verdicts on one part of a body against the other; the history only says which traces it knows."""
    if wanted.base_bytes > len(data):
        raise InputError(
            f"base_bytes is {wanted.base_bytes:,}, and the body has {len(data):,} bytes",
            where="base_bytes",
            remedy="Send the base first and the new results directly behind it; base_bytes is the size of the base.",
        )
    repository = visible.choose(wanted.repository) if wanted.repository or visible.all() else None
    name = repository.name if repository else ""
    before, after = wanted.base_name or "base", wanted.name
    if before == after:
        before, after = f"base {before}", f"new {after}"
    base = _read(instance, data[: wanted.base_bytes], before, name)
    new = _read(instance, data[wanted.base_bytes :], after, name)
    report = judge_files(
        instance.config,
        base,
        new,
        _options(wanted),
        against=[before],
        file=after,
        directions=visible.store.traces.directions,
        repository=name,
        named=True,
    )
    sides = (
        ComparisonSideAnswer(file=before, runs=len(base.runs)),
        ComparisonSideAnswer(file=after, runs=len(new.runs)),
    )
    return _answer(name, sides, _with_known_ids(visible.store, repository, report), wanted)


def _options(wanted: UploadedRequest) -> GateOptions:
    return GateOptions(wanted.query, wanted.summary, partial=wanted.partial)


def _with_known_ids(store: Store, repository: Repository | None, report: GateReport) -> GateReport:
    """Return ``report`` with the ids of those of its traces that the history has."""
    if repository is None:
        return report
    found = store.traces.find_ids(repository, [each.trace for each in report.benchmarks])
    known = store.traces.get([number for ids in found.values() for number in ids])
    ids = {(trace.key, trace.dimension): trace.id for trace in known}
    benchmarks = tuple(
        replace(each, trace_id=ids.get((each.trace, read_unit(each.unit).dimension))) for each in report.benchmarks
    )
    return replace(report, results=replace(report.results, benchmarks=benchmarks))


def _answer(
    repository: str,
    sides: tuple[ComparisonSideAnswer, ComparisonSideAnswer],
    report: GateReport,
    wanted: ComparisonRequest | UploadedRequest,
    *,
    selected: int | None = None,
) -> ComparisonAnswer:
    """Return the answer; ``selected`` are the traces of the query, where there may be more than those that were judged."""
    compared = len(report.benchmarks)
    return ComparisonAnswer.of(
        list_benchmarks(report, wanted.listed),
        report.results,
        repository=repository,
        base=sides[0],
        head=sides[1],
        query=wanted.query,
        summary=wanted.summary,
        warnings=list(report.warnings[:_MOST_WARNINGS]),
        selected=compared if selected is None else selected,
        compared=compared,
        counts=dict(report.results.counts),
    )


def _commit_side(store: Store, at: LinePosition) -> ComparisonSideAnswer:
    """Return the side of a comparison that is a commit."""
    [found] = store.commits.get(at.line.repository, [at.line.slots[at.position]])
    return ComparisonSideAnswer(line=at.line.name, commit=commit_answer(found.commit, at.position))


def _read(instance: Instance, data: bytes, name: str, repository: str) -> NewResults:
    """Return what a file states; nothing of it is kept."""
    read = read_separately(instance, data, name=name, repository=repository)
    keys = {key for run in read.runs for key in run.results.keys}
    if len(keys) > _MOST_COMPARED:
        raise InputError(
            f"the file has results of {len(keys):,} traces",
            where=name,
            remedy=f"Send at most {_MOST_COMPARED:,}, or use knick check, which has no such limit.",
        )
    return read
