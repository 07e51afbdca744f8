"""Count the findings that go when alerts change or are removed, before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knickpoint.model.alert import Alert
from knickpoint.model.regression import Transition
from knickpoint.store import Store
from knickpoint.watch.alert_run.alert_job import plan_jobs
from knickpoint.watch.alert_run.comparison import (
    AlertComparison,
    TraceComparison,
    compare_alert,
    compare_retired,
    compare_unwatched,
)
from knickpoint.watch.alert_run.persistence import by_trace, point_updates
from knickpoint.watch.alert_validation import reason_against
from knickpoint.watch.lines import Lines
from knickpoint.work import Serial

__all__ = ["Losses", "losses_of"]


@dataclass(frozen=True, slots=True)
class Losses:
    """What becomes of the live findings of one alert.

    ``gone`` counts those that go, and ``decided`` those of them that have a status or a ticket. ``staying`` counts
    those that the alert no longer finds and that stay because another alert finds them.
    """

    gone: int = 0
    decided: int = 0
    staying: int = 0

    def __add__(self, other: Losses) -> Losses:
        """Return the losses of both."""
        return Losses(self.gone + other.gone, self.decided + other.decided, self.staying + other.staying)


def losses_of(store: Store, alerts: Sequence[Alert], names: Collection[str]) -> dict[str, Losses]:
    """Return, for each of ``names``, which of its findings go when ``alerts`` are the ones in force and have run.

    A removed alert finds nothing any more. An alert among ``alerts`` detects anew in the traces in which it found
    something, with its settings there; one that cannot run keeps its findings. Nothing is written. A change point
    that more than one alert found counts for each of them.
    """
    found = dict.fromkeys(names, Losses())
    wanted = {alert.name: alert for alert in alerts}
    repositories = [repository.name for repository in store.commits.repositories()]
    able = [name for name in sorted(found) if name not in wanted or not reason_against(wanted[name], repositories)]
    for repository in store.commits.repositories():
        lines = Lines(store, repository)
        comparisons = [each for name in able for each in _comparisons(store, name, wanted.get(name), lines)]
        for name, losses in _losses(store, comparisons, lines, frozenset(found)):
            found[name] += losses
    return found


def _comparisons(store: Store, name: str, alert: Alert | None, lines: Lines) -> Sequence[TraceComparison]:
    """Return what the alert finds now in the traces in which it found something; None is a removed alert."""
    if alert is None or alert.repository not in {"", lines.repository.name}:
        return compare_retired(store, name, lines).changed
    known = np.array(store.findings.sightings.traces(name, lines.repository), dtype=np.int64)
    concerned = frozenset(known.tolist())
    found: list[TraceComparison] = []
    for job in plan_jobs(store, [alert], lines, traces=known):
        compared = AlertComparison.joined(list(compare_alert(store, job, lines, Serial(), among=concerned)))
        found += compared.changed
        if not (job.failure or compared.failure):
            found += compare_unwatched(store, job, lines).changed
    return found


def _losses(
    store: Store, comparisons: Sequence[TraceComparison], lines: Lines, names: Collection[str]
) -> Iterator[tuple[str, Losses]]:
    """Yield the name of an alert for each change point that it no longer finds, with what becomes of the point."""
    compared = by_trace(comparisons)
    known = store.findings.known(compared.keys())
    stored = store.findings.sightings.of_traces(compared.keys())
    points = store.findings.of_traces(compared.keys())
    for trace, several in compared.items():
        updates = point_updates(several, known.get(trace, []), stored.get(trace, []), lines)
        after: Mapping[int, set[str]] = {
            update.id: {sighting.alert for sighting in update.sightings}
            for update in updates
            if update.transition is not Transition.NEW
        }
        for point in points.get(trace, []):
            remaining = after.get(point.id, set())
            gone = not remaining
            for name in (set(point.alerts) & set(names)) - remaining:
                yield name, Losses(gone=int(gone), decided=int(gone and point.processed), staying=int(not gone))
