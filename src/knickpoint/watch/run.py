"""Run alerts: look at the traces they watch, and write what is new, moved, gone or recovered."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.query import parse_query
from knickpoint.model.regression import Change, Sighting
from knickpoint.store import Store
from knickpoint.store.finding_rows import step_values
from knickpoint.store.findings import AlertRun
from knickpoint.watch.lines import Lines
from knickpoint.watch.looking import Look, look
from knickpoint.watch.regroup import Regrouped, regroup
from knickpoint.watch.seeing import group_key, moved_together, refusal
from knickpoint.watch.settle import Fresh, Settled, settle
from knickpoint.watch.tickets import match_tickets
from knickpoint.work import Runner, Serial

__all__ = ["EVENT", "Progress", "RunSummary", "default_alert", "run_alerts"]

EVENT: Final = "regressions-changed"
"""Kind of the event that a run publishes when it changed something."""

_LISTED: Final = 1000
"""Ids that an event names; more are read from the store."""

_BLOCK: Final = 4096
"""Traces whose known sightings are read at a time."""

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
    at, once for each alert. ``new_regressions`` and ``changed_regressions`` are ids.
    """

    alerts: tuple[AlertRun, ...] = ()
    traces: int = 0
    new: int = 0
    moved: int = 0
    gone: int = 0
    returned: int = 0
    recovered: int = 0
    new_regressions: tuple[int, ...] = ()
    changed_regressions: tuple[int, ...] = ()

    @property
    def nothing_new(self) -> bool:
        """Whether everything was known already."""
        return not (self.new or self.moved or self.gone or self.returned or self.recovered or self.new_regressions)


@dataclass(slots=True)
class _Job:
    """One alert on one line, and what it did so far."""

    alert: Alert
    line: Line
    ids: NDArray[np.int64]
    complete: bool
    started: datetime
    seconds: float = 0.0
    kept: int = 0
    added: int = 0
    lost: int = 0

    def record(self) -> AlertRun:
        return AlertRun(
            alert=self.alert.name,
            started=self.started,
            seconds=self.seconds,
            complete=self.complete,
            traces=len(self.ids),
            kept=self.kept,
            added=self.added,
            lost=self.lost,
        )


@dataclass(slots=True)
class _Tally:
    """What the writes of a run came to; ``before`` is the newest run that had been recorded when it began."""

    before: int = 0
    new: int = 0
    moved: int = 0
    gone: int = 0
    returned: int = 0
    recovered: int = 0
    touched: set[int] = field(default_factory=set)

    def settle(self, store: Store, jobs: Sequence[_Job], fresh: dict[int, Fresh], lines: Lines) -> None:
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
                again = _look_again(store, jobs, fresh, lines)
                fresh.clear()
                fresh.update(again)
            if fresh:
                settled = settle(store, fresh, lines)
        self.new += settled.counts.get(Change.NEW, 0)
        self.moved += settled.counts.get(Change.MOVED, 0)
        self.gone += settled.counts.get(Change.GONE, 0)
        self.returned += settled.counts.get(Change.BACK, 0)
        self.recovered += settled.recovered
        self.touched.update(settled.ids)
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


