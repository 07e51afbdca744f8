"""Write what alerts saw now beside what is known: the change points that are new, moved, gone or back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.frame import Trace
from knickpoint.model.regression import KnownPoint, PointUpdate, Sighting, Transition
from knickpoint.store import Store
from knickpoint.store.findings.rows import step_values
from knickpoint.watch.identity.point_matching import Ruler
from knickpoint.watch.identity.reconciliation import reconcile
from knickpoint.watch.lines import Lines
from knickpoint.watch.regressions.membership import Moves

__all__ = ["Fresh", "Settled", "changes_of", "settle"]


@dataclass(frozen=True, slots=True)
class Fresh:
    """What alerts saw of one trace now, where that differs from what they saw before.

    ``sightings`` has every alert that saw something else, by name. ``measured`` is line → positions at
    which the trace has a value.
    """

    trace: Trace
    sightings: dict[str, tuple[Sighting, ...]] = field(default_factory=dict)
    measured: dict[str, NDArray[np.int64]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settled:
    """How many change points met which fate, how many recovered, and which were written.

    ``moves`` are the points that came, moved, went or came back.
    """

    counts: Mapping[Transition, int]
    recovered: int
    ids: tuple[int, ...]
    moves: Moves = field(default_factory=Moves)


def _by_line(
    fresh: Fresh, known: Sequence[KnownPoint], seen: Sequence[Sighting], lines: Lines
) -> dict[str, tuple[list[KnownPoint], list[Sighting]]]:
    """Sort the known points and everything that the alerts see of a trace by line."""
    found: dict[str, tuple[list[KnownPoint], list[Sighting]]] = defaultdict(lambda: ([], []))
    for point in known:
        place = lines.current(point.suspect_range)
        anchor = lines.current(point.anchor) if point.anchor else None
        if anchor and anchor.line != place.line:
            anchor = None
        found[place.line][0].append(replace(point, suspect_range=place, anchor=anchor))
    kept = [sighting for sighting in seen if sighting.alert not in fresh.sightings]
    for sighting in [*kept, *(one for several in fresh.sightings.values() for one in several)]:
        place = lines.current(sighting.suspect_range)
        found[place.line][1].append(
            sighting if place is sighting.suspect_range else replace(sighting, suspect_range=place)
        )
    return found


def changes_of(fresh: Fresh, known: Sequence[KnownPoint], seen: Sequence[Sighting], lines: Lines) -> list[PointUpdate]:
    """Return what becomes of the points of one trace, given its ``known`` ones and what alerts saw of it before."""
    changes: list[PointUpdate] = []
    for name, (points, sightings) in sorted(_by_line(fresh, known, seen, lines).items()):
        measured = fresh.measured.get(name)
        if measured is None:
            measured = max(fresh.measured.values(), key=len, default=np.empty(0, dtype=np.int64))
        changes += reconcile(points, sightings, Ruler(lines.line(name).positions, measured))
    return changes


def _busy(changes: Sequence[PointUpdate], fresh: Fresh, seen: Sequence[Sighting]) -> list[PointUpdate]:
    """Leave out points that stand as they stood before, to the last number: there is nothing to write.

    Where several alerts see a trace, any of its points may have lost the sighting of one of them: then all stay.
    """
    alerts = {sighting.alert for sighting in seen} | set(fresh.sightings)
    if len(alerts) > 1:
        return list(changes)
    stored = {tuple(step_values(sighting).items()) for sighting in seen}
    return [
        change
        for change in changes
        if change.transition is not Transition.UNCHANGED
        or change.carried
        or change.recovered
        or any(tuple(step_values(sighting).items()) not in stored for sighting in change.sightings)
    ]


def settle(store: Store, fresh: Mapping[int, Fresh], lines: Lines) -> Settled:
    """Reconcile the traces of ``fresh``, by id, and write the change points, in one transaction.

    What is known is read inside the transaction, so that decisions made in the meantime count.
    """
    with store.transaction():
        known = store.findings.known(fresh.keys())
        seen = store.findings.sightings.of_traces(fresh.keys())
        changes = [
            change
            for key in sorted(fresh)
            for change in _busy(
                changes_of(fresh[key], known.get(key, []), seen.get(key, []), lines), fresh[key], seen.get(key, [])
            )
        ]
        traces = {key: one.trace for key, one in fresh.items()}
        ids = store.findings.apply(lines.repository, changes, traces)
    counts = Counter(change.transition for change in changes)
    before = {point.id: point.suspect_range for points in known.values() for point in points}
    other = [change for change in changes if change.transition is not Transition.UNCHANGED]
    places = {before[change.id] for change in other if change.id} | {
        change.sightings[0].suspect_range for change in other if change.sightings
    }
    moved = frozenset(
        key for key, change in zip(ids, changes, strict=True) if change.transition is not Transition.UNCHANGED
    )
    moves = Moves(moved, frozenset(places))
    return Settled(counts, sum(change.recovered for change in changes), tuple(ids), moves)
