"""Decide which settled findings are announced now, by their places on the line and their values, and which wait.

They wait for late results. An improvement that may undo a regression waits until the values show whether it is. A
step soon after another one the same way waits, too, where it is small or the values beside it still move, until enough
values tell whether both are one drift: so a drift is announced once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.local_levels import NEAR
from knickpoint.model.change_point import (
    UNWATCHED,
    ChangePoint,
    Condition,
    LineInterval,
    Status,
    StepNumbers,
    SuspectRange,
)
from knickpoint.model.notification import Announcement, AnnouncementRule
from knickpoint.model.settlement import FindingKind
from knickpoint.store import Store
from knickpoint.watch.detection.sightings import NEARER
from knickpoint.watch.identity import REACH
from knickpoint.watch.lines import Lines

_CHAIN_COMMITS: Final = 50
"""Commits around a change in which a chain that may name its place already is looked for."""

_BEFORE_ALL: Final = LineInterval(-2, -1)

_BLOCK: Final = 1024
"""Change points whose traces are read at a time."""

Measured = Mapping[tuple[str, int], NDArray[np.int64]]
"""The positions at which traces have values, ascending, by the name of the line and the trace."""


@dataclass(frozen=True, slots=True)
class Places:
    """The lines of a repository, and the values on them."""

    store: Store
    lines: Lines

    def position(self, point: ChangePoint) -> int:
        """Return the position of a change point on its line, -1 where its commit has left the line."""
        return self.lines.line(point.suspect_range.line).positions.get(point.suspect_range.slot, -1)

    def age(self, point: ChangePoint) -> int:
        """Return the number of values of the trace since a change point; since its last value where it is a drift.

        It is 0 where the commit has left the line.
        """
        line = self.lines.line(point.suspect_range.line)
        drift = point.kind is FindingKind.DRIFT
        begin = line.positions.get(point.numbers.after.last if drift else point.suspect_range.slot)
        if begin is None:
            return 0
        return int(np.count_nonzero(~np.isnan(self.store.frames.values(line, [point.trace_id])[0, begin:])))

    def may_lie_at(self, point: ChangePoint, slot: int) -> bool:
        """Return True if a change point may lie at the commit ``slot`` of its line, by its interval of location."""
        within = self.interval(point.suspect_range)
        position = self.lines.line(point.suspect_range.line).positions.get(slot, -1)
        return within.previous - point.interval_before < position <= within.position + point.interval_after

    def drifts_over(self, drift: ChangePoint, suspect_range: SuspectRange) -> bool:
        """Return True if ``drift`` is a drift, and ``suspect_range`` lies in it."""
        if drift.kind is not FindingKind.DRIFT:
            return False
        position = self.interval(suspect_range).position
        until = self.lines.line(drift.suspect_range.line).positions.get(drift.numbers.after.last, -1)
        return self.interval(drift.suspect_range).previous <= position <= until

    def absorbed(self, points: Iterable[ChangePoint], traces: Mapping[int, Sequence[ChangePoint]]) -> frozenset[int]:
        """Return the ids of those of ``points`` that are gone because they were steps of what is a drift now.

        ``traces`` has all change points of each trace.
        """
        return frozenset(
            point.id
            for point in points
            if point.condition is Condition.GONE
            and any(
                drift.condition is not Condition.GONE
                and drift.movement == point.movement
                and self.drifts_over(drift, point.suspect_range)
                for drift in traces.get(point.trace_id, ())
            )
        )

    def outside(self, points: Sequence[ChangePoint], last: Announcement) -> bool:
        """Return True if all ``points`` lie where ``last`` does not say that the change may lie.

        A drift lies all along. A point is outside where more values lie between it and the announced range than either
        interval of location.
        """
        if any(
            self.drifts_over(point, last.suspect_range) or self.overlaps(point.suspect_range, last.suspect_range)
            for point in points
        ):
            return False
        for block in _blocks(points):
            measured = self._measured(block)
            if any(self._between(point, last, measured) <= max(point.interval, last.interval) for point in block):
                return False
        return True

    def first_at_place(self, points: Sequence[ChangePoint], chains: Mapping[int, Announcement]) -> int:
        """Return the first of ``chains`` at the place of one of ``points``, 0 for none; each has its last announcement.

        A point is there if it lies in the range that the announcement names, or as near as identity allows a point to
        move: nearer than :data:`~knickpoint.watch.identity.REACH` values, and within both intervals of location.
        """
        found = 0
        for block in _blocks(points) if chains else ():
            measured = self._measured(block)
            earlier = (chain for chain in sorted(chains) if not found or chain < found)
            found = next((chain for chain in earlier if self._is_at(chains[chain], block, measured)), found)
        return found

    def _is_at(self, last: Announcement, points: Sequence[ChangePoint], measured: Measured) -> bool:
        return any(
            self.overlaps(point.suspect_range, last.suspect_range)
            or self._between(point, last, measured) <= min(REACH, point.interval, last.interval)
            for point in points
        )

    def _measured(self, points: Iterable[ChangePoint]) -> Measured:
        """Return the positions at which the traces of ``points`` have values, read at once."""
        ids: dict[str, set[int]] = defaultdict(set)
        for point in points:
            ids[point.suspect_range.line].add(point.trace_id)
        frames = self.store.frames
        return {
            (name, trace): np.flatnonzero(~np.isnan(values))
            for name, line in ((name, self.lines.line(name)) for name in sorted(ids))
            for part in frames.parts(line, sorted(ids[name]))
            for trace, values in zip(part.tolist(), frames.values(line, part), strict=True)
        }

    def _between(self, point: ChangePoint, last: Announcement, measured: Measured) -> int:
        """Return the number of values of the trace between ``point`` and the announced range."""
        line = self.lines.line(point.suspect_range.line)
        announced = self.interval(last.suspect_range)
        position = line.positions.get(point.suspect_range.slot, announced.position)
        nearest = announced.previous + 1 if position <= announced.previous else announced.position
        first, behind = sorted((position, nearest))
        positions = measured[point.suspect_range.line, point.trace_id]
        return int(np.searchsorted(positions, behind, "right") - np.searchsorted(positions, first, "right"))

    def interval(self, suspect_range: SuspectRange) -> LineInterval:
        """Return the positions of a suspect range on its line; one that has left it lies before all others."""
        return self.lines.interval(suspect_range) or _BEFORE_ALL

    def overlaps(self, first: SuspectRange, second: SuspectRange) -> bool:
        """Return True if two suspect ranges share a commit."""
        return self.interval(first).overlaps(self.interval(second))

    def absent(self, points: Iterable[ChangePoint]) -> dict[int, int]:
        """Return the number of values in a row that lack each of the points that are gone.

        It is 0 for a point that no alert watches any more: the values do not speak against it.
        """
        gone = [point for point in points if point.condition is Condition.GONE]
        found: dict[int, int] = {}
        for name in sorted({point.suspect_range.line for point in gone}):
            line = self.lines.line(name)
            of_line = [point for point in gone if point.suspect_range.line == name]
            ids = np.array(sorted({point.trace_id for point in of_line}), dtype=np.int64)
            row_of = {key: row for row, key in enumerate(ids.tolist())}
            held = ~np.isnan(self.store.frames.values(line, ids))
            for point in of_line:
                since = line.positions.get(point.absent_since, -1)
                lacking = 1 + int(held[row_of[point.trace_id], since + 1 :].sum())
                found[point.id] = 0 if point.absent_since == UNWATCHED else lacking
        return found

    def slots_near(self, points: Iterable[ChangePoint]) -> set[int]:
        """Return the slots of the commits around the suspect ranges of ``points``."""
        found: set[int] = set()
        for point in points:
            slots = self.lines.line(point.suspect_range.line).slots
            within = self.interval(point.suspect_range)
            found.update(int(slot) for slot in slots[max(0, within.previous - _CHAIN_COMMITS) : within.position + NEAR])
        return found


def _blocks(points: Sequence[ChangePoint]) -> Iterator[Sequence[ChangePoint]]:
    for first in range(0, len(points), _BLOCK):
        yield points[first : first + _BLOCK]


Floats = NDArray[np.float64]

_TELLS: Final = 36
"""Values behind a step that tell whether it is one of a drift: fewer do not distinguish a slope from a staircase."""

_NEAR: Final = 60
"""Values between two steps of one slow change at most: a slower one makes steps that are further apart, and no drift.
"""

_CLEAR: Final = 5.0
"""Deviations of single values from which on a step is not part of a slow change, unless the values beside it still
move.
"""

_STILL_MOVES: Final = 0.25
"""Share of a clear step by which the halves of the levels beside it differ, the same way, where it is part of a slow
change.
"""

_FEW: Final = 6
"""Values of a level that do not tell whether it moves."""


def is_due(point: ChangePoint, lines: Lines, rule: AnnouncementRule, now: datetime) -> bool:
    """Return True if a settled finding is to be announced now.

    It is not when a person hid it, or when results of commits inside its suspect range may still arrive.
    """
    if point.effective_status is Status.HIDDEN:
        return False
    interval = lines.interval(point.suspect_range)
    if interval is None or interval.commits == 1 or point.found is None:
        return True
    return now >= point.found + timedelta(minutes=rule.late_minutes)


def leaves_open(change: StepNumbers, back: StepNumbers) -> bool:
    """Return True if few values follow ``back``, a later step, and its level is nearly the one before ``change``."""
    return back.after.count < NEAR and _is_undone(change, back)


def _is_undone(change: StepNumbers, back: StepNumbers) -> bool:
    distance = abs(back.after_level - change.before_level)
    return NEARER * distance < abs(change.after_level - change.before_level)


def may_be_drifts(
    waiting: Iterable[ChangePoint], traces: Mapping[int, Sequence[ChangePoint]], places: Places
) -> frozenset[int]:
    """Return the ids of those of ``waiting`` that may turn out to be part of a drift with an earlier step.

    ``traces`` has all change points of each trace.
    """
    found = set()
    for point in waiting:
        trace = traces.get(point.trace_id, ())
        earlier = [each for each in trace if _may_be_one(each, point) and not _turned_back(each, point, trace, places)]
        if earlier and _waits(point, earlier, places):
            found.add(point.id)
    return frozenset(found)


def _may_be_one(earlier: ChangePoint, point: ChangePoint) -> bool:
    """Return True if both move the same way on one line, and ``earlier`` is live, or announced and may come back."""
    same = earlier.movement == point.movement and earlier.suspect_range.line == point.suspect_range.line
    counts = earlier.condition is not Condition.GONE or earlier.announced > 0
    return same and counts and earlier.id != point.id and _is_step(point)


def _turned_back(earlier: ChangePoint, point: ChangePoint, trace: Iterable[ChangePoint], places: Places) -> bool:
    """Return True if the level before ``earlier`` was back before ``point``: a drift does not turn back.

    ``trace`` has the change points of their trace. The alert may leave out the change that brought the level back.
    """
    begin, end = places.position(earlier), places.position(point)
    positions = places.lines.line(point.suspect_range.line).positions
    if earlier.is_over and positions.get(earlier.recovered_at, end) < end:
        return True
    return any(
        other.condition is not Condition.GONE
        and other.movement != earlier.movement
        and begin < places.position(other) < end
        and _is_undone(earlier.numbers, other.numbers)
        for other in trace
    )


def _is_step(point: ChangePoint) -> bool:
    return point.kind is FindingKind.STEP


def _is_small(point: ChangePoint) -> bool:
    return abs(point.numbers.size) < _CLEAR * point.numbers.deviation


def _waits(point: ChangePoint, earlier: Sequence[ChangePoint], places: Places) -> bool:
    """Return True if few values follow ``point``, and it may be one drift with one of ``earlier`` that is near."""
    line = places.lines.line(point.suspect_range.line)
    values = places.store.frames.values(line, [point.trace_id])[0]
    measured = np.flatnonzero(~np.isnan(values))
    held = values[measured].astype(np.float64)
    rank = int(np.searchsorted(measured, places.position(point)))
    if held.size - rank >= _TELLS:
        return False
    ranks = [(int(np.searchsorted(measured, places.position(each))), each) for each in earlier]
    return any(
        (_is_small(point) and (not _is_step(each) or _is_small(each)))
        or _still_moves(held[other:rank], held[rank:], point.numbers.size)
        for other, each in ranks
        if 0 < rank - other <= _NEAR
    )


def _still_moves(before: Floats, after: Floats, size: float) -> bool:
    """Return True if the later halves of both levels lie further the way of the step, as in a slow change.

    Levels of few values may.
    """
    if min(before.size, after.size) < _FEW:
        return True
    halves = (np.array_split(level, 2) for level in (before, after))
    rises = [float(np.median(second) - np.median(first)) for first, second in halves]
    return sum(rises) / len(rises) / size >= _STILL_MOVES
