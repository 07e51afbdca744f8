"""The chains of announcements that a run may continue, with what it adds to them: rows of the ledger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import ChangePoint, Condition, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.notification import Announcement, AnnouncementRule
from knickpoint.model.settlement import FindingKind
from knickpoint.store import Store
from knickpoint.store.events import MOST_LISTED, Announced
from knickpoint.store.findings.announcements import MemberCount, Sight
from knickpoint.watch.announcements.due_findings import Places, leaves_open
from knickpoint.watch.announcements.transitions import ChainState, Side, Step, reason_unsent


@dataclass(frozen=True, slots=True)
class KnownChains:
    """The chains and change points that a run is about; what it announces is added to them.

    ``chains`` has the state of each chain, ``members`` its change points; ``traces`` has all change points of each
    trace, and ``changes`` the change of each of them. ``touched`` has those that the run wrote. ``sights`` are the
    provisional announcements about the changes that waiting points belong to, and ``counts`` says how many members of
    these changes are like each other. Of chains that are ``steady`` the members are not read: nothing follows in them.
    """

    chains: dict[int, ChainState] = field(default_factory=dict)
    members: dict[int, list[ChangePoint]] = field(default_factory=lambda: defaultdict(list))
    traces: dict[int, list[ChangePoint]] = field(default_factory=lambda: defaultdict(list))
    changes: dict[int, int] = field(default_factory=dict)
    touched: Sequence[ChangePoint] = ()
    sights: Sequence[Sight] = ()
    counts: Mapping[int, Sequence[MemberCount]] = field(default_factory=dict)
    steady: frozenset[int] = frozenset()

    def add_traces(self, points: Iterable[ChangePoint]) -> None:
        """Add all change points of further traces."""
        for point in points:
            self.traces[point.trace_id].append(point)
            self.changes[point.id] = point.change_id

    def is_live(self, chain: int) -> bool:
        """Return True if the data show a member of a chain."""
        return chain in self.steady or any(point.condition is not Condition.GONE for point in self.members[chain])


def read_states(store: Store, chains: Collection[int]) -> dict[int, ChainState]:
    """Return the state of each of ``chains``."""
    return {key: ChainState.of(rows) for key, rows in store.findings.announcements.chains(chains).items()}


def read_chains(
    store: Store,
    repository: Repository,
    places: Places,
    *,
    touched: Collection[int],
    waiting: Sequence[ChangePoint],
    further_chains: Collection[int],
) -> KnownChains:
    """Read the chains that the run may continue, and the change points of all traces that take part.

    Most runs refresh the numbers of steps that were announced long ago. Their chains are not read, as nothing follows
    in a steady one, nor in one that has ended. Of a steady one that a waiting point may join, only the announcements
    are: it may have a hundred thousand members, and be joined whenever results arrive.
    """
    ledger = store.findings.announcements
    near = ledger.beside({*touched, *(point.id for point in waiting)})
    changes = {point.change_id for point in waiting}
    counts: dict[int, list[MemberCount]] = defaultdict(list)
    for count in ledger.member_counts(changes):
        counts[count.change_id].append(count)
    sights = ledger.sights(repository, changes)

    # Which chains the waiting points may join, and which others may go on.
    joinable = _joinable(near, waiting, counts) | set(ledger.near(repository, places.slots_near(waiting)))
    begun = {each.chain for each in sights}
    continued = {point.announced for point in near if point.announced > 0} | set(further_chains)
    steady = ledger.steady(continued | joinable | begun)
    continued -= steady
    keys = (continued - ledger.ended(continued)) | joinable | begun

    # A drift that joins a steady chain may show that the change has grown.
    drifts = any(point.kind is FindingKind.DRIFT for point in waiting)
    steady = set() if drifts else steady & keys
    together = ledger.beside_members(repository, keys - steady)
    written = frozenset(touched)
    known = KnownChains(
        chains=read_states(store, keys),
        touched=[point for point in near if point.id in written],
        sights=[each for each in sights if each.chain not in continued | joinable],
        counts=counts,
        steady=frozenset(steady),
    )
    for point in together:
        if point.announced in keys - steady:
            known.members[point.announced].append(point)
    traces = {point.trace_id for point in near}
    known.add_traces([*near, *(each for each in together if each.trace_id not in traces)])
    return known


def _joinable(
    near: Iterable[ChangePoint], waiting: Iterable[ChangePoint], counts: Mapping[int, Sequence[MemberCount]]
) -> set[int]:
    """Return the chains of the changes and of the traces of the waiting points."""
    traces = {point.trace_id for point in waiting}
    of_changes = {count.announced for found in counts.values() for count in found}
    of_traces = {each.announced for each in near if each.trace_id in traces}
    return {chain for chain in of_changes | of_traces if chain > 0}


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
