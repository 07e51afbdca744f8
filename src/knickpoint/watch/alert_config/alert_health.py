"""Report which alerts earn their keep: which match nothing, are unsteady, or find mostly what people hide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from knickpoint.model.alert import Alert
from knickpoint.model.query import parse_query
from knickpoint.model.regression import Condition, Status
from knickpoint.store import Store
from knickpoint.store.findings.alerts import AlertRun
from knickpoint.watch.alert_validation import reason_against

__all__ = ["AlertHealth", "health_of_alerts"]

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
