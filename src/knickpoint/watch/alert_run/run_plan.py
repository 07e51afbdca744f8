"""Plan a run before anything is changed: which alerts, which repositories, and what each alert has to do there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import direction_of
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.unit_names import Better
from knickpoint.store import Store
from knickpoint.store.traces.traces import OwnedTrace
from knickpoint.watch.alert_run.alert_job import AlertJob, failure_of, plan_jobs, unable_job
from knickpoint.watch.alert_run.comparison import AlertComparison, TraceComparison, compare_alert
from knickpoint.watch.alert_validation import reason_against
from knickpoint.watch.detection.alert_settings import whole_groups
from knickpoint.watch.lines import Lines
from knickpoint.work import Serial


class TurnedTrace(NamedTuple):
    """A trace of which another direction is better now.

    ``better`` is the former one, by which ``findings`` were judged; ``owned`` has the one of now, and the repository's
    id.
    """

    better: Better
    findings: int
    owned: OwnedTrace


def turned_traces(store: Store) -> dict[int, TurnedTrace]:
    """Find the traces whose live findings would turn: rules, results or units name another direction now."""
    judged = store.findings.judged_sizes()
    found = {}
    for key, owned in store.traces.owned(sorted(judged), kept=False).items():
        now = owned.trace.better
        turned = [(size, way) for size, way in judged[key] if direction_of(size, now) is not way]
        former = [better for size, way in turned for better in Better if direction_of(size, better) is way]
        if former:
            found[key] = TurnedTrace(former[0], len(turned), owned)
    return found


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run is asked for.

    ``in_force`` are the names of all alerts that exist, None where the run is restricted and retires none. ``traces``
    are those of an event, None for all.
    """

    alerts: Sequence[Alert]
    in_force: frozenset[str] | None
    traces: NDArray[np.int64] | None
    afresh: bool
    as_work: bool


@dataclass(frozen=True, slots=True)
class RepositoryPlan:
    """What a run does in one repository.

    ``first_boundary`` are the slots at which it sets the history boundary, None where there is one already, or nothing
    was measured. ``in_force`` is that of the request. ``elsewhere`` are names of alerts that are for another repository
    now, and found something here. ``begun`` is when the run began: what it finds was found then.
    """

    lines: Lines
    jobs: tuple[AlertJob, ...]
    first_boundary: frozenset[int] | None
    in_force: frozenset[str] | None
    elsewhere: tuple[str, ...] = ()
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def complete(self) -> bool:
        """Whether the run is about all traces of an alert."""
        return any(job.complete for job in self.jobs)


def chosen_alerts(alerts: Sequence[Alert], names: Collection[str]) -> list[Alert]:
    """Return the alerts called ``names``, all where there are none, by name."""
    known = Counter(alert.name for alert in alerts)
    if twice := sorted(name for name, count in known.items() if count > 1):
        raise InputError(f"two alerts are called {twice[0]!r}", remedy="Give every alert a name of its own.")
    if missing := sorted(set(names) - set(known)):
        raise InputError(
            f"there is no alert {missing[0]!r}", remedy=f"The alerts are: {', '.join(sorted(known)) or 'none'}."
        )
    return sorted((alert for alert in alerts if not names or alert.name in names), key=lambda alert: alert.name)


def unable_alerts(alerts: Sequence[Alert], known: Sequence[Lines]) -> dict[str, str]:
    """Return the alerts that cannot run, by name, and why."""
    repositories = [lines.repository.name for lines in known]
    return {alert.name: reason for alert in alerts if (reason := reason_against(alert, repositories))}


def plan_run(
    store: Store, request: RunRequest, known: Sequence[Lines], unable: Mapping[str, str]
) -> list[RepositoryPlan]:
    """Plan the run in every repository before the first is changed."""
    # Results that arrive from here on are newer than what the first run over a repository finds.
    boundaries = [_first_boundary(store, lines.repository, as_work=request.as_work) for lines in known]
    able = [alert for alert in request.alerts if alert.name not in unable]
    failed = [alert for alert in request.alerts if alert.name in unable]
    return [
        RepositoryPlan(
            lines,
            (
                *plan_jobs(store, able, lines, traces=request.traces, afresh=request.afresh),
                *(unable_job(alert, unable[alert.name], lines) for alert in failed),
            ),
            boundary,
            request.in_force,
            _elsewhere(store, able, lines.repository) if request.in_force is not None else (),
        )
        for lines, boundary in zip(known, boundaries, strict=True)
    ]


def _elsewhere(store: Store, alerts: Sequence[Alert], repository: Repository) -> tuple[str, ...]:
    """Return those of ``alerts`` that are for another repository and found something in this one."""
    names = (alert.name for alert in alerts if alert.repository not in {"", repository.name})
    return tuple(name for name in names if store.findings.sightings.traces(name, repository))


def _first_boundary(store: Store, repository: Repository, *, as_work: bool) -> frozenset[int] | None:
    """Return the boundary that the first run sets: at the newest commits with results, before all with ``as_work``."""
    if store.boundaries.get(repository) is not None:
        return None
    newest = store.boundaries.newest_measured(repository)
    if not newest:
        return None
    return frozenset() if as_work else newest


# Detect again in traces that another run may have written while this one was under way.
#
# A run reads values first and writes later. A run that began later may have seen newer values and written before: then
# the older result must not take back the newer one.


@dataclass(frozen=True, slots=True)
class Redetection:
    """What differs now, and why alerts failed, by name."""

    comparisons: tuple[TraceComparison, ...]
    failures: Mapping[str, str] = field(default_factory=dict)


def detect_again(
    store: Store,
    jobs: Sequence[AlertJob],
    comparisons: Sequence[TraceComparison],
    lines: Lines,
    *,
    failed: Collection[str] = (),
) -> Redetection:
    """Compare the traces of ``comparisons`` again, with the values of now; alerts that ``failed`` stay out.

    What an alert no longer watches is taken back as it was to be.
    """
    wanted = np.array(sorted({comparison.trace.id for comparison in comparisons}), dtype=np.int64)
    watched: dict[str, frozenset[int]] = {name: frozenset(wanted.tolist()) for name in failed}
    found: list[TraceComparison] = []
    failures: dict[str, str] = {}
    for job in jobs:
        if job.alert.name in failed:
            continue
        again = _job_over(store, job, wanted, lines)
        watched[job.alert.name] = frozenset(again.trace_ids.tolist())
        result = AlertComparison.joined(list(compare_alert(store, again, lines, Serial())))
        found += result.changed
        if failure := again.failure or result.failure:
            failures[job.alert.name] = failure
    left = [
        replace(comparison, sightings=())
        for comparison in comparisons
        if comparison.trace.id not in watched.get(comparison.alert, ())
    ]
    return Redetection((*left, *found), failures)


def _job_over(store: Store, job: AlertJob, wanted: np.typing.NDArray[np.int64], lines: Lines) -> AlertJob:
    """Return ``job`` over the traces of it that are ``wanted``, on its line as it is now."""
    try:
        line = store.commits.line(lines.repository, job.alert.line)
        ids = whole_groups(store, job.alert, job.trace_ids, wanted)
    except Exception as error:  # noqa: BLE001  # a defect of one alert must not stop the others
        return replace(job, trace_ids=wanted, due=wanted[:0], failure=failure_of(job.alert, error))
    return replace(job, line=line, trace_ids=ids, due=ids, complete=False)
