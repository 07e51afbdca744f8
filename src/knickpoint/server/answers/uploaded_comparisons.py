"""Build the answer about results that someone sends to compare them: they are judged as a check, and not stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knickpoint.ingest.new_results import read_uploaded_results
from knickpoint.instance import Instance
from knickpoint.model.errors import InputError
from knickpoint.model.report import RunReport
from knickpoint.server.answers.compared_rows import ComparedRow, RowRequest, list_rows
from knickpoint.server.answers.comparisons import MOST_COMPARED, commit_side, find_revision
from knickpoint.server.schemas.comparisons import ComparisonAnswer, ComparisonSideAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.results_check import CheckedTrace, check_results

__all__ = ["UploadedRequest", "compare_uploaded"]


@dataclass(frozen=True, slots=True)
class UploadedRequest:
    """What the results of the file ``name`` are compared with, and which rows of the list are wanted.

    ``partial`` says that they lack benchmarks on purpose.
    """

    repository: str
    line: str
    base: str
    name: str
    partial: bool
    rows: RowRequest


def compare_uploaded(
    visible: VisibleRepositories, instance: Instance, data: bytes, wanted: UploadedRequest
) -> ComparisonAnswer:
    """Return the verdicts on the results of a file, judged against the history up to a commit.

    Raises:
        FormatError: the file cannot be read; ``where`` names it and the place in it.
        HistoryError: there is no such repository, line or commit, or the commit is not on the line.
        InputError: the file has results of too many traces.
    """
    store, settings = visible.store, instance.config.check
    line = visible.line(wanted.repository, wanted.line)
    base = find_revision(instance, line, wanted.base)
    read = read_uploaded_results(instance, data, name=wanted.name, repository=line.repository.name)
    _check_size(read.runs, wanted.name)
    report = check_results(
        store,
        line.repository,
        read.runs,
        base=line.slots[base.position],
        line=line.name,
        partial=wanted.partial,
        false_positives=settings.false_positives,
        minimum_effect=settings.minimum_effect,
    )
    listed = list_rows([_row(each) for each in report.traces], wanted.rows)
    return ComparisonAnswer(
        repository=line.repository.name,
        base=commit_side(store, base),
        head=ComparisonSideAnswer(file=wanted.name, runs=len(read.runs)),
        query="",
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


def _check_size(runs: Sequence[RunReport], name: str) -> None:
    keys = {key for run in runs for key in run.results.keys}
    if len(keys) > MOST_COMPARED:
        raise InputError(
            f"the file has results of {len(keys):,} traces",
            where=name,
            remedy=f"Send at most {MOST_COMPARED:,}, or use knick check, which has no such limit.",
        )


def _row(each: CheckedTrace) -> ComparedRow:
    number = each.trace.id if each.trace else None
    return ComparedRow(
        each.key, number, each.unit, each.better, each.judgement, each.margin, each.past, each.values, each.decides
    )
