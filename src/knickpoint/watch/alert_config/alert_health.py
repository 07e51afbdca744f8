"""Report how alerts do: which match nothing, find other things at each run, or find mostly what people hide."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from knickpoint.detect.samples import short_text
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Condition, Status
from knickpoint.model.commit import Repository
from knickpoint.model.quantity_text import figure_text, percent_text
from knickpoint.model.query import parse_query
from knickpoint.model.summary import read_summary
from knickpoint.store import Store
from knickpoint.store.commit_rows import listed
from knickpoint.store.findings.alert_definitions import AlertRun
from knickpoint.watch.alert_validation import reason_against, reason_of, unknown_reference
from knickpoint.watch.detection.alert_settings import watched_traces
from knickpoint.watch.lines import Lines

_RUNS: Final = 10
"""How many complete runs the report on an alert covers."""

_STEADY: Final = 0.8
"""Share of the sightings of a run that the next run has to find again, or else the alert is unsteady."""

_COMPARED: Final = 5
"""Number of sightings of earlier runs from which that share is meaningful."""

_MOSTLY: Final = 0.5
"""Share of findings hidden or gone, above which an alert is noisy."""
_HUGE_EFFECT: Final = 1.0
"""A least effect from which on it was rather meant in percent."""

_ENOUGH: Final = 10
"""Number of findings from which that share is meaningful."""

_BRANCHES: Final = frozenset({"branch", "git_branch"})

_SAMPLED_TRACES: Final = 16
_SAMPLED_COMMITS: Final = 32
"""Traces, and their newest measured commits, whose samples say whether there are enough for a percentile."""


@dataclass(frozen=True, slots=True)
class AlertHealth:
    """How one alert does.

    ``steadiness`` is the share of the sightings of runs that the next run over the same repository found again, over
    the last complete runs; ``wasted`` the share of its findings that people hid or that later data took back. Both are
    nan where there is nothing to judge by. ``failure`` says why the alert cannot run, or could not at the last attempt,
    "" where it can. ``problems`` describes in words what is wrong.
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


@dataclass(frozen=True, slots=True)
class _Findings:
    """Counts over all repositories: traces that the query matches, findings, and those that are hidden or gone."""

    traces: int = 0
    findings: int = 0
    hidden: int = 0
    gone: int = 0

    @property
    def wasted(self) -> float:
        return (self.hidden + self.gone) / self.findings if self.findings else math.nan


@dataclass(frozen=True, slots=True)
class _Steadiness:
    """How many of the ``compared`` sightings of earlier runs the next runs found again."""

    kept: int
    compared: int

    @property
    def share(self) -> float:
        return self.kept / self.compared if self.compared else math.nan


def health_of_alerts(store: Store, alerts: Sequence[Alert]) -> list[AlertHealth]:
    """Report on ``alerts``, by name: which match nothing, which are unsteady, whose findings are mostly wasted.

    An alert that found nothing has no problem: most traces do not change.
    """
    return [_health(store, alert) for alert in sorted(alerts, key=lambda alert: alert.name)]


def _health(store: Store, alert: Alert) -> AlertHealth:
    repositories = store.commits.repositories()
    recent = newest_runs(alert, store.findings.alert_runs.newest(alert.name), repositories)
    runs = store.findings.alert_runs.runs(alert.name, last=_RUNS, complete=True)
    unable = reason_against(alert, [repository.name for repository in repositories])
    unable = unable or reason_of(unknown_reference(alert, [Lines(store, repository) for repository in repositories]))
    counted = _Findings() if unable else _count(store, alert)
    steadiness = _steadiness(() if unable else runs)
    failure = unable or next((run.failure for run in recent if run.failure), "")
    return AlertHealth(
        name=alert.name,
        runs=len(runs),
        traces=counted.traces,
        findings=counted.findings,
        hidden=counted.hidden,
        gone=counted.gone,
        steadiness=steadiness.share,
        wasted=counted.wasted,
        problems=(f"cannot run: {unable}",)
        if unable
        else (
            *_problems(failure, counted, steadiness, alert.minimum_effect),
            *_missing_line(store, alert, repositories),
            *filter(None, [missing_params(store, alert)]),
            *_too_few_samples(store, alert, repositories),
        ),
        failure=failure,
    )


def newest_runs(alert: Alert, runs: Sequence[AlertRun], repositories: Sequence[Repository]) -> list[AlertRun]:
    """Return those of ``runs``, the last over each repository, that are about a repository which ``alert`` watches.

    Runs of older versions do not name their repository, and count as well.
    """
    watched = {each.id for each in repositories if alert.repository in {"", each.name}} | {0}
    return [run for run in runs if run.repository_id in watched]


