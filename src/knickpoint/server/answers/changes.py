"""Answer what is asked about one trace: its levels, its changes, the runs behind a point."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.steps import stable_region
from knickpoint.ingest.unmeasured import list_never_measured
from knickpoint.model.commit import Line, Repository
from knickpoint.model.regression import ChangePoint, Condition
from knickpoint.server.answers.commits import commit_answer, short_hash
from knickpoint.server.answers.regressions import member_answers
from knickpoint.server.answers.traces import find_trace, repository_of, trace_answer
from knickpoint.server.errors import UnknownError
from knickpoint.server.schemas.finite import finite
from knickpoint.server.schemas.regressions import ChangesAnswer, RegionAnswer
from knickpoint.server.schemas.runs import NeverMeasuredAnswer, RunAnswer, WithoutValueAnswer
from knickpoint.store import Store

__all__ = ["list_never_measured_answers", "list_runs", "list_without_value", "read_changes", "split_levels"]

_NEWEST: Final = 2000
"""Commits of a line that are looked at for failures."""


def split_levels(values: NDArray[np.float64], places: Sequence[int]) -> list[RegionAnswer]:
    """Describe the levels of ``values`` between the positions ``places`` at which a new one begins."""
    bounds = [0, *sorted({place for place in places if 0 < place < len(values)}), len(values)]
    levels = []
    for begin, end in pairwise(bounds):
        if np.isnan(values[begin:end]).all():
            continue
        found = stable_region(values, begin, end - 1)
        levels.append(
            RegionAnswer(
                first=found.first,
                last=found.last,
                count=found.count,
                minimum=found.minimum,
                maximum=found.maximum,
                median=found.median,
                mean=found.mean,
                variance=found.variance,
            )
        )
    return levels


def read_changes(store: Store, key: int, line_name: str) -> ChangesAnswer:
    """Return the levels of the trace ``key`` on a line, and the changes between them.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    trace = find_trace(store, key)
    repository = repository_of(store, [trace])
    line = store.commits.line(repository, line_name)
    values = np.asarray(store.frames.values(line, [key])[0], dtype=np.float64)
    measured = np.flatnonzero(~np.isnan(values))
    known = _on_line(store.findings.change_points(key, gone=True), line)
    points = [point for point in known if point.condition is not Condition.GONE]
    gone = [point for point in known if point.condition is Condition.GONE]
    return ChangesAnswer(
        trace=trace_answer(trace, repository.name),
        line=line.name,
        commits=len(line.slots),
        measured=len(measured),
        first=int(measured[0]) if len(measured) else None,
        last=int(measured[-1]) if len(measured) else None,
        regions=split_levels(values, [line.positions[point.suspect_range.slot] for point in points]),
        changes=member_answers(store, repository, points),
        gone=member_answers(store, repository, gone),
    )


def _on_line(points: Sequence[ChangePoint], line: Line) -> list[ChangePoint]:
    """Return the points whose commit is on ``line``."""
    return [point for point in points if point.suspect_range.slot in line.positions]


def list_runs(store: Store, key: int, revision: str) -> list[RunAnswer]:
    """Return what every run gave to the trace ``key`` at a commit, failures and skips included.

    Raises:
        UnknownError: there is no such trace or commit.
        HistoryError: more than one commit fits.
    """
    trace = find_trace(store, key)
    repository = repository_of(store, [trace])
    commit = store.commits.find(repository, revision)
    if commit is None:
        raise UnknownError(
            f"there is no commit {short_hash(revision)!r}", where=repository.name, remedy="Give its hash or number."
        )
    return [
        RunAnswer(
            identity=point.run.identity,
            source=point.run.source,
            time=point.run.time,
            outcome=point.outcome,
            value=finite(point.value),
            unit=point.unit or trace.unit,
            samples=list(point.samples),
            message=point.message,
            environment=dict(point.run.environment),
            links=dict(point.run.links),
        )
        for point in store.runs.points(key, commit.slot)
    ]


def list_without_value(store: Store, key: int, line_name: str) -> list[WithoutValueAnswer]:
    """List the runs that gave the trace ``key`` no value at the newest commits of a line, oldest first.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    repository = repository_of(store, [find_trace(store, key)])
    line = store.commits.line(repository, line_name)
    found = store.runs.without_value(key, line.slots[-_NEWEST:])
    commits = {own.slot: own.commit for own in store.commits.get(repository, [point.run.slot for point in found])}
    answers = [
        WithoutValueAnswer(
            commit=commit_answer(commits[point.run.slot], line.positions[point.run.slot]),
            outcome=point.outcome,
            message=point.message,
            time=point.run.time,
            source=point.run.source,
            links=dict(point.run.links),
        )
        for point in found
    ]
    return sorted(answers, key=lambda answer: answer.commit.position if answer.commit.position is not None else -1)


def list_never_measured_answers(store: Store, repository: Repository) -> list[NeverMeasuredAnswer]:
    """List the benchmarks of a repository that have no trace, as they only failed or were skipped."""
    return [
        NeverMeasuredAnswer(
            params=dict(one.params),
            outcome=one.outcome,
            message=one.message,
            commit=one.commit,
            time=one.time,
            source=one.source,
            runs=one.runs,
        )
        for one in list_never_measured(store, repository)
    ]
