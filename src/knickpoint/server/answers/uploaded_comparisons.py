"""Build the answer about results that someone sends to compare them: they are judged as a check, and not stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from knickpoint.ingest.new_results import NewResults
from knickpoint.instance import Instance
from knickpoint.instance.named_commits import find_revision
from knickpoint.instance.separate_import import read_separately
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.query import parse_query
from knickpoint.model.report import RunReport
from knickpoint.model.summary import read_summary
from knickpoint.model.unit import read_unit
from knickpoint.server.answers.compared_rows import ComparedRow, RowRequest, list_rows
from knickpoint.server.answers.comparisons import MOST_COMPARED, commit_side
from knickpoint.server.schemas.comparisons import ComparisonAnswer, ComparisonSideAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.results_check import CheckedTrace, CheckReport, CheckRules, check_files, check_results

__all__ = ["UploadedRequest", "compare_uploaded"]

_MOST_WARNINGS: Final = 20
"""Warnings about files in an answer."""


@dataclass(frozen=True, slots=True)
class UploadedRequest:
    """What the results of the file ``name`` are compared with, and which rows of the list are wanted.

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
    rows: RowRequest


def compare_uploaded(
    visible: VisibleRepositories, instance: Instance, data: bytes, wanted: UploadedRequest
) -> ComparisonAnswer:
    """Return the verdicts on the results of a file, judged against the history up to a commit, or against another file.

    Raises:
        DeadlineError: the time of the request is up.
        FormatError: a file cannot be read; ``where`` names it and the place in it.
        HistoryError: there is no such repository, line or commit, or the commit is not on the line.
        InputError: a file has results of too many traces, the new results are of several commits, the query selects nothing, or
            an option cannot be.
        QueryError: the query cannot be read.
    """
    settings = instance.config.check
    rules = CheckRules(
        partial=wanted.partial,
        false_positives=settings.false_positives,
        minimum_effect=settings.minimum_effect,
        summary=read_summary(wanted.summary),
        query=parse_query(wanted.query),
    )
    if wanted.base_name or wanted.base_bytes:
        return _compare_files(visible, instance, data, wanted, rules)
    store = visible.store
    line = visible.line(wanted.repository, wanted.line)
    base = find_revision(instance, line, wanted.base)
    read = _read(instance, data, wanted.name, line.repository.name)
    read.check_commit()
    if not wanted.partial:
        read.check_complete()
    report = check_results(
        store, line.repository, read.runs, base=line.slots[base.position], line=line.name, rules=rules
    )
    sides = commit_side(store, base), ComparisonSideAnswer(file=wanted.name, runs=len(read.runs))
    rows = [_row(each, each.trace.id if each.trace else None) for each in report.traces]
    return _answer(line.repository.name, sides, report, rows, wanted, warnings=_warnings(wanted.name, read))


def _compare_files(
    visible: VisibleRepositories, instance: Instance, data: bytes, wanted: UploadedRequest, rules: CheckRules
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
    new.check_commit()
    if not wanted.partial:
        new.check_complete()
    report = check_files(
        base.runs, new.runs, name=before, rules=rules, directions=visible.store.traces.directions, repository=name
    )
    known = _known_ids(visible, repository, report)
    rows = [_row(each, known.get((each.key, read_unit(each.unit).dimension))) for each in report.traces]
    sides = (
        ComparisonSideAnswer(file=before, runs=len(base.runs)),
        ComparisonSideAnswer(file=after, runs=len(new.runs)),
    )
    warnings = [*_warnings(before, base), *_warnings(after, new)]
    # What failed in the new results has a verdict.
    warnings += (f"{before}: {text}" for text in islice(base.failures, _MOST_WARNINGS))
    return _answer(name, sides, report, rows, wanted, warnings=warnings)


def _known_ids(
    visible: VisibleRepositories, repository: Repository | None, report: CheckReport
) -> dict[tuple[str, str], int]:
    """Return key and dimension → id of those of the judged traces that the history has."""
    if repository is None:
        return {}
    traces = visible.store.traces
    found = traces.find_ids(repository, [each.key for each in report.traces])
    known = traces.get([number for ids in found.values() for number in ids])
    return {(trace.key, trace.dimension): trace.id for trace in known}


def _answer(
    repository: str,
    sides: tuple[ComparisonSideAnswer, ComparisonSideAnswer],
    report: CheckReport,
    rows: Sequence[ComparedRow],
    wanted: UploadedRequest,
    *,
    warnings: Sequence[str],
) -> ComparisonAnswer:
    listed = list_rows(rows, wanted.rows)
    return ComparisonAnswer(
        repository=repository,
        base=sides[0],
        head=sides[1],
        query=wanted.query,
        summary=wanted.summary,
        by_samples=report.by_samples,
        warnings=list(warnings[:_MOST_WARNINGS]),
        selected=len(report.traces),
        compared=len(report.traces),
        counts=dict(report.counts),
        false_positives=report.false_positives,
        replayed=report.replayed,
        total=listed.total,
        by=listed.by,
        suites=listed.suites,
        traces=listed.traces,
    )


def _read(instance: Instance, data: bytes, name: str, repository: str) -> NewResults:
    """Return what a file states; nothing of it is kept."""
    read = read_separately(instance, data, name=name, repository=repository)
    _check_size(read.runs, name)
    return read


def _warnings(name: str, read: NewResults) -> list[str]:
    """Return what is odd in the file ``name``: values that are none, for example. The place in it comes first."""
    return [f"{name}: {problem.sentence}" for problem in read.warnings]


def _check_size(runs: Sequence[RunReport], name: str) -> None:
    keys = {key for run in runs for key in run.results.keys}
    if len(keys) > MOST_COMPARED:
        raise InputError(
            f"the file has results of {len(keys):,} traces",
            where=name,
            remedy=f"Send at most {MOST_COMPARED:,}, or use knick check, which has no such limit.",
        )


def _row(each: CheckedTrace, number: int | None) -> ComparedRow:
    return ComparedRow(
        each.key, number, each.unit, each.better, each.judgement, each.margin, each.past, each.values, each.decides
    )
