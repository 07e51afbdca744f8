"""Build the overview: what happened since a time, and what waits for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.instance import Instance
from knickpoint.model.announcement import Announcement, AnnouncementKind
from knickpoint.model.change_point import Condition
from knickpoint.model.commit import Repository
from knickpoint.model.quarantine import QuarantineState
from knickpoint.model.statement import ChangeCondition, ChangeDirection
from knickpoint.server.answers.changes import change_answers, count_changes, statement_answers
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.filters import members_on_list
from knickpoint.server.answers.health import list_alerts
from knickpoint.server.schemas.changes import ChangeAnswer, StatementAnswer
from knickpoint.server.schemas.filters import AlertKindFilter, ListFilter
from knickpoint.server.schemas.overview import (
    AssignedAnswer,
    DeviceUseAnswer,
    FailingAlertAnswer,
    NewsAnswer,
    OverviewAnswer,
    SharedOverviewAnswer,
)
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.store.findings.change_list import Sort
from knickpoint.store.findings.selection import Selection
from knickpoint.watch.changes.merged_list import merge_changes

__all__ = ["list_devices", "read_assigned", "read_overview", "read_shared_overview"]

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
    """Return what happened since a time in a repository, or in all that the caller may read, and what waits there.

    ``shared`` and ``assigned`` are what :func:`read_shared_overview` and :func:`read_assigned` returned for the same repository.

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
    """Return what is the same for everybody in a repository, or in all that the caller may read.

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
        quarantined=sum(len(quarantines.all(each, states=_HELD)) for each in repositories),
        largest=_largest(visible.store, repositories, unprocessed),
        failing=[
            FailingAlertAnswer(name=alert.name, reason=alert.failure)
            for alert in list_alerts(instance, visible, warnings=False)
            if alert.failure
        ],
        devices=list_devices(visible.store, repositories),
        news=_newest(visible.store, repositories),
    )


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
    """Return whether a change is no longer what was announced of it."""
    recovered = ChangeCondition.RECOVERED if announced.condition is Condition.RECOVERED else ChangeCondition.PRESENT
    condition = _ENDED.get(announced.kind, recovered)
    said = (announced.direction, announced.size_text, condition)
    return stated is None or said != (stated.side, stated.size, stated.condition)


def list_devices(store: Store, repositories: Sequence[Repository]) -> list[DeviceUseAnswer]:
    """List the devices that made probes for some repositories lately, by name."""
    since = datetime.now(UTC) - timedelta(days=_DEVICE_DAYS)
    return [DeviceUseAnswer.of(use) for use in store.bisections.device_use(repositories, since)]
