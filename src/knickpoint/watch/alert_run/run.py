"""Run alerts: look at the traces they watch, and write what is new, moved, gone or recovered."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.regression import SuspectRange, Transition
from knickpoint.store import Store
from knickpoint.store.events.payloads import MOST_LISTED, FindingsChanged
from knickpoint.store.findings.alerts import AlertRun
from knickpoint.watch.alert_run.alert_job import Job, plan
from knickpoint.watch.alert_run.comparison import compare, look_again, looked, retire, take_back
from knickpoint.watch.alert_run.persistence import Fresh, Settled, settle
from knickpoint.watch.alert_validation import reason_against
from knickpoint.watch.lines import Lines
from knickpoint.watch.regressions.membership import Moves, Regrouped, regroup
from knickpoint.watch.triage.tickets import match_tickets
from knickpoint.work import Runner, Serial

__all__ = ["Progress", "RunSummary", "default_alert", "run_alerts"]

"""Kind of the event that a run publishes when it changed something."""

"""Ids that an event names; more are read from the store."""

_FLUSH: Final = 10_000
"""Traces with something new after which a run of one alert writes what it has."""

Progress = Callable[[int, int], None]
"""Called with the number of traces looked at so far, and of all."""


def default_alert() -> Alert:
    """Return the alert of an instance that has none of its own: every trace, both directions."""
    return Alert("default")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run did.

    ``new``, ``moved``, ``gone``, ``returned`` and ``recovered`` count change points; ``traces`` those looked
    at, once for each alert, and ``judged`` those of them that had changed since the alert's last look.
    ``new_regressions`` and ``changed_regressions`` are ids of those that are work; ``history_regressions`` counts the
    new ones that are history. ``failures`` says which alerts could not run, and why.
    """

    alerts: tuple[AlertRun, ...] = ()
    traces: int = 0
    judged: int = 0
    new: int = 0
    moved: int = 0
    gone: int = 0
    returned: int = 0
    recovered: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)
    new_regressions: tuple[int, ...] = ()
    changed_regressions: tuple[int, ...] = ()
    history_regressions: int = 0

    @property
    def nothing_new(self) -> bool:
        """Whether everything was known already."""
        found = self.new_regressions or self.history_regressions
        return not (self.new or self.moved or self.gone or self.returned or self.recovered or found)


@dataclass(slots=True)
class _Tally:
    """What the writes of a run came to; ``before`` is the newest run that had been recorded when it began.

    ``doubtful`` are traces that another run may have judged in the meantime; ``others`` the points that are not as
    they were, and ``places`` where these were and are.
    """

    before: int = 0
    new: int = 0
    moved: int = 0
    gone: int = 0
    returned: int = 0
    recovered: int = 0
    touched: set[int] = field(default_factory=set)
    doubtful: set[int] = field(default_factory=set)
    others: set[int] = field(default_factory=set)
    places: set[SuspectRange] = field(default_factory=set)

    def settle(self, store: Store, jobs: Sequence[Job], fresh: dict[int, Fresh], lines: Lines) -> None:
        """Write ``fresh`` and empty it.

        Where another run ended since this one began, it may have seen newer values: then the traces are looked
        at again, inside of the transaction, so that the older view does not take back the newer one.
        """
        if not fresh:
            return
        with store.transaction():
            settled = Settled({}, 0, ())
            if store.findings.alerts.last() != self.before:
                lines = Lines(store, lines.repository)
                self.doubtful.update(fresh)
                again = look_again(store, jobs, fresh, lines)
                fresh.clear()
                fresh.update(again)
            if fresh:
                settled = settle(store, fresh, lines)
        self.new += settled.counts.get(Transition.NEW, 0)
        self.moved += settled.counts.get(Transition.MOVED, 0)
        self.gone += settled.counts.get(Transition.GONE, 0)
        self.returned += settled.counts.get(Transition.BACK, 0)
        self.recovered += settled.recovered
        self.touched.update(settled.ids)
        self.others.update(settled.moves.ids)
        self.places.update(settled.moves.places)
        fresh.clear()


