"""Count the findings that come and go when alerts are added, changed or removed, before anything is written.

The changed alerts judge the real traces, and the rule of identity compares the result with the findings that are there:
the same code that a run executes, without its writes. See ``docs/decisions/alerts.md``.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert, AlertKind, kind_of_finding
from knickpoint.model.change_point import Condition, Sighting, Transition
from knickpoint.model.plain_text import counted
from knickpoint.model.query import Query
from knickpoint.store import Store
from knickpoint.watch.alert_run.alert_job import AlertJob, plan_jobs
from knickpoint.watch.alert_run.comparison import (
    AlertComparison,
    TraceComparison,
    compare_alert,
    compare_retired,
    compare_unwatched,
)
from knickpoint.watch.alert_run.persistence import by_trace, point_updates
from knickpoint.watch.alert_validation import missing_reference, reason_against
from knickpoint.watch.detection.alert_settings import Filter, depends_on_group
from knickpoint.watch.lines import Lines
from knickpoint.work import Serial

_CHUNK: Final = 1_000
"""Traces that are judged before the time is looked at again."""


_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Preview:
    """What becomes of the findings of one alert.

    ``added`` counts findings that are not there yet, and ``history`` those of them at or before the history boundary.
    ``gone`` counts live findings that go, and ``decided`` those of them that have a status or a ticket. ``staying``
    counts those that the alert no longer finds and that stay because another alert finds them. ``off_list`` and
    ``on_list`` count live findings that leave or join the work list because a kind changes. ``judged`` counts the
    traces that were looked at, of ``traces``; if they differ, the time was up, and all other numbers are "at least".
    ``examples`` are the largest of those that are added. ``left_out`` counts, by filter, the steps in the judged traces
    that the alert will not report.
    """

    added: int = 0
    history: int = 0
    gone: int = 0
    decided: int = 0
    staying: int = 0
    off_list: int = 0
    on_list: int = 0
    judged: int = 0
    traces: int = 0
    examples: tuple[Sighting, ...] = ()
    left_out: Mapping[Filter, int] = field(default_factory=dict)

    def __add__(self, other: Preview) -> Preview:
        """Return the sum of both."""
        return Preview(
            self.added + other.added,
            self.history + other.history,
            self.gone + other.gone,
            self.decided + other.decided,
            self.staying + other.staying,
            self.off_list + other.off_list,
            self.on_list + other.on_list,
            self.judged + other.judged,
            self.traces + other.traces,
            tuple(sorted((*self.examples, *other.examples), key=_falling_size)[:_EXAMPLES]),
            Counter(self.left_out) + Counter(other.left_out),
        )

    @property
    def complete(self) -> bool:
        """Whether all traces were looked at."""
        return self.judged == self.traces


@dataclass(frozen=True, slots=True)
class AlertEffect:
    """What a change of alerts does, counted over all alerts at once, and to the findings of each alert.

    ``unwatched`` counts the changes that would be gone because no alert watches them any more, ``off_list`` those that
    stay and would leave the work list because a kind changes, and ``members`` the change points that would leave
    changes which stay. ``decided`` counts the changes of all these with a decision or a ticket about what leaves.
    ``added`` counts change points that are not there yet. It is ``unclear`` if the time was up before all traces of an
    alert that has found something were looked at.
    """

    unwatched: int
    off_list: int
    members: int
    decided: int
    added: int
    unclear: bool
    previews: Mapping[str, Preview]

    @property
    def complete(self) -> bool:
        """Whether all traces were looked at; if not, the numbers are "at least"."""
        return all(each.complete for each in self.previews.values())

    @property
    def takes_changes(self) -> bool:
        """Whether a person has to agree first."""
        return self.unclear or self.unwatched + self.off_list + self.members > 0

    @property
    def text(self) -> str:
        """What it does: "68 changes would no longer be watched by any alert (9 of them decided); 3 new change points"."""
        losses = {
            "would no longer be watched by any alert": counted(self.unwatched, "change") if self.unwatched else "",
            "would leave the work list": counted(self.off_list, "change") if self.off_list else "",
            "would leave changes that stay": counted(self.members, "change point") if self.members else "",
        }
        parts = [f"{number} {what}" for what, number in losses.items() if number]
        if self.decided:
            parts[-1] += f" ({self.decided:,} decided)"
        parts += [counted(self.added, "new change point")] if self.added else []
        return ("" if self.complete else "at least ") + ("; ".join(parts) or "no finding would come or go")


@dataclass(slots=True)
class _Touched:
    """Findings that go, or leave the work list, by id, and the (trace, slot) of those that are new."""

    gone: set[int] = field(default_factory=set)
    off_list: set[int] = field(default_factory=set)
    new: set[tuple[int, int]] = field(default_factory=set)


def preview_effect(
    store: Store, alerts: Sequence[Alert], *, judging: Collection[str], kinds: Collection[str] = (), seconds: float
) -> AlertEffect:
    """Count what happens when ``alerts`` are the ones in force and have run.

    ``judging`` are the alerts that may find something else than now, as of :func:`preview_alerts`, and ``kinds`` those
    that get another kind.
    """
    touched = _Touched()
    previews = preview_alerts(store, alerts, judging, seconds=seconds, touched=touched)
    moved = preview_kinds(store, {alert.name: alert for alert in alerts}, kinds, touched=touched)
    previews |= {name: previews.get(name, Preview()) + each for name, each in moved.items()}
    points = store.findings.points(touched.gone | touched.off_list)
    unwatched, leaving = set[int](), set[int]()
    for key in sorted({point.change_id for point in points} - {0}):
        left = {point.id for point in store.findings.live_members(key)} - touched.gone
        if not left:
            unwatched.add(key)
        elif left <= touched.off_list:
            leaving.add(key)
    found = store.findings.sightings.alerts()
    return AlertEffect(
        unwatched=len(unwatched),
        off_list=len(leaving),
        members=sum(point.change_id not in unwatched | leaving for point in points),
        decided=len({point.change_id for point in points if point.processed}),
        added=len(touched.new),
        unclear=any(name in found and not each.complete for name, each in previews.items()),
        previews=previews,
    )


def preview_alerts(
    store: Store,
    alerts: Sequence[Alert],
    names: Collection[str],
    *,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
    touched: _Touched | None = None,
) -> dict[str, Preview]:
    """Return, for each of ``names``, which findings come and go when ``alerts`` are the ones in force and have run.

    A name that is not among ``alerts`` is that of a removed alert, which finds nothing any more. One that cannot run
    keeps its findings. Nothing is written. A finding of several alerts counts for each of them. Traces in which the
    alerts found something come first, and after ``seconds`` no further ones are begun; an alert that judges groups is
    one piece of work.
    """
    found = dict.fromkeys(names, Preview())
    wanted = {alert.name: alert for alert in alerts}
    repositories = [repository.name for repository in store.commits.repositories()]
    able = [name for name in sorted(found) if name not in wanted or not reason_against(wanted[name], repositories)]
    end = clock() + seconds
    for repository in store.commits.repositories():
        lines = Lines(store, repository)
        able_here = [name for name in able if name not in wanted or not missing_reference(wanted[name], lines)]
        work = _Work(store, lines, able_here, wanted, touched or _Touched())
        for chunk in work.chunks():
            if clock() >= end:
                break
            for name, effect in work.effects(chunk):
                found[name] += effect
        for name, traces in work.traces.items():
            found[name] += Preview(traces=traces, left_out=work.left_out.get(name, {}))
    return found


class _Work:
    """What the alerts ``names`` have to judge in one repository.

    ``traces`` counts, by alert, the traces that it watches, and those in which it found something and which it does not
    watch any more. ``left_out`` has, by alert, what the filters of those refuse that count the traces of a group.
    """

    def __init__(
        self, store: Store, lines: Lines, names: Sequence[str], wanted: Mapping[str, Alert], touched: _Touched
    ) -> None:
        self._store = store
        self._touched = touched
        self._lines = lines
        self._names = names
        self._jobs: list[AlertJob] = []
        self._whole: dict[int, list[TraceComparison]] = {}
        self.left_out: dict[str, Mapping[Filter, int]] = {}
        self._concerned: dict[str, NDArray[np.int64]] = {}
        for name in names:
            alert = wanted.get(name)
            if alert is None or alert.repository not in {"", lines.repository.name}:
                self._keep(name, [], compare_retired(store, name, lines).changed)
                continue
            jobs = plan_jobs(store, [alert], lines, traces=store.traces.select(lines.repository, Query()))
            unwatched = [compare_unwatched(store, job, lines) for job in jobs if not job.failure]
            self._keep(name, jobs, [change for each in unwatched for change in each.changed])
        self.traces = {name: int(ids.size) for name, ids in self._concerned.items()}

    def _keep(self, name: str, jobs: Sequence[AlertJob], left: Sequence[TraceComparison]) -> None:
        """Keep what one alert has to do, and what it finds no more because it watches other traces."""
        watched = [job.trace_ids for job in jobs if not job.failure]
        if jobs and not watched:  # it cannot run: its findings stay
            self._concerned[name] = np.empty(0, dtype=np.int64)
            return
        self._concerned[name] = np.unique(np.concatenate([*watched, [each.trace.id for each in left]])).astype(np.int64)
        self._remember(left)
        for job in jobs:
            if depends_on_group(job.alert):
                compared = AlertComparison.joined(list(self._compare(job, job.trace_ids)))
                self.left_out[name] = compared.left_out
                self._remember(compared.changed)
            else:
                self._jobs.append(job)

    def _remember(self, comparisons: Iterable[TraceComparison]) -> None:
        for comparison in comparisons:
            self._whole.setdefault(comparison.trace.id, []).append(comparison)

    def _compare(self, job: AlertJob, ids: NDArray[np.int64]) -> Iterator[AlertComparison]:
        known = np.zeros(ids.size, dtype=np.uint64)
        over = replace(job, trace_ids=ids, due=ids, known_digests=known, complete=False)
        return compare_alert(self._store, over, self._lines, Serial())

    def chunks(self) -> Iterator[NDArray[np.int64]]:
        """Yield all traces in pieces, those with findings of the alerts first."""
        if not self._concerned:
            return
        every = np.unique(np.concatenate(list(self._concerned.values())))
        sightings = self._store.findings.sightings
        known = {trace for name in self._names for trace in sightings.traces(name, self._lines.repository)}
        first = np.isin(every, np.array(sorted(known), dtype=np.int64))
        ordered = np.concatenate([every[first], every[~first]])
        for begin in range(0, len(ordered), _CHUNK):
            yield np.sort(ordered[begin : begin + _CHUNK])

    def effects(self, chunk: NDArray[np.int64]) -> Iterator[tuple[str, Preview]]:
        """Judge the traces of ``chunk``; yield what happens, with the name of the alert to which it happens."""
        comparisons = [each for trace in chunk.tolist() for each in self._whole.get(trace, ())]
        for job in self._jobs:
            ids = np.intersect1d(job.trace_ids, chunk)
            if ids.size:
                compared = AlertComparison.joined(list(self._compare(job, ids)))
                comparisons += compared.changed
                yield job.alert.name, Preview(left_out=compared.left_out)
        yield from self._compared(comparisons)
        for name, concerned in self._concerned.items():
            yield name, Preview(judged=int(np.isin(chunk, concerned).sum()))

    def _compared(self, comparisons: Sequence[TraceComparison]) -> Iterator[tuple[str, Preview]]:
        compared = by_trace(comparisons)
        known = self._store.findings.known(compared.keys())
        stored = self._store.findings.sightings.of_traces(compared.keys())
        points = self._store.findings.of_traces(compared.keys())
        names = set(self._names)
        for trace, several in compared.items():
            updates = point_updates(several, known.get(trace, []), stored.get(trace, []), self._lines)
            after = {update.id: {each.alert for each in update.sightings} for update in updates if update.id}
            for update in updates:
                if update.transition in {Transition.NEW, Transition.BACK}:
                    place = update.sightings[0].suspect_range
                    old = self._is_history(place.line, place.slot)
                    if update.transition is Transition.NEW and names & {seen.alert for seen in update.sightings}:
                        self._touched.new.add((trace, place.slot))
                    for seen in update.sightings:
                        if seen.alert in names:
                            yield seen.alert, Preview(added=1, history=int(old), examples=(seen,))
            for point in points.get(trace, []):
                remaining = after.get(point.id, set())
                gone = not remaining
                if gone and names & set(point.alerts):
                    self._touched.gone.add(point.id)
                for name in (set(point.alerts) & names) - remaining:
                    yield name, Preview(gone=int(gone), decided=int(gone and point.processed), staying=int(not gone))

    def _is_history(self, line: str, slot: int) -> bool:
        """Return True if a change at ``slot`` would be history."""
        boundary = self._store.boundaries.get(self._lines.repository)
        if boundary is None or not boundary.slots:
            return False
        current = self._lines.line(line)
        return current.positions.get(slot, -1) <= boundary.position(current)


def _falling_size(sighting: Sighting) -> tuple[float, int, int]:
    size = sighting.numbers.relative_size
    return (-abs(size) if math.isfinite(size) else -math.inf, sighting.trace_id, sighting.suspect_range.slot)


# Count the findings that join or leave the work list because the kind of an alert changes.


def preview_kinds(
    store: Store, alerts: Mapping[str, Alert], names: Collection[str], *, touched: _Touched | None = None
) -> dict[str, Preview]:
    """Return, per of ``names``, which of its live findings join or leave the work list when ``alerts`` are in force.

    Only kinds count: findings that the alerts no longer find are those of :func:`.preview_alerts`. A finding of several
    alerts counts for each of ``names``.
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
                if touched and was and not will:
                    touched.off_list.add(point.id)
                for name in found.keys() & set(point.alerts):
                    found[name] += Preview(off_list=int(was and not will), on_list=int(will and not was))
    return found
