"""Keep what a run announces: the rows of the ledger that it adds, and the chains as they are with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import ChangePoint, Condition, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.notification import Announcement, AnnouncementRule
from knickpoint.store import Store
from knickpoint.store.events.payloads import MOST_LISTED, Announced
from knickpoint.watch.announcements.decisions import Side
from knickpoint.watch.announcements.due_findings import leaves_open
from knickpoint.watch.announcements.known_chains import KnownChains
from knickpoint.watch.announcements.places import Places
from knickpoint.watch.announcements.transitions import ChainState, Step, reason_unsent

# Find the changes of a trace that brought back the level before another one, and those that may have.


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
        """Return True if values leave open whether ``point`` is over: few follow its recovery, or it vanished lately.

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


@dataclass
class Journal:
    """What one run announces about the chains that are ``known``: rows, and ``joined``, from change point to chain."""

    store: Store
    repository: Repository
    time: datetime
    places: Places
    known: KnownChains = field(default_factory=KnownChains)
    written: list[Announcement] = field(default_factory=list)
    joined: dict[int, int] = field(default_factory=dict)

    @property
    def recoveries(self) -> Recoveries:
        """What brought back which level."""
        return Recoveries(self.known.traces, self.places)

    @cached_property
    def ranges(self) -> Mapping[int, SuspectRange]:
        """The suspect range of each change."""
        return self.store.findings.groups.suspect_ranges(self.repository)

    @cached_property
    def _first(self) -> int:
        return self.store.findings.announcements.next_id()

    def chain_of(self, point: ChangePoint) -> int:
        """Return the chain that a change point is a member of, 0 or :data:`BASELINE` for none."""
        return self.joined.get(point.id, point.announced)

    def join(self, chain: int, points: Iterable[ChangePoint]) -> None:
        """Make ``points`` members of a chain."""
        for point in points:
            self.joined[point.id] = chain
            self.known.members[chain].append(point)

    def say(self, before: ChainState, step: Step) -> ChainState:
        """Add the next announcement of a chain, with the numbers of the moment; return the state of the chain then."""
        lead = min(step.points, key=lambda point: point.rank)
        live = [point for point in step.points if point.condition is not Condition.GONE]
        moved = self.moved(before, live)
        change = before.last.change_id if step.provisional and before.last else _change_of(step.points)
        causes = [self.recoveries.of(point) for point in step.points] if step.condition is Condition.RECOVERED else []
        key = self._first + len(self.written)
        row = Announcement(
            id=key,
            chain=before.chain or key,
            number=before.number,
            repository_id=self.repository.id,
            change_id=change,
            kind=step.kind,
            time=self.time,
            suspect_range=self._range_of(before, change, lead, moved=moved),
            direction=lead.direction,
            finding_kind=lead.kind,
            condition=step.condition,
            traces=len({point.trace_id for point in step.points}),
            lead=lead.id,
            trace_key=lead.key,
            unit=lead.unit,
            before_level=lead.numbers.before_level,
            after_level=lead.numbers.after_level,
            size=lead.numbers.size,
            relative_size=lead.numbers.relative_size,
            interval=max(lead.interval, before.placed.interval if before.placed else 0),
            cause_id=next((self.known.changes[each] for each in causes if each), 0),
            provisional=step.provisional,
            unsent=reason_unsent(before, step.kind, self.places.age(lead)),
        )
        self.written.append(row)
        self.known.chains[row.chain] = after = before.after(row)
        return after

    def moved(self, state: ChainState, live: Sequence[ChangePoint]) -> bool:
        """Return True if all live members lie where the chain did not say that its change may lie."""
        if state.placed is None or not live or not self.places.outside(live, state.placed):
            return False
        lead = min(live, key=lambda point: point.rank)
        return self._range_of(state, _change_of(live), lead, moved=True) != state.placed.suspect_range

    def _range_of(self, state: ChainState, change: int, lead: ChangePoint, *, moved: bool) -> SuspectRange:
        """Return the range that an announcement names: the announced one, widened over the new place where it moved."""
        current = self.ranges.get(change, lead.suspect_range)
        if state.placed is None:
            return current
        announced = state.placed.suspect_range
        if not moved or announced.line != current.line:
            return announced
        old, new = self.places.interval(announced), self.places.interval(current)
        return SuspectRange(
            announced.line,
            announced.previous if old.previous <= new.previous else current.previous,
            announced.slot if old.position >= new.position else current.slot,
        )

    def write(self, rule: AnnouncementRule) -> None:
        """Write what is announced, and name what senders are to hear of in one event; tickets get what is not sent, too."""
        ledger = self.store.findings.announcements
        ledger.append(self.written)
        ledger.mark(self.joined)
        sides = {key: state.side for key, state in self.known.chains.items()}
        ids = [
            row.id
            for row in self.written
            if not row.provisional
            and (not row.unsent or not row.kind.opens)
            and (rule.improvements or sides[row.chain] is Side.WORSE)
        ]
        if ids:
            self.store.outbox.publish(Announced(self.repository.name, ids[:MOST_LISTED], len(ids) > MOST_LISTED))


def _change_of(points: Sequence[ChangePoint]) -> int:
    """Return the change that most of ``points`` are in, the first of several."""
    votes = Counter(point.change_id for point in points)
    return min(votes, key=lambda key: (-votes[key], key))