def _chosen(alerts: Sequence[Alert], names: Collection[str]) -> list[Alert]:
    known = [alert.name for alert in alerts]
    if len(set(known)) != len(known):
        twice = sorted({name for name in known if known.count(name) > 1})
        raise InputError(f"two alerts are called {twice[0]!r}", remedy="Give every alert a name of its own.")
    missing = sorted(set(names) - set(known))
    if missing:
        raise InputError(
            f"there is no alert {missing[0]!r}", remedy=f"The alerts are: {', '.join(sorted(known)) or 'none'}."
        )
    return sorted((alert for alert in alerts if not names or alert.name in names), key=lambda alert: alert.name)


def run_alerts(
    store: Store,
    alerts: Sequence[Alert],
    *,
    names: Collection[str] = (),
    progress: Progress | None = None,
    traces: Sequence[int] | NDArray[np.int64] | None = None,
    runner: Runner | None = None,
    afresh: bool = False,
    as_work: bool = False,
) -> RunSummary:
    """Run ``alerts``, or those called ``names``, and write what they find.

    ``alerts`` are all that there are: what others saw before is taken back, unless ``names`` or ``traces``
    restrict the run. Without ``traces`` every trace of each alert is looked at, and judged if anything of it
    changed since the alert's last look, or in any case with ``afresh``; with ``traces`` (the ids of an event) only
    those are judged, and, for an alert that counts traces, the groups they belong to. Running twice over the same
    data finds nothing new. What changed is announced by one :class:`FindingsChanged` event a repository, in the transaction of
    the change.

    The first run over a repository sets its history boundary at the newest commits with results; with
    ``as_work`` nothing of it becomes history. What is history is never announced as new.

    An alert that cannot run is told in ``failures`` of the answer, keeps what it saw before, and stops no other.

    Raises:
        InputError: two alerts of one name, or no alert of a name.
        StoreError: the store cannot be read or written.
    """
    chosen = _chosen(alerts, names)
    touched = None if traces is None else np.unique(np.asarray(traces, dtype=np.int64))
    known = [Lines(store, repository) for repository in store.commits.repositories()]
    # Results that arrive from here on are newer than what the first run over a repository finds.
    unbounded = {own.repository.id: _newest_measured(store, own.repository) for own in known}
    repositories = [lines.repository.name for lines in known]
    failures = {alert.name: reason for alert in chosen if (reason := reason_against(alert, repositories))}
    plans: list[tuple[Lines, list[Job]]] = []
    for lines in known:
        jobs = list(plan(store, [alert for alert in chosen if alert.name not in failures], touched, lines))
        for job in jobs:
            if not job.failure:
                with job.guarded():
                    job.choose(store, lines, afresh=afresh)
        jobs += [_unable(alert, failures[alert.name], lines) for alert in chosen if alert.name in failures]
        plans.append((lines, jobs))
    steps = _Steps(sum(len(job.ids) for _, jobs in plans for job in jobs), progress)
    summary = RunSummary(failures=failures)
    for lines, jobs in plans:
        tally = _Tally(store.findings.alerts.last())
        fresh: dict[int, Fresh] = {}
        for job in jobs:
            begun = time.perf_counter()
            steps.took(len(job.ids) - len(job.due))
            with job.guarded():
                for block in looked(store, job, lines, runner or Serial()):
                    compare(store, job, block, lines, fresh)
                    steps.took(len(block))
                    if len(jobs) == 1 and len(fresh) >= _FLUSH:
                        tally.settle(store, jobs, fresh, lines)
                if job.complete and not job.failure:
                    take_back(store, job, lines, fresh)
            job.seconds += time.perf_counter() - begun
        if touched is None and not names:
            retire(store, {alert.name for alert in alerts}, lines, fresh)
        first = _First(unbounded[lines.repository.id], as_work) if _looked(jobs) else None
        summary = _finished(store, lines, jobs, fresh, tally=tally, summary=summary, first=first)
    return summary


def _newest_measured(store: Store, repository: Repository) -> frozenset[int]:
    """Return the newest commits with results where no run has set a boundary yet, none elsewhere."""
    if store.boundaries.get(repository) is not None:
        return frozenset()
    return store.boundaries.newest_measured(repository)


