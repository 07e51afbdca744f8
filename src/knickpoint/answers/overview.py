"""The overview: what happened since a time, and what waits for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, FiniteOrNull
from knickpoint.answers.changes import ChangeAnswer, StatementAnswer, change_answers, count_changes, statement_answers
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.filters import AlertKindFilter, ListFilter, members_on_list
from knickpoint.answers.health import list_alerts
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.gate.environment import ASKED, WINDOW
from knickpoint.instance import Instance
from knickpoint.model.change_point import Condition
from knickpoint.model.commit import Repository
from knickpoint.model.notification import Announcement, AnnouncementKind
from knickpoint.model.quarantine import QuarantineState
from knickpoint.model.statement import ChangeCondition, ChangeDirection
from knickpoint.store import Store
from knickpoint.store.findings.change_list import Sort
from knickpoint.store.findings.selection import Selection
from knickpoint.watch.changes import merge_changes

# The overview: what happened since a time, and what waits.


class NewsAnswer(Answer):
    """One thing that was announced."""

    kind: AnnouncementKind
    time: datetime
    repository: str
    change: ChangeId
    trace: str = Field(description="Key of the trace that led the change then.")
    trace_id: int | None = Field(description="Its id; null where there is no such trace any more.")
    traces: int = Field(description="How many traces were concerned.")
    relative_size: FiniteOrNull
    size: FiniteOrNull
    unit: str
    commit: CommitAnswer | None
    announced_size: str = Field(description="The size of the top trace in words, as it was announced.")
    statement: StatementAnswer | None = Field(
        description="What the change is now; null where it has no trace any more."
    )
    updated: bool = Field(description="Whether the direction, the size or the condition is another one now.")


class DeviceUseAnswer(Answer):
    """What a device did in the last 7 days, by the probes of bisections and schedules."""

    name: str
    probes: int
    lost: int = Field(description="Probes during which it died, hung or lost its network.")
    last: datetime


class MovedEnvironmentAnswer(Answer):
    """A moved environment: pull requests without a common commit moved alike."""

    repository: str
    sentence: str = Field(description="What moved, in which pull requests, since when, and what differs.")
    time: datetime = Field(description="When the newest of them was judged.")


class FailingAlertAnswer(Answer):
    """An alert that cannot run."""

    name: str
    reason: str


class SharedOverviewAnswer(Answer):
    """What is the same for everybody who reads an overview: what waits, what fails, and what was announced lately."""

    waiting: int = Field(description="Number of changes with unprocessed findings.")
    waiting_directions: dict[ChangeDirection, int] = Field(description="Number of these changes, by direction.")
    canaries: int = Field(description="Number of unprocessed changes of canary alerts.")
    unwatched: int = Field(
        description="Number of changes that no alert watches any more: those that stay until the next run, and those "
        "that went in the last 7 days."
    )
    quarantined: int = Field(description="Number of runs whose results are quarantined.")
    environments: list[MovedEnvironmentAnswer] = Field(
        default=[],
        description="Moved environments that one of the newest three checks of pull requests showed in the last 7 days.",
    )
    largest: list[ChangeAnswer] = Field(
        description="The largest unprocessed changes, at most 6, each with its lead; improvements and what recovered "
        "are left out."
    )
    failing: list[FailingAlertAnswer] = Field(description="The alerts that cannot run.")
    devices: list[DeviceUseAnswer]
    news: list[NewsAnswer] = Field(
        description="The newest announcements, at most 12; in an overview those since its time."
    )


class AssignedAnswer(Answer):
    """What is assigned to the caller."""

    mine: int = Field(description="Number of changes with findings that are assigned to the caller.")


class OverviewAnswer(SharedOverviewAnswer, AssignedAnswer):
    """What happened since a time, and what waits."""

    since: datetime
    announced: dict[AnnouncementKind, int] = Field(description="Number of announcements since, by kind.")


# Build the overview: what happened since a time, and what waits for people.


_MOST_NEWS: Final = 12
_LARGEST: Final = 6
_DEVICE_DAYS: Final = 7
_ENDED: Final = {
    AnnouncementKind.RECOVERED: ChangeCondition.RECOVERED,
    AnnouncementKind.FIXED: ChangeCondition.FIXED,
    AnnouncementKind.WITHDRAWN: ChangeCondition.GONE,
}
_HELD: Final = frozenset({QuarantineState.QUARANTINED})


def read_overview(
    visible: VisibleRepositories,
    since: datetime,
    repository: str,
    shared: SharedOverviewAnswer,
    assigned: AssignedAnswer,
) -> OverviewAnswer:
    """Read the events since a time in a repository, or in all that the caller may read, and what waits there.

    ``shared`` and ``assigned`` are what :func:`read_shared_overview` and :func:`read_assigned` returned for the same
    repository.

    Raises:
        HistoryError: there is no such repository.
    """
    announced: Counter[AnnouncementKind] = Counter()
    for each in visible.some(repository):
        announced.update(visible.store.findings.announcements.counts_since(each, since))
    news = [item for item in shared.news if item.time >= since]
    return OverviewAnswer.of(shared, assigned, since=since, announced=announced, news=news)


def read_assigned(visible: VisibleRepositories, repository: str) -> AssignedAnswer:
    """Count the changes with findings that are assigned to the caller, decided about or not."""
    counted = count_changes(visible, ListFilter(repository=repository, assignee=visible.caller.name))
    return AssignedAnswer(mine=counted.unprocessed + counted.processed)


def read_shared_overview(instance: Instance, visible: VisibleRepositories, repository: str) -> SharedOverviewAnswer:
    """Read the part of the overview that is the same for everybody who may read the repositories.

    That is what waits, what fails and what was announced lately.

    Raises:
        HistoryError: there is no such repository.
    """
    repositories = visible.some(repository)
    unprocessed = members_on_list(ListFilter(repository=repository))
    waiting: Counter[ChangeDirection] = Counter()
    for each in repositories:
        waiting.update(visible.store.findings.directions(each, unprocessed))
    canaries = ListFilter(repository=repository, alert_kind=AlertKindFilter.CANARY)
    quarantines = visible.store.quarantines
    return SharedOverviewAnswer(
        waiting=waiting.total(),
        waiting_directions=waiting,
        canaries=count_changes(visible, canaries).unprocessed,
        unwatched=len(visible.store.findings.unwatched_lately(repositories)),
        quarantined=sum(len(quarantines.all(each, states=_HELD)) for each in repositories),
        environments=_environments(visible.store, repositories),
        largest=_largest(visible.store, repositories, unprocessed),
        failing=[
            FailingAlertAnswer(name=alert.name, reason=alert.failure)
            for alert in list_alerts(instance, visible, warnings=False)
            if alert.failure
        ],
        devices=list_devices(visible.store, repositories),
        news=_newest(visible.store, repositories),
    )


def _environments(store: Store, repositories: Sequence[Repository]) -> list[MovedEnvironmentAnswer]:
    """List the moved environment of each repository that the newest checks show."""
    since = datetime.now(UTC) - WINDOW
    found = (
        (each, next((check for check in store.checks.since(each, since, limit=ASKED) if check.environment), None))
        for each in repositories
    )
    return [
        MovedEnvironmentAnswer(repository=each.name, sentence=check.environment, time=check.time)
        for each, check in found
        if check
    ]


def _largest(store: Store, repositories: Sequence[Repository], unprocessed: Selection) -> list[ChangeAnswer]:
    """List the largest changes that are still there and no mere improvement, each with the first of its members."""
    selection = replace(
        unprocessed,
        directions=frozenset(ChangeDirection) - {ChangeDirection.IMPROVEMENT},
        stated_conditions=frozenset({ChangeCondition.PRESENT}),
    )
    largest = [
        (repository, change)
        for repository in repositories
        for change in store.findings.changes(repository, selection=selection, limit=_LARGEST, members=1)
    ]
    return change_answers(store, merge_changes(store, largest, Sort.CHANGE, descending=True)[:_LARGEST])


def _newest(store: Store, repositories: Sequence[Repository]) -> list[NewsAnswer]:
    """List the newest announcements, the newest first."""
    ledger = store.findings.announcements
    news = [item for each in repositories for item in _news(store, each, ledger.newest(each, limit=_MOST_NEWS))]
    return sorted(news, key=lambda item: item.time, reverse=True)[:_MOST_NEWS]


def _news(store: Store, repository: Repository, announcements: Sequence[Announcement]) -> list[NewsAnswer]:
    slots = [each.suspect_range.slot for each in announcements]
    commits = {found.slot: found.commit for found in store.commits.get(repository, slots)}
    positions = store.commits.line(repository).positions
    traces = store.traces.find_ids(repository, {each.trace_key for each in announcements})
    statements = statement_answers(
        store, repository, {each.change_id: each.suspect_range.line for each in announcements}
    )
    return [
        NewsAnswer.of(
            each,
            repository=repository.name,
            change=each.change_id,
            trace=each.trace_key,
            trace_id=next(iter(traces.get(each.trace_key, [])), None),
            commit=commit_answer(commits[slot], positions.get(slot)) if slot in commits else None,
            announced_size=each.size_text,
            statement=statements.get(each.change_id),
            updated=_is_updated(each, statements.get(each.change_id)),
        )
        for each, slot in zip(announcements, slots, strict=True)
    ]


def _is_updated(announced: Announcement, stated: StatementAnswer | None) -> bool:
    """Return True if a change is no longer what was announced of it."""
    recovered = ChangeCondition.RECOVERED if announced.condition is Condition.RECOVERED else ChangeCondition.PRESENT
    condition = _ENDED.get(announced.kind, recovered)
    said = (announced.direction, announced.size_text, condition)
    return stated is None or said != (stated.side, stated.size, stated.condition)


def list_devices(store: Store, repositories: Sequence[Repository]) -> list[DeviceUseAnswer]:
    """List the devices that made probes for some repositories lately, by name."""
    since = datetime.now(UTC) - timedelta(days=_DEVICE_DAYS)
    return [DeviceUseAnswer.of(use) for use in store.bisections.device_use(repositories, since)]
