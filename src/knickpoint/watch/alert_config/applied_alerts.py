"""Apply the configured alerts: compare them with those applied last, and take back what removed ones found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from knickpoint.model.access import AuditKind
from knickpoint.model.alert import Alert, alert_settings, judging_settings, settings_from_json
from knickpoint.model.errors import ConfigError
from knickpoint.store import Store
from knickpoint.watch.alert_run.comparison import compare_retired
from knickpoint.watch.alert_run.persistence import persist_changes
from knickpoint.watch.alert_validation import check_alert, reason_against, reason_of, unknown_reference
from knickpoint.watch.changes.membership import regroup
from knickpoint.watch.lines import Lines

Settings = Mapping[str, object]
"""Settings of an alert by name, as plain JSON."""


class AlertChange(Enum):
    """What applying the config does to an alert."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


class AlertState(Enum):
    """How a defined alert stands to the applied ones; a shadowed one does not run, as another has its name."""

    APPLIED = "applied"
    ADDED = "added"
    CHANGED = "changed"
    SHADOWED = "shadowed"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting of an alert, and its values before and after as plain JSON; None for an alert that is not there."""

    name: str
    before: object
    after: object


@dataclass(frozen=True, slots=True)
class AlertDifference:
    """What happens to one alert, and those of its settings that differ.

    ``failure`` says why the alert cannot run, "" where it can.
    """

    name: str
    change: AlertChange
    settings: tuple[SettingChange, ...]
    failure: str = ""

    @property
    def judges_otherwise(self) -> bool:
        """Whether it may find something else than before."""
        if self.change in {AlertChange.ADDED, AlertChange.REMOVED}:
            return True
        return any(each.name in judging_settings(Alert("")) for each in self.settings)

    @property
    def has_other_kind(self) -> bool:
        """Whether its findings may join or leave the work list because its kind changes."""
        return self.change is AlertChange.CHANGED and any(each.name == "kind" for each in self.settings)


def compare_alerts(store: Store, alerts: Sequence[Alert]) -> list[AlertDifference]:
    """Compare ``alerts`` with those that were applied last, by name.

    An alert that has run without being applied and no longer exists counts as removed: so do its findings.

    Raises:
        ConfigError: two alerts have one name.
        StoreError: the stored settings of an alert are damaged.
    """
    names = [alert.name for alert in alerts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"two alerts are called {twice[0]!r}", remedy="Give every alert a name of its own.")
    known = [Lines(store, repository) for repository in store.commits.repositories()]
    repositories = [lines.repository.name for lines in known]
    failures = {
        alert.name: reason_against(alert, repositories) or reason_of(unknown_reference(alert, known))
        for alert in alerts
    }
    stored, wanted = _applied(store), _wanted(alerts)
    return [
        _difference(name, stored.get(name), wanted.get(name), failures.get(name, ""))
        for name in sorted({*stored, *wanted, *store.findings.sightings.alerts()})
    ]


def alert_states(store: Store, alerts: Sequence[Alert]) -> dict[str, AlertState]:
    """Compare each of ``alerts``, which run, with the applied ones, by name.

    Raises:
        StoreError: the stored settings of an alert are damaged.
    """
    stored = _applied(store)
    return {
        name: AlertState.ADDED
        if name not in stored
        else AlertState.APPLIED
        if stored[name] == settings
        else AlertState.CHANGED
        for name, settings in _wanted(alerts).items()
    }


def _applied(store: Store) -> dict[str, Settings]:
    """Return the applied settings by alert; those that came with a later version have their defaults."""
    defaults = json.loads(_text(Alert("")))
    return {
        name: {**defaults, **settings_from_json(name, text)}
        for name, text in store.findings.alerts_in_force.applied().items()
    }


def _wanted(alerts: Sequence[Alert]) -> dict[str, Settings]:
    return {alert.name: json.loads(_text(alert)) for alert in alerts}


def _difference(name: str, old: Settings | None, new: Settings | None, failure: str) -> AlertDifference:
    """Compare the settings of one alert; None stands for an alert that is not there."""
    before, after = old or {}, new or {}
    changes = tuple(
        SettingChange(key, before.get(key), after.get(key))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    )
    if new is None:
        change = AlertChange.REMOVED
    elif old is None:
        change = AlertChange.ADDED
    else:
        change = AlertChange.CHANGED if changes else AlertChange.UNCHANGED
    return AlertDifference(name, change, changes, failure)


def _text(alert: Alert) -> str:
    return json.dumps(alert_settings(alert), sort_keys=True, ensure_ascii=False)


def apply_alerts(store: Store, alerts: Sequence[Alert], *, who: str) -> list[AlertDifference]:
    """Make ``alerts`` the applied ones and take back what others found, in one transaction.

    Findings of removed alerts alone are gone; decisions about them stay in the log. Changed alerts show their effect at
    the next run. Where there is a difference, the audit log has an entry that names ``who``.

    Raises:
        ConfigError: an alert could not run, or two have one name; nothing is applied.
    """
    for alert in alerts:
        check_alert(alert)
    with store.transaction():
        differences = compare_alerts(store, alerts)
        store.findings.alerts_in_force.replace(alerts)
        store.findings.alerts_in_force.replace_applied({alert.name: _text(alert) for alert in alerts})
        names = {alert.name for alert in alerts}
        for name in store.findings.sightings.alerts():
            if name not in names:
                retire_alert(store, name)
        about = _described(differences)
        if about:
            store.audit.append(AuditKind.ALERTS_APPLIED, who, about)
    return differences


def _described(differences: Sequence[AlertDifference]) -> str:
    """Return the changed alerts by kind of change, as in ``added: a, b; removed: c``."""
    changes = (change for change in AlertChange if change is not AlertChange.UNCHANGED)
    names = {change: [each.name for each in differences if each.change is change] for change in changes}
    return "; ".join(f"{change.value}: {', '.join(some)}" for change, some in names.items() if some)


def retire_alert(store: Store, name: str) -> None:
    """Take back what the alert ``name`` found, and forget its digests: should it come back, it detects everywhere."""
    store.findings.digests.forget(name)
    for repository in store.commits.repositories():
        lines = Lines(store, repository)
        retired = compare_retired(store, name, lines)
        if retired.changed:
            written = persist_changes(store, retired.changed, lines)
            regroup(store, repository, touched=written.point_ids)