@dataclass(frozen=True, slots=True)
class _First:
    """Where a run sets the boundary of a repository that has none: at ``slots``, or before all with ``as_work``."""

    slots: frozenset[int]
    as_work: bool

    def begin(self, store: Store, repository: Repository) -> None:
        if self.slots:
            store.boundaries.begin(repository, () if self.as_work else self.slots)


def _looked(jobs: Sequence[Job]) -> bool:
    """Say whether a run was about a repository: over everything in it, or over some of its traces."""
    return any(job.complete or job.ids.size for job in jobs)


def _unable(alert: Alert, reason: str, lines: Lines) -> Job:
    return Job(alert, lines.default, np.empty(0, dtype=np.int64), complete=False, failure=reason)


@dataclass(slots=True)
class _Steps:
    """Count traces, and tell how far the run is."""

    total: int
    progress: Progress | None
    done: int = 0

    def took(self, traces: int) -> None:
        self.done += traces
        if self.progress and traces:
            self.progress(self.done, self.total)


def _finished(
    store: Store,
    lines: Lines,
    jobs: Sequence[Job],
    fresh: dict[int, Fresh],
    *,
    tally: _Tally,
    summary: RunSummary,
    first: _First | None,
) -> RunSummary:
    """Write the rest of a repository, its regressions, the record of the run and the event; add it all up."""
    with store.transaction():
        if first is not None:
            first.begin(store, lines.repository)
        tally.settle(store, jobs, fresh, lines)
        loose = store.findings.groups.has_loose_points(lines.repository)
        changed = Regrouped()
        if tally.touched or loose:
            whole = any(job.complete for job in jobs)
            if store.findings.tickets.all(lines.repository):
                match_tickets(store, lines.repository, among=None if whole else tally.touched)
            moves = None if whole else Moves(frozenset(tally.others), frozenset(tally.places))
            changed = regroup(store, lines.repository, touched=tally.touched, moves=moves)
        changed, history = _sides(store, changed)
        for job in jobs:
            job.remember(store, tally.doubtful)
        records = [job.record() for job in jobs]
        run = store.findings.alerts.record(records) if records else 0
        result = RunSummary(
            alerts=(*summary.alerts, *(replace(record, run=run) for record in records)),
            traces=summary.traces + sum(len(job.ids) for job in jobs),
            judged=summary.judged + sum(len(job.due) for job in jobs),
            new=summary.new + tally.new,
            moved=summary.moved + tally.moved,
            gone=summary.gone + tally.gone,
            returned=summary.returned + tally.returned,
            recovered=summary.recovered + tally.recovered,
            failures={**summary.failures, **{job.alert.name: job.failure for job in jobs if job.failure}},
            new_regressions=(*summary.new_regressions, *changed.new),
            changed_regressions=(*summary.changed_regressions, *changed.changed),
            history_regressions=summary.history_regressions + history,
        )
        if tally.touched or changed.new or changed.changed or history:
            store.outbox.publish(_event(lines.repository.name, run, tally, changed, history))
    return result


def _sides(store: Store, changed: Regrouped) -> tuple[Regrouped, int]:
    """Return what of ``changed`` is work, and how many of its new regressions are history."""
    history = store.boundaries.history_among([*changed.new, *changed.changed])
    new, other = ([key for key in keys if key not in history] for keys in (changed.new, changed.changed))
    return Regrouped(tuple(new), tuple(other)), len(changed.new) - len(new)


def _event(repository: str, run: int, tally: _Tally, changed: Regrouped, history: int) -> FindingsChanged:
    return FindingsChanged(
        repository=repository,
        run=run,
        new_regressions=changed.new[:MOST_LISTED],
        changed_regressions=changed.changed[:MOST_LISTED],
        history_regressions=history,
        truncated=len(changed.new) > MOST_LISTED or len(changed.changed) > MOST_LISTED,
        new=tally.new,
        moved=tally.moved,
        gone=tally.gone,
        returned=tally.returned,
        recovered=tally.recovered,
    )