def _count(store: Store, alert: Alert) -> _Findings:
    """Count what the alert matches and found, in every repository that it watches."""
    repositories = [each for each in store.commits.repositories() if alert.repository in {"", each.name}]
    states: Counter[tuple[Condition, Status]] = Counter()
    for repository in repositories:
        states.update(store.findings.count_states(repository, alert.name))
    return _Findings(
        traces=sum(len(watched_traces(store, alert, each)) for each in repositories),
        findings=states.total(),
        hidden=sum(
            number
            for (condition, status), number in states.items()
            if status is Status.HIDDEN and condition is not Condition.GONE
        ),
        gone=sum(number for (condition, _), number in states.items() if condition is Condition.GONE),
    )


def _steadiness(runs: Sequence[AlertRun]) -> _Steadiness:
    """Return the steadiness of ``runs``: each counts what it kept and lost of the run before over the same repository.

    New sightings do not count: results came in, or another repository did.
    """
    kept, lost = sum(run.kept for run in runs), sum(run.lost for run in runs)
    return _Steadiness(kept, kept + lost)


def _problems(failure: str, counted: _Findings, steadiness: _Steadiness, minimum_effect: float) -> Iterator[str]:
    """Yield in words what is wrong with an alert that can run."""
    if failure:
        yield f"failed in its last run: {failure}"
    if not counted.traces:
        yield "its query matches no trace"
    if minimum_effect >= _HUGE_EFFECT:
        yield (
            f"it reports only changes of {percent_text(minimum_effect)} and more (minimum_effect = {minimum_effect:g})"
        )
    if steadiness.compared >= _COMPARED and steadiness.share < _STEADY:
        yield f"runs find only {figure_text(steadiness.share, '.0%')} of what earlier runs found"
    if counted.findings >= _ENOUGH and counted.wasted > _MOSTLY:
        yield f"{figure_text(counted.wasted, '.0%')} of its findings were hidden or disappeared"


def _missing_line(store: Store, alert: Alert, repositories: Sequence[Repository]) -> Iterator[str]:
    """Yield that none of the repositories of the alert has the line that it names, as after its branch was renamed."""
    watched = [each for each in repositories if alert.repository in {"", each.name}]
    if alert.line and watched and not any(alert.line in store.commits.lines(each) for each in watched):
        known = listed(sorted({name for each in watched for name in store.commits.lines(each)}))
        yield f"it judges nothing: there is no line {alert.line!r}; known lines: {known}"


def missing_params(store: Store, alert: Alert, repositories: Sequence[Repository] | None = None) -> str:
    """Return the params of ``group_by`` that no trace of the alert has; "" for none.

    Only ``repositories`` count, all without them.

    Raises:
        QueryError: the query of the alert cannot be read.
    """
    if not alert.group_by:
        return ""
    everywhere = store.commits.repositories() if repositories is None else repositories
    watched = [each for each in everywhere if alert.repository in {"", each.name}]
    known = {name for each in watched for name in store.traces.facets(each, parse_query(alert.query))}
    missing = [name for name in alert.group_by if name not in known] if known else []
    if not missing:
        return ""
    hint = ""
    if any(name.lower() in _BRANCHES for name in missing):
        hint = "; a column of this name is the branch of the run, unless it is called param:branch"
    return f"group_by names {listed(missing)}, which no trace has; params are: {listed(sorted(known))}{hint}"


def _too_few_samples(store: Store, alert: Alert, repositories: Sequence[Repository]) -> Iterator[str]:
    """Yield that the alert judges a percentile for which the newest runs of some traces have too few samples."""
    if not alert.summary:
        return
    summary, most = read_summary(alert.summary), 0
    for repository in repositories:
        ids = watched_traces(store, alert, repository)[:_SAMPLED_TRACES]
        if not ids.size:
            continue
        line = Lines(store, repository).line(alert.line)
        measured = np.flatnonzero((~np.isnan(store.frames.values(line, ids.tolist()))).any(axis=0))
        found = store.samples.read(line, ids, first=int(measured[-_SAMPLED_COMMITS:].min(initial=len(line.slots))))
        most = max(most, 1, int(found.sizes.max(initial=0)))
        if most >= summary.fewest:
            return
    if most:
        yield f"{short_text(summary, most)}, as far as was examined"
