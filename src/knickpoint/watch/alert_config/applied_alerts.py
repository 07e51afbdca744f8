"""Alerts as config: check them, compare them with what was applied, apply, and say which earn their keep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np

from knickpoint.model.alert import Alert
from knickpoint.model.errors import ConfigError
from knickpoint.model.query import parse_query
from knickpoint.model.regression import Condition, Status
from knickpoint.store import Store
from knickpoint.store.findings.alerts import AlertRun
from knickpoint.watch.alert_run.persistence import Fresh, settle
from knickpoint.watch.alert_validation import check_alert, reason_against
from knickpoint.watch.detection.digests import definition_of
from knickpoint.watch.lines import Lines
from knickpoint.watch.regressions.membership import regroup

__all__ = [
    "AlertChange",
    "AlertHealth",
    "Difference",
    "apply_alerts",
    "check_alert",
    "compare_alerts",
    "health_of_alerts",
]

_RUNS: Final = 10
"""Complete runs that the report on an alert looks back at."""


_STEADY: Final = 0.8
"""Share of what a run saw that the next run has to see, or else the alert is unsteady."""

_COMPARED: Final = 5
"""Sightings of earlier runs that were looked for again, from which that share says something."""

_MOSTLY: Final = 0.5
"""Share of findings hidden or gone, above which an alert is noisy."""

_ENOUGH: Final = 10
"""Findings from which that share says something."""


class AlertChange(Enum):
    """What applying the config does to an alert."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Difference:
    """One alert, what happens to it, and its settings that differ: name to (before, after).

    ``failure`` says why it cannot run, "" where it can.
    """

    name: str
    change: AlertChange
    settings: Mapping[str, tuple[Any, Any]]
    failure: str = ""


@dataclass(frozen=True, slots=True)
class AlertHealth:
    """Whether an alert earns its keep.

    ``steadiness`` is the share of what runs saw that the next run over the same repository saw again, over the last
    complete runs; ``wasted`` the share of its findings that people hid or that later data took back. Both are nan
    where there is nothing to judge by. ``failure`` says why it cannot run, or could not at the last try, "" where it can.
    ``problems`` says in words what is wrong.
    """

    name: str
    runs: int
    traces: int
    findings: int
    hidden: int
    gone: int
    steadiness: float
    wasted: float
    problems: tuple[str, ...]
    failure: str = ""


def _text(alert: Alert) -> str:
    return json.dumps(definition_of(alert), sort_keys=True, ensure_ascii=False)


def compare_alerts(store: Store, alerts: Sequence[Alert]) -> list[Difference]:
    """Compare ``alerts`` with those that were applied last, by name.

    An alert that has run without being applied, and is not there any more, counts as removed: its findings are.

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
    """Make ``alerts`` the applied ones and take back what others saw, in one transaction.

    Findings that only a removed alert saw are gone; what was decided about them stays in the log. Changed
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
    """Forget what the alert ``name`` saw, and what it judged: an alert of that name that comes back looks at everything."""
    store.findings.digests.forget(name)
    for repository in store.commits.repositories():
        lines = Lines(store, repository)
        ids = np.array(store.findings.sightings.traces(name, repository), dtype=np.int64)
        if not ids.size:
            continue
        touched: list[int] = []
        for frame in store.frames.blocks(lines.default, ids):
            fresh = {
                trace.id: Fresh(
                    trace,
                    {name: ()},
                    {lines.default.name: np.flatnonzero(~np.isnan(frame.values[row])) + frame.first},
                )
                for row, trace in enumerate(frame.traces)
            }
            touched += settle(store, fresh, lines).ids
        regroup(store, repository, touched=touched)


def _steadiness(runs: Sequence[AlertRun]) -> tuple[float, int]:
    """Return how much of what was seen the next runs saw again, and how many sightings were compared.

    Each run counts what it kept and lost of the run before over the same repository. What is new says nothing:
    results came in, or another repository did.
    """
    kept, lost = sum(run.kept for run in runs), sum(run.lost for run in runs)
    return (kept / (kept + lost) if kept + lost else float("nan")), kept + lost


def health_of_alerts(store: Store, alerts: Sequence[Alert]) -> list[AlertHealth]:
    """Report on ``alerts``, by name: which match nothing, which are unsteady, whose findings are mostly wasted.

    An alert that found nothing has no problem: most traces do not change.
    """
    return [_health(store, alert) for alert in sorted(alerts, key=lambda alert: alert.name)]


def _health(store: Store, alert: Alert) -> AlertHealth:
    recent = store.findings.alerts.runs(alert.name, last=1)
    runs = store.findings.alerts.runs(alert.name, last=_RUNS, complete=True)
    failure = reason_against(alert, [repository.name for repository in store.commits.repositories()])
    if failure:
        nothing = float("nan")
        told = (f"cannot run: {failure}",)
        return AlertHealth(alert.name, len(runs), 0, 0, 0, 0, nothing, nothing, told, failure)
    failure = recent[0].failure if recent else ""
    traces = findings = hidden = gone = 0
    for repository in store.commits.repositories():
        if alert.repository not in {"", repository.name}:
            continue
        traces += len(store.traces.select(repository, parse_query(alert.query)))
        counted = store.findings.count_states(repository, alert.name)
        findings += sum(counted.values())
        gone += sum(number for (condition, _), number in counted.items() if condition is Condition.GONE)
        hidden += sum(
            number
            for (condition, status), number in counted.items()
            if status is Status.HIDDEN and condition is not Condition.GONE
        )
    steadiness, compared = _steadiness(runs)
    wasted = (hidden + gone) / findings if findings else float("nan")
    problems = [f"could not run to its end at the last try: {failure}"] if failure else []
    if not traces:
        problems.append("its query matches no trace")
    if compared >= _COMPARED and steadiness < _STEADY:
        problems.append(f"runs see only {steadiness:.0%} of what the runs before saw")
    if findings >= _ENOUGH and wasted > _MOSTLY:
        problems.append(f"{wasted:.0%} of its findings were hidden or went away again")
    return AlertHealth(
        name=alert.name,
        runs=len(runs),
        traces=traces,
        findings=findings,
        hidden=hidden,
        gone=gone,
        steadiness=steadiness,
        wasted=wasted,
        problems=tuple(problems),
        failure=failure,
    )