def _with_groups(store: Store, alert: Alert, ids: NDArray[np.int64], touched: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``touched`` and, where ``alert`` judges or counts traces together, the rest of their groups."""
    own = np.intersect1d(ids, touched)
    if (alert.minimum_traces <= 1 and alert.method != "cluster") or not own.size:
        return own
    keys = np.array([hash(group_key(alert, trace)) for trace in store.traces.get(ids)])
    return ids[np.isin(keys, keys[np.isin(ids, own)])]


def _jobs(
    store: Store, alerts: Sequence[Alert], traces: NDArray[np.int64] | None, known: dict[str, Lines]
) -> Iterator[_Job]:
    for alert in alerts:
        query = parse_query(alert.query)
        for name, lines in known.items():
            if alert.repository not in {"", name}:
                continue
            if alert.line and not alert.repository and alert.line not in store.commits.lines(lines.repository):
                continue
            line = store.commits.line(lines.repository, alert.line)
            ids = store.traces.select(lines.repository, query)
            if traces is not None:
                ids = _with_groups(store, alert, ids, traces)
            yield _Job(alert, line, ids, traces is None, datetime.now(UTC))


def _before_window(old: Sequence[Sighting], look_: Look, lines: Lines) -> list[Sighting]:
    """Return what was seen where the alert's window does not reach any more: it stays as it is."""
    found = []
    for sighting in old:
        position = lines.line(sighting.place.line).positions.get(sighting.place.slot)
        if (
            position is not None
            and position <= look_.judged
            and look_.measured.size
            and look_.judged > look_.measured[0]
        ):
            found.append(sighting)
    return found


def _same(old: Sequence[Sighting], new: Sequence[Sighting]) -> bool:
    return len(old) == len(new) and all(
        step_values(one) == step_values(other) for one, other in zip(old, new, strict=True)
    )


def _by_slot(sightings: Sequence[Sighting]) -> list[Sighting]:
    return sorted(sightings, key=lambda one: (one.place.line, one.place.slot, one.movement))


def _blocks(looks: Iterator[Look]) -> Iterator[list[Look]]:
    block: list[Look] = []
    for one in looks:
        block.append(one)
        if len(block) == _BLOCK:
            yield block
            block = []
    if block:
        yield block


def _compare(store: Store, job: _Job, block: Sequence[Look], lines: Lines, fresh: dict[int, Fresh]) -> None:
    """Put what differs from what the alert saw before into ``fresh``."""
    name = job.alert.name
    seen = store.findings.sightings([one.trace.id for one in block])
    for one in block:
        old = _by_slot([sighting for sighting in seen.get(one.trace.id, []) if sighting.alert == name])
        new = _by_slot([*one.sightings, *_before_window(old, one, lines)])
        places = {(sighting.place, sighting.movement) for sighting in old}
        kept = sum((sighting.place, sighting.movement) in places for sighting in new)
        job.kept += kept
        job.added += len(new) - kept
        job.lost += len(old) - kept
        if _same(old, new):
            continue
        entry = fresh.setdefault(one.trace.id, Fresh(one.trace))
        entry.sightings[name] = tuple(new)
        _measure(entry, job.line, one.measured, lines)


def _measure(entry: Fresh, line: Line, measured: NDArray[np.int64], lines: Lines) -> None:
    """Note where a trace has values, for ``line`` and for the lines that it shares its beginning with."""
    entry.measured[line.name] = measured
    while line.base:
        base = lines.line(line.base)
        if base.name == line.name:
            return
        entry.measured.setdefault(base.name, measured[measured <= line.merge_base])
        line = base


def _look_again(store: Store, jobs: Sequence[_Job], fresh: Mapping[int, Fresh], lines: Lines) -> dict[int, Fresh]:
    """Return what differs now for the traces of ``fresh``; what alerts no longer watch stays as it is there."""
    wanted = np.array(sorted(fresh), dtype=np.int64)
    found: dict[int, Fresh] = {}
    watched: set[tuple[str, int]] = set()
    for job in jobs:
        line = store.commits.line(lines.repository, job.alert.line)
        ids = _with_groups(store, job.alert, job.ids, wanted)
        again = replace(job, line=line, ids=ids)
        watched.update((job.alert.name, trace) for trace in ids.tolist())
        looks = look(store, again.alert, line, ids, lines=lines, runner=Serial())
        for block in _blocks(_filtered(again, looks, lines)):
            _compare(store, again, block, lines, found)
    for key, entry in fresh.items():
        left = {name: () for name in entry.sightings if (name, key) not in watched}
        if left:
            own = found.setdefault(key, Fresh(entry.trace))
            own.sightings.update(left)
            for name, measured in entry.measured.items():
                own.measured.setdefault(name, measured)
    return found


def _filtered(job: _Job, looks: Iterator[Look], lines: Lines) -> Iterator[Look]:
    """Apply the filters of the alert; only a minimum of traces needs all looks at once."""
    alert = job.alert
    single = (
        replace(one, sightings=tuple(sighting for sighting in one.sightings if not refusal(alert, sighting)))
        for one in looks
    )
    if alert.minimum_traces <= 1:
        yield from single
        return
    held = list(single)
    groups = {one.trace.id: group_key(alert, one.trace) for one in held}
    kept: dict[int, list[Sighting]] = {}
    for sighting in moved_together(alert, [each for one in held for each in one.sightings], groups, lines):
        kept.setdefault(sighting.trace_id, []).append(sighting)
    for one in held:
        yield replace(one, sightings=tuple(kept.get(one.trace.id, ())))


def _no_longer_watched(store: Store, job: _Job, lines: Lines, fresh: dict[int, Fresh]) -> None:
    """Drop what the alert saw in traces that it does not match any more."""
    left = np.setdiff1d(store.findings.traces_seen_by(job.alert.name, lines.repository), job.ids)
    if not left.size:
        return
    for frame in store.frames.blocks(job.line, left):
        seen = store.findings.sightings([trace.id for trace in frame.traces])
        for row, trace in enumerate(frame.traces):
            entry = fresh.setdefault(trace.id, Fresh(trace))
            entry.sightings[job.alert.name] = ()
            _measure(entry, job.line, np.flatnonzero(~np.isnan(frame.values[row])) + frame.first, lines)
            job.lost += sum(sighting.alert == job.alert.name for sighting in seen.get(trace.id, []))


def _retire(store: Store, names: Collection[str], lines: Lines, fresh: dict[int, Fresh]) -> None:
    """Drop what alerts saw that are no more: all but those called ``names``."""
    nothing = np.empty(0, dtype=np.int64)
    for name in store.findings.alerts_seen():
        if name not in names:
            job = _Job(Alert(name), lines.default, nothing, complete=True, started=datetime.now(UTC))
            _no_longer_watched(store, job, lines, fresh)


def run_alerts(
    store: Store,
    alerts: Sequence[Alert],
    *,
    names: Collection[str] = (),
    progress: Progress | None = None,
    traces: Sequence[int] | NDArray[np.int64] | None = None,
    runner: Runner | None = None,
) -> RunSummary:
    """Run ``alerts``, or those called ``names``, and write what they find.

    ``alerts`` are all that there are: what others saw before is taken back, unless ``names`` or ``traces``
    restrict the run. Without ``traces`` every trace of each alert is looked at; with them (the ids of an event) only those,
    and, for an alert that counts traces, the groups they belong to. Running twice over the same data finds
    nothing new. What changed is announced by one event :data:`EVENT` a repository, in the transaction of
    the change.

    Raises:
        InputError: two alerts of one name, no alert of a name, a query or a method that cannot be used.
        HistoryError: an alert names a repository or a line that there is not.
    """
    chosen = _chosen(alerts, names)
    for alert in chosen:
        if alert.repository:
            store.commits.repository(alert.repository)
    touched = None if traces is None else np.unique(np.asarray(traces, dtype=np.int64))
    known = {repository.name: Lines(store, repository) for repository in store.commits.repositories()}
    jobs = list(_jobs(store, chosen, touched, known))
    total = sum(len(job.ids) for job in jobs)
    done = 0
    summary = RunSummary()
    for name, lines in known.items():
        own = [job for job in jobs if job.line.repository.name == name]
        tally = _Tally(store.findings.alerts.last())
        fresh: dict[int, Fresh] = {}
        for job in own:
            begun = time.perf_counter()
            looks = look(store, job.alert, job.line, job.ids, lines=lines, runner=runner or Serial())
            for block in _blocks(_filtered(job, looks, lines)):
                _compare(store, job, block, lines, fresh)
                done += len(block)
                if progress:
                    progress(done, total)
                if len(own) == 1 and len(fresh) >= _FLUSH:
                    tally.settle(store, own, fresh, lines)
            if job.complete:
                _no_longer_watched(store, job, lines, fresh)
            job.seconds = time.perf_counter() - begun
        if touched is None and not names:
            _retire(store, {alert.name for alert in alerts}, lines, fresh)
        summary = _finished(store, lines, own, fresh, tally=tally, summary=summary)
    return summary


def _finished(
    store: Store, lines: Lines, jobs: Sequence[_Job], fresh: dict[int, Fresh], *, tally: _Tally, summary: RunSummary
) -> RunSummary:
    """Write the rest of a repository, its regressions, the record of the run and the event; add it all up."""
    records = [job.record() for job in jobs]
    with store.transaction():
        tally.settle(store, jobs, fresh, lines)
        loose = store.findings.has_loose_points(lines.repository)
        if (tally.touched or loose) and store.findings.tickets.all(lines.repository):
            match_tickets(store, lines.repository)
        changed = regroup(store, lines.repository, touched=tally.touched) if tally.touched or loose else Regrouped()
        run = store.findings.alerts.record(records) if records else 0
        result = RunSummary(
            alerts=(*summary.alerts, *(replace(record, run=run) for record in records)),
            traces=summary.traces + sum(len(job.ids) for job in jobs),
            new=summary.new + tally.new,
            moved=summary.moved + tally.moved,
            gone=summary.gone + tally.gone,
            returned=summary.returned + tally.returned,
            recovered=summary.recovered + tally.recovered,
            new_regressions=(*summary.new_regressions, *changed.new),
            changed_regressions=(*summary.changed_regressions, *changed.changed),
        )
        if tally.touched or changed.new or changed.changed:
            store.outbox.publish(EVENT, _payload(lines.repository.name, run, tally, changed))
    return result


def _payload(repository: str, run: int, tally: _Tally, changed: Regrouped) -> dict[str, object]:
    return {
        "repository": repository,
        "run": run,
        "new_regressions": list(changed.new[:_LISTED]),
        "changed_regressions": list(changed.changed[:_LISTED]),
        "truncated": len(changed.new) > _LISTED or len(changed.changed) > _LISTED,
        "new": tally.new,
        "moved": tally.moved,
        "gone": tally.gone,
        "returned": tally.returned,
        "recovered": tally.recovered,
    }
