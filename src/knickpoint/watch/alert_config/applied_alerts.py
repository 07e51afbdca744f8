"""Apply the configured alerts: compare them with those applied last, and take back what removed ones found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from knickpoint.model.alert import Alert
from knickpoint.model.errors import ConfigError
from knickpoint.store import Store
from knickpoint.watch.alert_run.comparison import compare_retired
from knickpoint.watch.alert_run.persistence import persist_changes
from knickpoint.watch.alert_validation import check_alert, reason_against
from knickpoint.watch.detection.digests import alert_settings
from knickpoint.watch.lines import Lines
from knickpoint.watch.regressions.membership import regroup

__all__ = ["AlertChange", "Difference", "apply_alerts", "compare_alerts"]


class AlertChange(Enum):
    """What applying the config does to an alert."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Difference:
    """What happens to one alert: ``settings`` are those that differ, name to (before, after).

    ``failure`` says why the alert cannot run, "" where it can.
    """

    name: str
    change: AlertChange
    settings: Mapping[str, tuple[Any, Any]]
    failure: str = ""


def _text(alert: Alert) -> str:
    return json.dumps(alert_settings(alert), sort_keys=True, ensure_ascii=False)


def compare_alerts(store: Store, alerts: Sequence[Alert]) -> list[Difference]:
    """Compare ``alerts`` with those that were applied last, by name.

    An alert that has run without being applied and no longer exists counts as removed: so do its findings.

    Raises:
        ConfigError: two alerts have one name.
    """
    names = [alert.name for alert in alerts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"two alerts are called {twice[0]!r}", remedy="Give every alert a name of its own.")
    repositories = [repository.name for repository in store.commits.repositories()]
    failures = {alert.name: reason_against(alert, repositories) for alert in alerts}
    stored = {name: json.loads(text) for name, text in store.findings.alerts.stored().items()}
    wanted = {alert.name: json.loads(_text(alert)) for alert in alerts}
    differences = []
    for name in sorted({*stored, *wanted, *store.findings.sightings.alerts()}):
        old, new = stored.get(name, {}), wanted.get(name, {})
        settings = {key: (old.get(key), new.get(key)) for key in sorted({*old, *new}) if old.get(key) != new.get(key)}
        if name not in wanted:
            change = AlertChange.REMOVED
        elif name not in stored:
            change = AlertChange.ADDED
        else:
            change = AlertChange.CHANGED if settings else AlertChange.UNCHANGED
        differences.append(Difference(name, change, settings, failures.get(name, "")))
    return differences


def apply_alerts(store: Store, alerts: Sequence[Alert]) -> list[Difference]:
    """Make ``alerts`` the applied ones and take back what others found, in one transaction.

    Findings of removed alerts alone are gone; decisions about them stay in the log. Changed
    alerts show their effect at the next run.

    Raises:
        ConfigError: an alert could not run, or two have one name; nothing is applied.
    """
    differences = compare_alerts(store, alerts)
    for alert in alerts:
        check_alert(alert)
    with store.transaction():
        store.findings.alerts.replace({alert.name: _text(alert) for alert in alerts})
        names = {alert.name for alert in alerts}
        for name in store.findings.sightings.alerts():
            if name not in names:
                _retire(store, name)
    return differences


def _retire(store: Store, name: str) -> None:
    """Take back what the alert ``name`` found, and forget its digests: should it come back, it detects everywhere."""
    store.findings.digests.forget(name)
    for repository in store.commits.repositories():
        lines = Lines(store, repository)
        retired = compare_retired(store, name, lines)
        if retired.changed:
            written = persist_changes(store, retired.changed, lines)
            regroup(store, repository, touched=written.point_ids)
