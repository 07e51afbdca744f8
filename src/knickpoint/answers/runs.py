"""The runs behind a point with their environments, and the marks on the lines of a plot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, ChangePointId, FiniteOrNull
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.ingest.unmeasured import list_never_measured
from knickpoint.model.change_point import ChangePoint, Direction, Status
from knickpoint.model.commit import Repository, short_name
from knickpoint.model.errors import InputError
from knickpoint.model.report import Outcome
from knickpoint.model.statement import ChangeCondition, ChangeDirection, Statement
from knickpoint.store import Store
from knickpoint.store.points.environments import environment_changes

# The runs behind a point, with their samples, failures and environments.


# The runs behind a point: their samples, failures and environments.


class FactAnswer(Answer):
    """A fact of an environment that changed."""

    name: str
    before: str
    after: str


class EnvironmentAnswer(Answer):
    """A change of environment between two measured commits next to each other."""

    previous: int = Field(description="Position of the last commit measured in the old environment.")
    position: int = Field(description="Position of the first commit measured in the new one.")
    commit: CommitAnswer
    facts: list[FactAnswer]


class RunAnswer(Answer):
    """One run that has a value for a trace at a commit."""

    identity: str
    source: str
    time: datetime | None
    outcome: Outcome
    value: FiniteOrNull = Field(description="Median of the samples in the unit of the trace; null unless measured.")
    unit: str = Field(description="The unit of the samples in the results file.")
    samples: list[float]
    message: str
    environment: dict[str, str]
    links: dict[str, str]


class WithoutValueAnswer(Answer):
    """A run that gave a trace no value at a commit: the benchmark failed or was skipped."""

    commit: CommitAnswer
    outcome: Outcome
    message: str
    time: datetime | None
    source: str
    links: dict[str, str]


class NeverMeasuredAnswer(Answer):
    """A benchmark without a trace: every run of it failed or was skipped. The newest run describes it."""

    params: dict[str, str]
    outcome: Outcome
    message: str
    commit: str = Field(description="Hash of the commit of the newest run.")
    time: datetime
    source: str
    runs: int = Field(description="How many of the newest runs failed or skipped it.")


# Build the answers about runs: those behind a point, and those that gave no value.


_NEWEST: Final = 2000
"""Commits at the end of a line that are searched for failures."""


def list_runs(visible: VisibleRepositories, key: int, revision: str) -> list[RunAnswer]:
    """List the results of each run for the trace ``key`` at a commit, including failures and skips.

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


# Build the answer where the environment of a trace changed.


def list_environments(visible: VisibleRepositories, key: int, line_name: str) -> list[EnvironmentAnswer]:
    """List the commits of a line at which machine, compiler or runner of the trace ``key`` changed, oldest first.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    store = visible.store
    repository, _ = visible.trace(key)
    line = store.commits.line(repository, line_name)
    changes = environment_changes(store.frames, store.runs, line, key)
    commits = {each.slot: each.commit for each in store.commits.get(repository, [change.slot for change in changes])}
    return [
        EnvironmentAnswer(
            previous=line.positions[change.previous],
            position=line.positions[change.slot],
            commit=commit_answer(commits[change.slot], line.positions[change.slot]),
            facts=[
                FactAnswer(name=name, before=before, after=after)
                for name, (before, after) in sorted(change.facts.items())
            ],
        )
        for change in changes
        if change.slot in commits
    ]


# Marks on the lines of a plot: change points, and changes of environment.


# What stands on the lines of a plot: findings, and changes of environment.


class FindingMarkAnswer(Answer):
    """A change point, in the few words that a plot of many lines has room for."""

    id: ChangePointId
    status: Status
    direction: Direction = Field(description="The direction of the change point.")
    change: ChangeId | None = Field(description="The change that it belongs to.")
    headline: str = Field(description="What that change is, as its statement says; empty without one.")
    stated: ChangeDirection = Field(description="The direction of that change.")
    condition: ChangeCondition = Field(description="The condition of that change.")
    traces: int = Field(description="How many traces that change counts.")
    size_text: str = Field(description="The size of the change point in words, as `12 % slower`.")
    size: float = Field(description="Level after minus level before, in the unit of the trace.")
    relative_size: FiniteOrNull = Field(description="size / |level before|; null where the level before is 0.")


class MarkAnswer(Answer):
    """A finding on a trace, or a change of its environment, at a commit of the line."""

    trace: int
    position: int = Field(description="Position of the first commit at the new level, or in the new environment.")
    finding: FindingMarkAnswer | None = Field(description="null for a change of environment.")
    facts: list[FactAnswer] = Field(description="What changed in the environment; empty for a finding.")


# Build the answer what stands on the lines of a plot: findings, and changes of environment.


_MOST_WITH_ENVIRONMENTS: Final = 16
"""Traces whose environments one request may ask for: each costs a pass over its runs."""


def list_marks(
    visible: VisibleRepositories, keys: Sequence[int], line_name: str, *, environments: bool
) -> list[MarkAnswer]:
    """List the findings on the traces ``keys`` at commits of a line, and where asked for the changes of environment.

    Raises:
        UnknownError: one of the traces does not exist.
        HistoryError: there is no such line.
        InputError: there are too many traces for their environments.
    """
    if environments and len(keys) > _MOST_WITH_ENVIRONMENTS:
        raise InputError(
            f"environments of {len(keys)} traces",
            remedy=f"Ask for at most {_MOST_WITH_ENVIRONMENTS} traces at once, or leave environments out.",
        )
    store = visible.store
    repository, _ = visible.traces(keys)
    line = store.commits.line(repository, line_name)
    points = [
        point
        for of_trace in store.findings.of_traces(keys).values()
        for point in of_trace
        if point.suspect_range.slot in line.positions
    ]
    stated = store.findings.statements.of_changes({point.change_id for point in points})
    found = [_finding(point, line.positions[point.suspect_range.slot], stated.get(point.change_id)) for point in points]
    changes = (
        (mark_environment(key, change) for key in keys for change in list_environments(visible, key, line_name))
        if environments
        else ()
    )
    return sorted([*found, *changes], key=lambda mark: (mark.trace, mark.position))


def mark_environment(key: int, change: EnvironmentAnswer) -> MarkAnswer:
    """Return the mark of a change of environment on the trace ``key``."""
    return MarkAnswer(trace=key, position=change.position, finding=None, facts=change.facts)


def _finding(point: ChangePoint, position: int, stated: Statement | None) -> MarkAnswer:
    found = FindingMarkAnswer.of(
        point,
        point.numbers,
        change=point.change_id or None,
        status=point.effective_status,
        headline=stated.headline if stated else "",
        stated=stated.direction if stated else ChangeDirection(point.direction.value),
        condition=stated.condition if stated else ChangeCondition(point.condition.value),
        traces=stated.traces if stated else 1,
    )
    return MarkAnswer(trace=point.trace_id, position=position, finding=found, facts=[])
