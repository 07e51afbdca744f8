"""Say which findings go when alerts change or are no more, before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from knickpoint.model.alert import Alert
from knickpoint.model.query import parse_query
from knickpoint.model.regression import Transition
from knickpoint.store import Store
from knickpoint.watch.alert_run.alert_job import Job, whole_groups
from knickpoint.watch.alert_run.comparison import compare, leave, looked
from knickpoint.watch.alert_run.persistence import Fresh, changes_of
from knickpoint.watch.alert_validation import reason_against
from knickpoint.watch.lines import Lines
from knickpoint.work import Serial

__all__ = ["Losses", "losses_of"]


@dataclass(slots=True)
class Losses:
    """What becomes of the live findings of one alert.

    ``gone`` counts those that go, and ``decided`` those of them that have a status or a ticket. ``staying`` counts
    those that the alert sees no more and that stay because another alert sees them.
    """

    gone: int = 0
    decided: int = 0
    staying: int = 0


def losses_of(store: Store, alerts: Sequence[Alert], names: Collection[str]) -> dict[str, Losses]:
    """Return, for each of ``names``, which of its findings go when ``alerts`` are the ones in force and have run.

    An alert that is not among ``alerts`` sees nothing any more. One that is judges the traces in which it saw something
    anew, by its settings there; one that cannot run keeps what it saw. Nothing is written. Change points of a
    trace that more than one alert saw count for each of them.
    """
    found = {name: Losses() for name in names}
    wanted = {alert.name: alert for alert in alerts}
    repositories = [repository.name for repository in store.commits.repositories()]
    for repository in store.commits.repositories():
        lines = Lines(store, repository)
        fresh: dict[int, Fresh] = {}
        for name in sorted(found):
            alert = wanted.get(name)
            if alert is None or not reason_against(alert, repositories):
                _look(store, name, alert, lines, fresh)
        _count(store, lines, fresh, found)
    return found


def _look(store: Store, name: str, alert: Alert | None, lines: Lines, fresh: dict[int, Fresh]) -> None:
    """Put into ``fresh`` what the alert sees now in the traces in which it saw something; other traces are left out.

    ``alert`` is None where it was removed: then it sees nothing.
    """
    seen = np.array(store.findings.sightings.traces(name, lines.repository), dtype=np.int64)
    job = Job(alert or Alert(name), lines.default, np.empty(0, dtype=np.int64), complete=False)
    if alert is not None and alert.repository in {"", lines.repository.name}:
        with job.guarded():
            job.line = store.commits.line(lines.repository, alert.line)
            job.ids = store.traces.select(lines.repository, parse_query(alert.query))
            job.due = whole_groups(store, alert, job.ids, np.intersect1d(seen, job.ids))
            concerned = set(seen.tolist())
            for block in looked(store, job, lines, Serial()):
                compare(store, job, [look for look in block if look.trace.id in concerned], lines, fresh)
    if not job.failure:
        leave(store, job, np.setdiff1d(seen, job.ids), lines, fresh)


def _count(store: Store, lines: Lines, fresh: dict[int, Fresh], found: dict[str, Losses]) -> None:
    known = store.findings.known(fresh.keys())
    seen = store.findings.sightings.of_traces(fresh.keys())
    points = store.findings.of_traces(fresh.keys())
    for key, entry in fresh.items():
        after = {
            change.id: {sighting.alert for sighting in change.sightings}
            for change in changes_of(entry, known.get(key, []), seen.get(key, []), lines)
            if change.transition is not Transition.NEW
        }
        for point in points.get(key, []):
            remaining = after.get(point.id, set())
            for name in set(point.alerts) & set(found) - remaining:
                losses = found[name]
                losses.gone += not remaining
                losses.decided += not remaining and point.processed
                losses.staying += bool(remaining)
