"""Run alerts: find what is new, moved, gone or recovered in the traces that they watch, and write it.

A run goes through six stages, one module each:

1. ``run_plan`` and ``alert_job`` plan: which alert detects on which line, in which traces.
2. :mod:`knickpoint.watch.detection` reads frames and finds sightings.
3. ``comparison`` keeps the traces in which an alert finds something else than at its last run.
4. ``persistence`` writes what became of the change points, by the rule of :mod:`knickpoint.watch.identity`, and
   ``family_members`` finds the traces that moved where others of their family step.
5. :mod:`knickpoint.watch.changes` groups the change points into changes, and
   :mod:`knickpoint.watch.quarantine` holds those at whose place results are quarantined.
6. :mod:`knickpoint.watch.announcements` writes what is announced into the ledger, and
   :mod:`knickpoint.watch.newest_values` judges the newest value of each trace, which no step can show yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import makes_clusters
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.notification import DEFAULT_ANNOUNCEMENT_RULE, AnnouncementRule
from knickpoint.store import Store
from knickpoint.store.events import MOST_LISTED, FindingsChanged
from knickpoint.watch.alert_run.comparison import (
    AlertComparison,
    TraceComparison,
    compare_alerts,
    compare_retired,
    shared_detections,
)
from knickpoint.watch.alert_run.family_members import complete_families
from knickpoint.watch.alert_run.kept_clusters import drifted_points, keep_clusters
from knickpoint.watch.alert_run.persistence import JobResult, PersistedChanges, RunSummary, persist_changes
from knickpoint.watch.alert_run.run_plan import (
    RepositoryPlan,
    RunRequest,
    chosen_alerts,
    detect_again,
    plan_run,
    turned_traces,
    unable_alerts,
)
from knickpoint.watch.announcements.announcer import announce
from knickpoint.watch.changes.membership import RegroupedChanges, regroup
from knickpoint.watch.lines import Lines
from knickpoint.watch.newest_values import EarlyVerdicts, judge_newest_early, judge_newest_values
from knickpoint.watch.quarantine.update import hold_findings
from knickpoint.watch.triage.tickets import match_tickets
from knickpoint.work import Runner, Serial

_BATCH: Final = 10_000
"""Traces with changes after which a run of one alert writes what it has."""

Progress = Callable[[int, int], None]
"""Called with the number of traces done so far, and of all."""

Advance = Callable[[int], None]
"""Called with the number of traces that are done now."""


def default_alert() -> Alert:
    """Return the alert of an instance that configures none: every trace, both directions."""
    return Alert("default")


def run_alerts(
    store: Store,
    alerts: Sequence[Alert],
    *,
    names: Collection[str] = (),
    resting: Collection[str] = (),
    progress: Progress | None = None,
    traces: Sequence[int] | NDArray[np.int64] | None = None,
    runner: Runner | None = None,
    afresh: bool = False,
    as_work: bool = False,
    turn: bool = False,
    announcements: AnnouncementRule = DEFAULT_ANNOUNCEMENT_RULE,
) -> RunSummary:
    """Run ``alerts``, or those called ``names``, and write what they find.

    ``alerts`` are all that there are: the findings of others are taken back, unless ``names`` or ``traces`` restrict
    the run. Without ``traces`` a run is about every trace of each alert, and detects where anything changed since the
    alert's last run, or everywhere with ``afresh``; with ``traces`` (the ids of an event) it detects only in those and,
    for an alert that counts traces, in the groups they belong to. Running twice over the same data finds nothing new.
    Alerts that are ``resting`` do not run now, because of their schedule; what they found stays. One
    :class:`~knickpoint.store.events.FindingsChanged` event a repository announces what changed, in the
    transaction of the change.

    The first run over a repository sets its history boundary at the newest commits with results; with
    ``as_work`` nothing of it becomes history. What is history is never announced as new.

    What settled, moved, recovered or vanished is written into the announcement ledger, by the rule ``announcements``.

    Where another direction of a trace is better now than when its findings were judged, the trace keeps the former one
    until a complete run has ``turn``. That run turns the findings, and nothing is announced about those of such traces.

    An alert that cannot run appears in ``failures`` of the answer, keeps its findings, and stops no other.

    Raises:
        InputError: two alerts of one name, or no alert of a name.
        StoreError: the store cannot be read or written.
    """
    chosen = [alert for alert in chosen_alerts(alerts, names) if alert.name not in resting]
    store.findings.alerts_in_force.replace(alerts)
    whole = traces is None and not names
    request = RunRequest(
        alerts=chosen,
        in_force=frozenset(alert.name for alert in alerts) if whole else None,
        traces=None if traces is None else np.unique(np.asarray(traces, dtype=np.int64)),
        afresh=afresh,
        as_work=as_work,
    )
    turned = turned_traces(store)
    store.traces.keep_directions({} if turn else {key: each.better for key, each in turned.items()})
    known = [Lines(store, repository) for repository in store.commits.repositories()]
    unable = unable_alerts(chosen, known)
    # In one snapshot, as fifty alerts ask for the same; but where a plan reads all values, that would stay open for
    # minutes.
    with nullcontext() if traces is None else store.database.reading():
        plans = plan_run(store, request, known, unable)
    advance = _counter(sum(len(job.trace_ids) for plan in plans for job in plan.jobs), progress)
    silent = turned.keys() if turn else ()
    summaries = [
        _run_repository(store, plan, runner or Serial(), advance, announcements, silent=silent) for plan in plans
    ]
    count = sum(each.findings for each in turned.values())
    return sum(summaries, RunSummary(failures=unable, turned=count * turn, unturned=count * (not turn)))


def _counter(total: int, progress: Progress | None) -> Advance:
    """Return a counter of traces that reports the progress of a run over ``total`` of them."""
    done = 0

    def advance(traces: int) -> None:
        nonlocal done
        done += traces
        if progress and traces:
            progress(done, total)

    return advance


def _run_repository(
    store: Store,
    plan: RepositoryPlan,
    runner: Runner,
    advance: Advance,
    announcements: AnnouncementRule,
    *,
    silent: Collection[int],
) -> RunSummary:
    """Run the jobs of one repository and write what they find; the last writes are one transaction.

    Nothing is announced about the traces ``silent``.
    """
    latest = store.findings.alert_runs.last()
    found = _detect(store, plan, runner, advance, latest)
    early = judge_newest_early(store, plan.lines.default, _newest_due(plan), runner)
    with store.transaction():
        if store.findings.alert_runs.last() != latest:
            early = EarlyVerdicts()  # another run may have seen newer values
        _begin_history(store, plan)
        written = found.written + _write(store, plan, found.pending, latest, found.drifted, failed=found.failures)
        written += _write_members(store, plan, found, written)
        changes = _update_changes(store, plan, written.changes)
        hold_findings(store, plan.lines.repository, plan.lines)
        if silent:
            store.findings.announcements.silence(silent)
        announce(store, plan.lines.repository, written.changes.point_ids, announcements, complete=plan.complete)
        _judge_newest(store, plan, early)
        _keep_digests(store, found.results, written.overtaken)
        for name in found.retired:
            store.findings.digests.forget(name)
            store.findings.clusters.forget_alert(name)
        summary = _record(store, plan, found, written, changes)
        _keep_clusters(store, plan, found.results, summary)
        return summary


def _keep_clusters(store: Store, plan: RepositoryPlan, results: Sequence[JobResult], summary: RunSummary) -> None:
    """Keep the clusters of the alerts whose methods make some."""
    run = next((record.run for record in summary.alerts), 0)
    for result in results:
        if makes_clusters(result.job.alert.method) and not result.failure:
            keep_clusters(store, result.job, result.comparison.groups, plan.lines, run=run)


def _newest_due(plan: RepositoryPlan) -> NDArray[np.int64]:
    """Return the traces that changed on the default line, ascending."""
    due = [job.due for job in plan.jobs if job.line.name == plan.lines.default.name]
    return np.unique(np.concatenate(due)) if due else np.empty(0, dtype=np.int64)


def _judge_newest(store: Store, plan: RepositoryPlan, early: EarlyVerdicts) -> None:
    """Keep the verdicts on the newest values of the traces that changed, on the default line."""
    ids = _newest_due(plan)
    if ids.size:
        verdicts = judge_newest_values(store, plan.lines.default, ids, early)
        store.findings.newest.replace(plan.lines.repository, ids, verdicts)


# Stages 2 and 3: detect, and compare with the last run.


@dataclass(frozen=True, slots=True)
class _Written:
    """What was written: the changes, the traces that another run may have judged in the meantime, and failures."""

    changes: PersistedChanges = field(default_factory=PersistedChanges)
    overtaken: frozenset[int] = frozenset()
    failures: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: _Written) -> _Written:
        return _Written(
            self.changes + other.changes, self.overtaken | other.overtaken, {**self.failures, **other.failures}
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """What the jobs of a repository found: what is written already, and what is to be written (``pending``).

    ``retired`` are the names of alerts that no longer exist. ``drifted`` has the change points whose cluster is found
    at another place now.
    """

    results: tuple[JobResult, ...]
    pending: tuple[TraceComparison, ...]
    written: _Written
    retired: tuple[str, ...]
    drifted: Mapping[int, SuspectRange]

    @property
    def failures(self) -> dict[str, str]:
        """Why alerts could not run to their end, by name."""
        return {result.job.alert.name: result.failure for result in self.results if result.failure}


def _detect(store: Store, plan: RepositoryPlan, runner: Runner, advance: Advance, latest: int) -> _Found:
    """Detect once for all alerts that detect alike.

    A run of one alert over many traces writes what it has in batches.
    """
    results: list[JobResult] = []
    pending: list[TraceComparison] = []
    written = _Written()
    drifted: dict[int, SuspectRange] = {}
    for jobs in shared_detections(plan.jobs):
        begun = time.perf_counter()
        advance(sum(len(job.trace_ids) - len(job.due) for job in jobs))
        blocks: dict[str, list[AlertComparison]] = {job.alert.name: [] for job in jobs}
        for job, block in compare_alerts(store, jobs, plan.lines, runner):
            advance(len(block.digests))
            blocks[job.alert.name].append(replace(block, changed=()))
            pending += block.changed
            drifted |= drifted_points(store, job, block.groups, plan.lines)
            if len(plan.jobs) == 1 and len(pending) >= _BATCH:
                written += _write(store, plan, pending, latest, drifted)
                pending = []
        seconds = (time.perf_counter() - begun) / len(jobs)
        results += [
            JobResult(job, AlertComparison.joined(blocks[job.alert.name]), job.seconds + seconds) for job in jobs
        ]
    results.sort(key=lambda result: result.job.alert.name)
    retired = () if plan.in_force is None else _retired(store, plan.in_force)
    for name in (*retired, *plan.elsewhere):
        pending += compare_retired(store, name, plan.lines).changed
    return _Found(tuple(results), tuple(pending), written, retired, drifted)


def _retired(store: Store, in_force: Collection[str]) -> tuple[str, ...]:
    """Return the names of the alerts that have sightings and no longer exist."""
    return tuple(name for name in store.findings.sightings.alerts() if name not in in_force)


# Stage 4: write the change points.


def _begin_history(store: Store, plan: RepositoryPlan) -> None:
    """Set the history boundary of a repository that has none, at the first run that is about it."""
    concerned = any(job.complete or job.trace_ids.size for job in plan.jobs)
    if concerned and plan.first_boundary is not None:
        store.boundaries.begin(plan.lines.repository, plan.first_boundary)


def _write(
    store: Store,
    plan: RepositoryPlan,
    comparisons: Sequence[TraceComparison],
    latest: int,
    drifted: Mapping[int, SuspectRange],
    *,
    failed: Collection[str] = (),
) -> _Written:
    """Write ``comparisons``; where another run ended after ``latest``, detect in their traces again before.

    That run may have seen newer values: the older view must not take back the newer one.
    """
    if not comparisons:
        return _Written()
    lines = plan.lines
    with store.transaction():
        if store.findings.alert_runs.last() == latest:
            return _Written(persist_changes(store, comparisons, lines, expected=drifted, found=plan.begun))
        lines = Lines(store, lines.repository)
        again = detect_again(store, plan.jobs, comparisons, lines, failed=failed)
        overtaken = frozenset(comparison.trace.id for comparison in comparisons)
        return _Written(persist_changes(store, again.comparisons, lines, found=plan.begun), overtaken, again.failures)


def _write_members(store: Store, plan: RepositoryPlan, found: _Found, written: _Written) -> _Written:
    """Write which traces moved where others of their family step, now that these steps are known."""
    lines = Lines(store, plan.lines.repository) if written.overtaken else plan.lines
    comparisons: list[TraceComparison] = []
    for result in found.results:
        changed = {each.trace.id for each in found.pending if each.alert == result.job.alert.name}
        early = result.job.due.tolist() if found.written.changes.counts else ()
        comparisons += complete_families(store, result.job, lines, {*changed, *early})
    return _Written(persist_changes(store, comparisons, lines, found=plan.begun))


# Stage 5: group change points into changes, and record the run.


def _update_changes(store: Store, plan: RepositoryPlan, changes: PersistedChanges) -> RegroupedChanges:
    """Match tickets with the change points that were written, and bring the changes up to date."""
    repository = plan.lines.repository
    if not changes.point_ids and not store.findings.groups.has_loose_points(repository):
        return RegroupedChanges()
    if store.findings.tickets.all(repository):
        match_tickets(store, repository, among=None if plan.complete else changes.point_ids)
    moved = None if plan.complete else changes.moved
    return regroup(store, repository, touched=changes.point_ids, moved=moved)


def _keep_digests(store: Store, results: Sequence[JobResult], overtaken: Collection[int]) -> None:
    """Keep the digests of what was judged; none of traces that another run judged in the meantime."""
    table = store.findings.digests
    for result in results:
        job, digests = result.job, result.comparison.digests
        ids = np.array(sorted(digests), dtype=np.int64)
        judged = np.array([digests[key] for key in ids.tolist()], dtype=np.uint64)
        known = job.known_digests[np.searchsorted(job.due, ids)]
        same = table.get(job.alert.name, ids) == known
        same &= ~np.isin(ids, np.array(sorted(overtaken), dtype=np.int64))
        table.set(job.alert.name, ids, np.where(same, judged, np.uint64(0)))
        unwatched = np.array(result.comparison.unwatched, dtype=np.int64)
        table.set(job.alert.name, unwatched, np.zeros(unwatched.size, dtype=np.uint64))
        if not result.failure:
            table.set_whole(job.alert.name, job.whole)


def _record(
    store: Store, plan: RepositoryPlan, found: _Found, written: _Written, changes: RegroupedChanges
) -> RunSummary:
    """Record the run, publish the event about what changed, and return both as a summary."""
    failures = {**found.failures, **written.failures}
    records = [
        result.record(failures.get(result.job.alert.name, ""), plan.lines.repository) for result in found.results
    ]
    run = store.findings.alert_runs.record(records) if records else 0
    history = store.boundaries.history_among([*changes.new, *changes.changed])
    work = store.findings.work_among([*changes.new, *changes.changed]) - history
    new = tuple(key for key in changes.new if key in work)
    repository = plan.lines.repository
    in_force = store.findings.alerts_in_force
    unwatched = in_force.unwatched_changes([repository], since=plan.begun) if written.changes.counts else set()
    summary = replace(
        RunSummary.of_points(written.changes),
        alerts=tuple(replace(record, run=run) for record in records),
        traces=sum(len(job.trace_ids) for job in plan.jobs),
        judged=sum(len(job.due) for job in plan.jobs),
        failures=failures,
        new_changes=new,
        updated_changes=tuple(key for key in changes.changed if key in work),
        history_changes=sum(key in history for key in changes.new),
        unwatched=len(unwatched),
    )
    if written.changes.point_ids or not summary.nothing_new or summary.updated_changes:
        store.outbox.publish(_event(plan.lines.repository, run, summary))
    return summary


def _event(repository: Repository, run: int, summary: RunSummary) -> FindingsChanged:
    new, changed = summary.new_changes, summary.updated_changes
    return FindingsChanged(
        repository=repository.name,
        run=run,
        new_changes=new[:MOST_LISTED],
        updated_changes=changed[:MOST_LISTED],
        history_changes=summary.history_changes,
        truncated=len(new) > MOST_LISTED or len(changed) > MOST_LISTED,
        new=summary.new,
        moved=summary.moved,
        gone=summary.gone,
        returned=summary.returned,
        recovered=summary.recovered,
    )
