"""Count the findings that join or leave the work list because the kind of an alert changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from knickpoint.model.alert import Alert, AlertKind
from knickpoint.model.alert_settings import kind_of_finding
from knickpoint.model.change_point import Condition
from knickpoint.store import Store
from knickpoint.watch.alert_config.finding_preview import Preview

__all__ = ["preview_kinds"]


def preview_kinds(store: Store, alerts: Mapping[str, Alert], names: Collection[str]) -> dict[str, Preview]:
    """Return, for each of ``names``, which of its live findings join or leave the work list when ``alerts`` are in force.

    Only kinds count: findings that the alerts no longer find are those of :func:`.preview_alerts`. A finding of several alerts
    counts for each of ``names``.
    """
    found = dict.fromkeys(names, Preview())
    for repository in store.commits.repositories():
        traces = sorted({trace for name in found for trace in store.findings.sightings.traces(name, repository)})
        for points in store.findings.of_traces(traces).values():
            for point in points:
                kept = [alerts[name] for name in point.alerts if name in alerts]
                if point.condition is Condition.GONE or not kept:
                    continue
                was, will = point.alert_kind is AlertKind.WORK, kind_of_finding(kept) is AlertKind.WORK
                for name in found.keys() & set(point.alerts):
                    found[name] += Preview(off_list=int(was and not will), on_list=int(will and not was))
    return found
