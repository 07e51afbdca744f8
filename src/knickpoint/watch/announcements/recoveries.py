"""Find the changes of a trace that brought back the level before another one, and those that may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.watch.announcements.due_findings import leaves_open
from knickpoint.watch.announcements.places import Places


@dataclass(frozen=True, slots=True)
class Recoveries:
    """The changes of each trace, gone ones included, and where they lie."""

    traces: Mapping[int, Sequence[ChangePoint]]
    places: Places

    def of(self, point: ChangePoint) -> int:
        """Return the finding that brought back the level before ``point``, 0 where none did, or no alert reports it."""
        later = self._later(point) if point.is_over else ()
        live = [other for other in later if other.condition is not Condition.GONE]
        return next((other.id for other in live if self.places.may_lie_at(other, point.recovered_at)), 0)

    def is_reported(self, point: ChangePoint) -> bool:
        """Return True if a finding that is work brought back the level before ``point``: it is announced by itself."""
        back = self.of(point)
        others = self.traces.get(point.trace_id, ()) if back else ()
        return any(other.id == back and other.alert_kind is AlertKind.WORK for other in others)

    def is_unsure(self, point: ChangePoint, absent: Mapping[int, int]) -> bool:
        """Return True if the values leave open whether ``point`` is over: few follow its recovery, or that vanished lately.

        ``absent`` has how many values in a row lack a change that is gone.
        """
        later = [other for other in self._later(point) if other.condition is not Condition.GONE]
        few = not point.is_over and any(leaves_open(point.numbers, other.numbers) for other in later)
        return few or self._vanished(point, absent)

    def _vanished(self, point: ChangePoint, absent: Mapping[int, int]) -> bool:
        """Return True if a change that may have brought the level back vanished so lately that it may return."""
        gone = [other for other in self._later(point) if other.condition is Condition.GONE]
        missing = {**absent, **self.places.absent([other for other in gone if other.id not in absent])}
        return any(missing.get(other.id, 0) < max(3, other.settlement.needed) for other in gone)

    def _later(self, point: ChangePoint) -> list[ChangePoint]:
        """Return the changes of the same trace behind ``point`` that go the other way, in the order of the line."""
        place = self.places.position(point)
        later = [
            other
            for other in self.traces.get(point.trace_id, ())
            if other.numbers.size * point.numbers.size < 0 and self.places.position(other) > place
        ]
        return sorted(later, key=self.places.position)
