"""Measure where the change points of announcements lie: places on the line, distances, time since they went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import UNWATCHED, ChangePoint, Condition, LineInterval, SuspectRange
from knickpoint.model.notification import Announcement
from knickpoint.model.settlement import FindingKind
from knickpoint.store import Store
from knickpoint.watch.identity import REACH
from knickpoint.watch.lines import Lines

NEAR: Final = 50
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
            found.update(int(slot) for slot in slots[max(0, within.previous - NEAR) : within.position + NEAR])
        return found


def _blocks(points: Sequence[ChangePoint]) -> Iterator[Sequence[ChangePoint]]:
    for first in range(0, len(points), _BLOCK):
        yield points[first : first + _BLOCK]
