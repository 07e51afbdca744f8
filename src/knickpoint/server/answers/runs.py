"""Build the answers about runs: those behind a point, and those that gave no value."""

from __future__ import annotations

from typing import Final

from knickpoint.ingest.unmeasured import list_never_measured
from knickpoint.model.commit import Repository, short_name
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.errors import UnknownError
from knickpoint.server.schemas.runs import NeverMeasuredAnswer, RunAnswer, WithoutValueAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store

__all__ = ["list_never_measured_answers", "list_runs", "list_without_value"]

_NEWEST: Final = 2000
"""Commits at the end of a line that are searched for failures."""


def list_runs(visible: VisibleRepositories, key: int, revision: str) -> list[RunAnswer]:
    """Return what each run gave to the trace ``key`` at a commit, including failures and skips.

    Raises:
        UnknownError: there is no such trace or commit.
        HistoryError: more than one commit matches.
    """
    store = visible.store
    repository, trace = visible.trace(key)
    commit = store.commits.find(repository, revision)
    if commit is None:
        raise UnknownError(
            f"there is no commit {short_name(revision)!r}", where=repository.name, remedy="Give its hash or number."
        )
    return [
        RunAnswer.of(point, point.run, unit=point.unit or trace.unit) for point in store.runs.points(key, commit.slot)
    ]


def list_without_value(visible: VisibleRepositories, key: int, line_name: str) -> list[WithoutValueAnswer]:
    """List the runs that gave the trace ``key`` no value at the newest commits of a line, oldest first.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    store = visible.store
    repository, _ = visible.trace(key)
    line = store.commits.line(repository, line_name)
    points = store.runs.without_value(key, line.slots[-_NEWEST:])
    commits = {each.slot: each.commit for each in store.commits.get(repository, [point.run.slot for point in points])}
    by_position = sorted(points, key=lambda point: line.positions[point.run.slot])
    return [
        WithoutValueAnswer.of(
            point, point.run, commit=commit_answer(commits[point.run.slot], line.positions[point.run.slot])
        )
        for point in by_position
    ]


def list_never_measured_answers(store: Store, repository: Repository) -> list[NeverMeasuredAnswer]:
    """List the benchmarks of a repository that have no trace, as every run of them failed or was skipped."""
    return [NeverMeasuredAnswer.of(benchmark) for benchmark in list_never_measured(store, repository)]
