"""Write what became of change points: the comparisons of all alerts become new, moved, gone and returned points."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

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
from knickpoint.store import Store
from knickpoint.store.findings.rows import stored_step
from knickpoint.watch.alert_run.comparison import TraceComparison
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
