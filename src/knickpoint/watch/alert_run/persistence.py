"""Write what became of change points, new, moved, gone and returned ones, and sum up the run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import (
    UNWATCHED,
    KnownPoint,
    PointUpdate,
    Sighting,
    SuspectRange,
    Transition,
    UncertainRange,
)
from knickpoint.model.commit import Repository
from knickpoint.model.plain_text import counted
from knickpoint.store import Store
from knickpoint.store.findings.alert_definitions import AlertRun
from knickpoint.store.findings.rows import stored_step
from knickpoint.watch.alert_run.alert_job import AlertJob
from knickpoint.watch.alert_run.comparison import AlertComparison, TraceComparison
from knickpoint.watch.changes.membership import MovedPoints
from knickpoint.watch.identity import Ruler, reconcile
from knickpoint.watch.lines import Lines


@dataclass(frozen=True, slots=True)
class PersistedChanges:
    """What was written: how many change points met which fate, how many recovered, and the ids of all of them.

    ``moved`` are the points that are new, moved, gone or back.
    """

    counts: Mapping[Transition, int] = field(default_factory=dict)
    recovered: int = 0
    point_ids: frozenset[int] = frozenset()
    moved: MovedPoints = field(default_factory=MovedPoints)

    def __add__(self, other: PersistedChanges) -> PersistedChanges:
        """Add the outcomes of two writes."""
        return PersistedChanges(
            Counter(self.counts) + Counter(other.counts),
            self.recovered + other.recovered,
            self.point_ids | other.point_ids,
            self.moved | other.moved,
        )


def by_trace(comparisons: Iterable[TraceComparison]) -> dict[int, list[TraceComparison]]:
    """Return the comparisons of each trace, in their order."""
    found: dict[int, list[TraceComparison]] = defaultdict(list)
    for comparison in comparisons:
        found[comparison.trace.id].append(comparison)
    return found


def persist_changes(
    store: Store,
    comparisons: Sequence[TraceComparison],
    lines: Lines,
    *,
    expected: Mapping[int, SuspectRange] | None = None,
    found: datetime | None = None,
) -> PersistedChanges:
    """Reconcile the traces of ``comparisons`` and write their change points, in one transaction.

    ``expected`` has the change points whose cluster drifted, by id, and where it is now. ``found`` is the time at which
    new points were found, None for now.

    What is known is read inside the transaction, so that decisions made in the meantime count.
    """
    changed = by_trace(comparisons)
    if not changed:
        return PersistedChanges()
    with store.transaction():
        known = store.findings.known(changed.keys())
        if expected:
            known = {
                key: [replace(point, expected=expected.get(point.id)) for point in points]
                for key, points in known.items()
            }
        stored = store.findings.sightings.of_traces(changed.keys())

        # Decide what became of each point; leave out those of which everything is stored already.
        updates: list[PointUpdate] = []
        for key in sorted(changed):
            decided = point_updates(changed[key], known.get(key, []), stored.get(key, []), lines)
            updates += _unwritten(decided, changed[key], stored.get(key, []))

        # Write the rest.
        traces = {key: several[0].trace for key, several in changed.items()}
        ids = store.findings.apply(lines.repository, updates, traces, found=found)
    return PersistedChanges(
        Counter(update.transition for update in updates),
        sum(update.recovered for update in updates),
        frozenset(ids),
        _moved(ids, updates, known),
    )


def point_updates(
    comparisons: Sequence[TraceComparison], known: Sequence[KnownPoint], stored: Sequence[Sighting], lines: Lines
) -> list[PointUpdate]:
    """Return the updates of the points of one trace, by line.

    ``comparisons`` are those of the trace, ``known`` its points, and ``stored`` the sightings of all alerts so far.
    """
    points, sightings = _known_by_line(known, lines), _sightings_by_line(comparisons, stored, lines)
    measured = _measured_by_line(comparisons, lines)
    left = {each.alert for each in comparisons if not each.watching}
    unwatched = {(each.suspect_range.slot, each.movement) for each in stored if each.alert in left}
    longest = max(measured.values(), key=len, default=np.empty(0, dtype=np.int64))
    updates: list[PointUpdate] = []
    for name in sorted({*points, *sightings}):
        line = lines.line(name)
        ruler = Ruler(line.positions, measured.get(name, longest))
        newest = int(line.slots[int(ruler.measured[-1])]) if ruler.measured.size else -1
        without = {each.id for each in points.get(name, []) if (each.suspect_range.slot, each.movement) in unwatched}
        updates += [
            replace(update, absent_since=UNWATCHED if update.id in without else newest)
            if update.transition is Transition.GONE
            else update
            for update in reconcile(points.get(name, []), sightings.get(name, []), ruler)
        ]
    return updates


def _known_by_line(known: Iterable[KnownPoint], lines: Lines) -> dict[str, list[KnownPoint]]:
    """Return the known points of each line that exists; a place on another line is not an anchor."""
    found: dict[str, list[KnownPoint]] = defaultdict(list)
    for point in known:
        current = lines.current(point.suspect_range)
        anchor = lines.current(point.anchor) if point.anchor else None
        if anchor and anchor.line != current.line:
            anchor = None
        found[current.line].append(replace(point, suspect_range=current, anchor=anchor))
    return found


def _sightings_by_line(
    comparisons: Sequence[TraceComparison], stored: Iterable[Sighting], lines: Lines
) -> dict[str, list[Sighting]]:
    """Return the sightings of all alerts, by line: ``stored`` counts for the alerts that did not compare."""
    compared = {comparison.alert for comparison in comparisons}
    sightings = [sighting for sighting in stored if sighting.alert not in compared]
    sightings += [sighting for comparison in comparisons for sighting in comparison.sightings]
    found: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        current = lines.current(sighting.suspect_range)
        found[current.line].append(
            sighting if current is sighting.suspect_range else replace(sighting, suspect_range=current)
        )
    return found


def _measured_by_line(comparisons: Iterable[TraceComparison], lines: Lines) -> dict[str, NDArray[np.int64]]:
    """Return the positions of the trace's values on the alerts' lines, and on lines with a common beginning."""
    found: dict[str, NDArray[np.int64]] = {}
    for comparison in comparisons:
        line, measured = comparison.line, comparison.measured
        found[line.name] = measured
        while line.base:
            base = lines.line(line.base)
            if base.name == line.name:
                break
            found.setdefault(base.name, measured[measured <= line.merge_base])
            line = base
    return found


def _unwritten(
    updates: Sequence[PointUpdate], comparisons: Sequence[TraceComparison], stored: Sequence[Sighting]
) -> list[PointUpdate]:
    """Return the updates that change what is stored, to the last number.

    Where several alerts find points in a trace, any of them may have lost the sighting of one alert: then all stay.
    """
    alerts = {sighting.alert for sighting in stored} | {comparison.alert for comparison in comparisons}
    if len(alerts) > 1:
        return list(updates)
    steps = {stored_step(sighting) for sighting in stored}
    return [
        update
        for update in updates
        if update.transition is not Transition.UNCHANGED
        or update.carried
        or update.recovered
        or any(stored_step(sighting) not in steps for sighting in update.sightings)
    ]


def _moved(
    ids: Sequence[int], updates: Sequence[PointUpdate], known: Mapping[int, Sequence[KnownPoint]]
) -> MovedPoints:
    """Return the points that came, moved, went or changed in certainty, with their ranges before and after."""
    before = {point.id: UncertainRange.of(point) for points in known.values() for point in points}
    moved: set[int] = set()
    ranges: set[UncertainRange] = set()
    for key, update in zip(ids, updates, strict=True):
        old = before.get(update.id)
        new = UncertainRange.of(update.sightings[0]) if update.sightings else None
        if update.transition is not Transition.UNCHANGED or old != new:
            moved.add(key)
            ranges |= {each for each in (old, new) if each}
    return MovedPoints(frozenset(moved), frozenset(ranges))


@dataclass(frozen=True, slots=True)
class JobResult:
    """What one job found: ``comparison`` counts, the changes themselves left out, and ``seconds`` it took."""

    job: AlertJob
    comparison: AlertComparison
    seconds: float

    @property
    def failure(self) -> str:
        """Why the alert could not run to its end, "" where it did."""
        return self.job.failure or self.comparison.failure

    def record(self, failure: str, repository: Repository) -> AlertRun:
        """Return the stored record of the job, which ended with ``failure`` in ``repository``."""
        return AlertRun(
            alert=self.job.alert.name,
            started=self.job.started,
            seconds=self.seconds,
            complete=self.job.complete and not failure,
            traces=len(self.job.trace_ids),
            kept=self.job.kept + self.comparison.kept,
            added=self.comparison.added,
            lost=self.comparison.lost,
            failure=failure,
            repository_id=repository.id,
        )


REWATCH: Final = "An alert that watches them brings them back: `knick alerts set default` watches everything."
"""What to do about changes that no alert watches any more."""


def unwatched_text(changes: int) -> str:
    """Name the number of changes that no alert watches any more."""
    return f"{counted(changes, 'change')} {'is' if changes == 1 else 'are'} no longer watched by any alert"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run did.

    ``new``, ``moved``, ``gone``, ``returned`` and ``recovered`` count change points; ``traces`` those that the run was
    about, once for each alert, and ``judged`` those of them that had changed since the alert's last run.
    ``new_changes`` and ``updated_changes`` are ids of those that are work; ``history_changes`` counts the new ones that
    are history. ``turned`` counts the findings that turned with the direction of their traces, ``unturned`` those that
    wait for a person to accept it. ``unwatched`` counts the changes that went because no alert watches them any more.
    ``failures`` says which alerts could not run, and why.
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
    new_changes: tuple[int, ...] = ()
    updated_changes: tuple[int, ...] = ()
    history_changes: int = 0
    turned: int = 0
    unturned: int = 0
    unwatched: int = 0

    def __add__(self, other: RunSummary) -> RunSummary:
        """Add the summaries of a run in the repositories of both."""
        return RunSummary(
            alerts=(*self.alerts, *other.alerts),
            traces=self.traces + other.traces,
            judged=self.judged + other.judged,
            new=self.new + other.new,
            moved=self.moved + other.moved,
            gone=self.gone + other.gone,
            returned=self.returned + other.returned,
            recovered=self.recovered + other.recovered,
            failures={**self.failures, **other.failures},
            new_changes=(*self.new_changes, *other.new_changes),
            updated_changes=(*self.updated_changes, *other.updated_changes),
            history_changes=self.history_changes + other.history_changes,
            turned=self.turned + other.turned,
            unturned=self.unturned + other.unturned,
            unwatched=self.unwatched + other.unwatched,
        )

    @classmethod
    def of_points(cls, changes: PersistedChanges) -> RunSummary:
        """Return the part of a summary that is about change points."""
        counts = changes.counts
        return cls(
            new=counts.get(Transition.NEW, 0),
            moved=counts.get(Transition.MOVED, 0),
            gone=counts.get(Transition.GONE, 0),
            returned=counts.get(Transition.BACK, 0),
            recovered=changes.recovered,
        )

    @property
    def nothing_new(self) -> bool:
        """Whether everything was known already."""
        found = self.new_changes or self.history_changes
        return not (self.new or self.moved or self.gone or self.returned or self.recovered or found)
