"""Build the overview: what happened since a time, and what waits for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.instance import Instance
from knickpoint.model.announcement import Announcement, AnnouncementKind
from knickpoint.model.commit import Repository
from knickpoint.model.quarantine import QuarantineState
from knickpoint.model.regression import Direction
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.health import list_alerts
from knickpoint.server.answers.regressions import Listing, Ordering, count_groups, list_regressions
from knickpoint.server.schemas.filters import AlertKindFilter, ListFilter
from knickpoint.server.schemas.overview import (
    DeviceUseAnswer,
    FailingAlertAnswer,
    NewsAnswer,
    OpenWorkAnswer,
    OverviewAnswer,
)
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store

__all__ = ["list_devices", "read_open_work", "read_overview"]

_MOST_NEWS: Final = 12
_LARGEST: Final = 6
_DEVICE_DAYS: Final = 7
_HELD: Final = frozenset({QuarantineState.QUARANTINED})


def read_overview(
    visible: VisibleRepositories, since: datetime, repository: str, work: OpenWorkAnswer
) -> OverviewAnswer:
    """Return what happened since a time in a repository, or in all that the caller may read, and what waits there.

    ``work`` is what :func:`read_open_work` returned for the same repository.

    Raises:
        HistoryError: there is no such repository.
    """
    store, chosen = visible.store, visible.some(repository)
    ledger = store.findings.announcements
    announced: Counter[AnnouncementKind] = Counter()
    news: list[NewsAnswer] = []
    for each in chosen:
        announced.update(ledger.counts_since(each, since))
        news += _news(store, each, ledger.newest_since(each, since, limit=_MOST_NEWS))
    return OverviewAnswer.of(
        work,
        since=since,
        announced=announced,
        news=sorted(news, key=lambda item: item.time, reverse=True)[:_MOST_NEWS],
        mine=_assigned(visible, repository),
    )


def read_open_work(instance: Instance, visible: VisibleRepositories, repository: str) -> OpenWorkAnswer:
    """Return what waits for anybody in a repository, or in all that the caller may read, and what fails there.

    Raises:
        HistoryError: there is no such repository.
    """
    wanted = ListFilter(repository=repository)
    largest = list_regressions(
        visible, Listing(wanted, Ordering.CHANGE, descending=True, page=1, size=_LARGEST, members=1)
    )
    canaries = ListFilter(repository=repository, alert_kind=AlertKindFilter.CANARY)
    quarantines = visible.store.quarantines
    return OpenWorkAnswer(
        waiting=largest.unprocessed,
        canaries=count_groups(visible, canaries).unprocessed,
        quarantined=sum(len(quarantines.all(each, states=_HELD)) for each in visible.some(repository)),
        largest=[group for group in largest.groups if group.members[0].direction is not Direction.IMPROVEMENT],
        failing=[
            FailingAlertAnswer(name=alert.name, reason=alert.failure)
            for alert in list_alerts(instance, visible)
            if alert.failure
        ],
        devices=list_devices(visible.store, visible.some(repository)),
    )


def _assigned(visible: VisibleRepositories, repository: str) -> int:
    """Count the regressions with findings that are assigned to the caller, decided about or not."""
    assigned = ListFilter(repository=repository, assignee=visible.caller.name)
    counted = count_groups(visible, assigned)
    return counted.unprocessed + counted.processed


def _news(store: Store, repository: Repository, announcements: Sequence[Announcement]) -> list[NewsAnswer]:
    slots = [each.suspect_range.slot for each in announcements]
    commits = {found.slot: found.commit for found in store.commits.get(repository, slots)}
    positions = store.commits.line(repository).positions
    traces = store.traces.find_ids(repository, {each.trace_key for each in announcements})
    return [
        NewsAnswer.of(
            each,
            repository=repository.name,
            regression=each.regression_id,
            trace=each.trace_key,
            trace_id=next(iter(traces.get(each.trace_key, [])), None),
            commit=commit_answer(commits[slot], positions.get(slot)) if slot in commits else None,
        )
        for each, slot in zip(announcements, slots, strict=True)
    ]


def list_devices(store: Store, repositories: Sequence[Repository]) -> list[DeviceUseAnswer]:
    """List the devices that made probes for some repositories lately, by name."""
    since = datetime.now(UTC) - timedelta(days=_DEVICE_DAYS)
    return [DeviceUseAnswer.of(use) for use in store.bisections.device_use(repositories, since)]
