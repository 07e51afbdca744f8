"""Write the announcement ledger at the end of a run: read what the run touched, decide, and append what is new.

This is the last stage of a run, in its transaction: a run that is killed announces nothing, and the next one announces it
then. New chains begin before the others go on, so what undoes a change is known when its recovery is announced.
What is not settled is announced last, for those who ask.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property

from knickpoint.model.alert import AlertKind
from knickpoint.model.announcement import (
    DEFAULT_ANNOUNCEMENT_RULE,
    Announcement,
    AnnouncementKind,
    AnnouncementRule,
)
from knickpoint.model.change_point import ChangePoint, Condition, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.store import Store
from knickpoint.store.events.payloads import MOST_LISTED, Announced
from knickpoint.store.findings.announcements import BASELINE
from knickpoint.watch.announcements.decisions import (
    Joining,
    Side,
    decide_opening,
    named,
    side_in,
    side_of,
    side_of_chain,
)
from knickpoint.watch.announcements.due_findings import is_due, leaves_open, may_be_drifts
from knickpoint.watch.announcements.known_chains import KnownChains, read_chains
from knickpoint.watch.announcements.places import Places
from knickpoint.watch.announcements.provisional import PATIENCE, first_sights, may_be_sighted
from knickpoint.watch.announcements.transitions import (
    ChainState,
    Members,
    condition_after,
    may_be_announced,
    released,
    transition,
)
from knickpoint.watch.identity.point_matching import REACH
from knickpoint.watch.lines import Lines

__all__ = ["announce", "announce_split", "rejoin_chains"]


def announce(
    store: Store,
    repository: Repository,
    touched: Collection[int],
    rule: AnnouncementRule,
    *,
    complete: bool = False,
    now: datetime | None = None,
) -> list[Announcement]:
    """Announce what settled, moved, recovered or vanished in ``repository``, and return it.

    ``touched`` are the ids of the change points that the run wrote; after a ``complete`` run all chains may go on, also
    those that a run touched which was killed. Findings that were history are marked, and stay silent for ever. One
    :class:`~knickpoint.store.events.payloads.Announced` event names the rows that senders are to hear of.
    """
    ledger = store.findings.announcements
    time = now or datetime.now(UTC)
    with store.transaction():
        ledger.keep_history_silent(repository)
        announcer = _Announcer(store, repository, time)
        waiting = [point for point in ledger.waiting(repository) if is_due(point, announcer.places.lines, rule, time)]
        announcer.read(touched, waiting, ledger.unended(repository, gone=not complete))
        announcer.open_chains(waiting, rule)
        announcer.set_apart(touched)
        announcer.follow_chains()
        announcer.announce_provisional(ledger.unsettled(repository) if complete else announcer.known.touched)
        announcer.withdraw_provisional(ledger.provisional_gone(repository))
        announcer.write(rule)
    return announcer.written


def announce_split(
    store: Store, repository: Repository, changes: Collection[int], *, now: datetime | None = None
) -> list[Announcement]:
    """Announce each part of what a person split, like a new change, but the one that was announced by name; return it.

    ``changes`` are those that the split made or left.
    """
    with store.transaction():
        announcer = _Announcer(store, repository, now or datetime.now(UTC))
        members = store.findings.announcements.of_changes(changes)
        announcer.set_apart([point.id for point in members], decided=True)
        announcer.write(DEFAULT_ANNOUNCEMENT_RULE)
    return announcer.written


def rejoin_chains(store: Store, changes: Collection[int], since: datetime) -> None:
    """Let the chains that were opened ``since`` a split that was undone end silently.

    In each of ``changes`` the first chain of their side that stands takes over the members of the later ones.
    """
    ledger = store.findings.announcements
    for key in sorted(changes):
        members = ledger.of_changes([key])
        chains = ledger.chains({point.announced for point in members if point.announced > 0})
        first: dict[Side, int] = {}
        joined: dict[int, int] = {}
        for chain, rows in sorted(chains.items()):
            if not _stands(rows):
                continue
            kept = first.setdefault(side_of_chain(rows), chain)
            opened = next((row.time for row in rows if row.kind.opens), rows[0].time)
            if kept != chain and opened >= since:
                own = ledger.members([chain])
                elsewhere = any(point.change_id != key for point in own if point.condition is not Condition.GONE)
                joined |= {point.id: kept for point in own if point.change_id == key or not elsewhere}
        ledger.mark(joined)


def _stands(rows: Sequence[Announcement]) -> bool:
    return rows[-1].condition is Condition.PRESENT


def _last_by_data(rows: Sequence[Announcement]) -> Announcement:
    """Return what the data said last: a bisection that located the change does not narrow where values may place it."""
    by_bisections = {AnnouncementKind.LOCATED, AnnouncementKind.BISECTED}
    return next((row for row in reversed(rows) if row.kind not in by_bisections), rows[-1])


@dataclass
class _Announcer:
    """What one run announces about the chains that are ``known``.

    ``sides`` has the side of each chain. ``joined`` is what is to be marked: change point to chain. ``sighted`` has the chains
    that are provisional so far, by the change point that they are about.
    """

    store: Store
    repository: Repository
    time: datetime
    places: Places = field(init=False)
    known: KnownChains = field(default_factory=KnownChains)
    sides: dict[int, Side] = field(default_factory=dict)
    sighted: dict[int, int] = field(default_factory=dict)
    written: list[Announcement] = field(default_factory=list)
    joined: dict[int, int] = field(default_factory=dict)
    _following: int = field(init=False)

    def __post_init__(self) -> None:
        self.places = Places(self.store, Lines(self.store, self.repository))
        self._following = self.store.findings.announcements.next_id()

    def read(self, touched: Collection[int], waiting: Sequence[ChangePoint], further_chains: Collection[int]) -> None:
        """Read the chains that the run may continue, see :func:`read_chains`."""
        self.known = read_chains(
            self.store,
            self.repository,
            self.places,
            touched=touched,
            waiting=waiting,
            further_chains=further_chains,
        )
        self.sides = {chain: side_of_chain(rows) for chain, rows in self.known.chains.items()}
        self.sighted = {each.lead: each.chain for each in self.known.sights}

    # New chains

    def open_chains(self, waiting: Sequence[ChangePoint], rule: AnnouncementRule) -> None:
        """Let the points that wait join chains or open new ones, change by change in the order of the line."""
        drifts = may_be_drifts(waiting, self.known.traces, self.places)
        ready: dict[int, list[ChangePoint]] = defaultdict(list)
        for point in waiting:
            if point.id not in drifts:
                ready[point.change_id].append(point)
        firsts = self.store.findings.announcements.by_id([self.known.counts[key][0].first for key in ready])
        places = {each.change_id: self.places.position(each) for each in firsts}
        mixed = [key for key in ready if len({side_of(count) for count in self.known.counts[key]}) > 1]
        leading = self._leading(mixed) if rule.improvements else {}  # else nobody hears of the better side
        leads: dict[int, set[int]] = defaultdict(set)
        for sight in self.known.sights:
            leads[sight.change_id].add(sight.lead)
        for key in sorted(ready, key=lambda key: (places[key], key)):
            opened = 0
            due = [point for point in ready[key] if not self._may_bring_back(point)]
            over = {chain for chain, rows in self.known.chains.items() if rows[-1].condition is Condition.RECOVERED}
            for decision in decide_opening(
                self.known.counts[key],
                due,
                sides=self.sides,
                over=over,
                brought_back=self._brought_back,
                leading=leading.get(key, Side.WORSE),
            ):
                if not isinstance(decision, Joining):
                    self.joined |= {point.id: BASELINE for point in decision.points}
                    continue
                chain = decision.chain or opened or self._announced_here(decision)
                if not decision.chain:
                    opened = chain = chain or self._open(decision.side, key, decision.points, leads[key])
                self._join(chain, decision.points)

    def _leading(self, mixed: Collection[int]) -> Mapping[int, Side]:
        """Return the side that the statement of each of the ``mixed`` changes says, which have members of both."""
        stated = self.store.findings.statements.of_changes(mixed) if mixed else {}
        return {key: side_in(statement.side) for key, statement in stated.items()}

    def _join(self, chain: int, points: Iterable[ChangePoint]) -> None:
        for point in points:
            self.joined[point.id] = chain
            self.known.members[chain].append(point)

    def _announced_here(self, joining: Joining) -> int:
        """Return the chain of the same side that speaks for the place of ``joining`` already, 0 for none.

        It has no live member in the same traces: two changes of a trace are two. No split set ``joining`` apart from the
        finding that it named. Its place is that of its change now: of a wide range that it named at first, another
        change may have been in the rest.
        """
        taken = {
            chain
            for trace in {point.trace_id for point in joining.points}
            for other in self.known.traces[trace]
            if other.condition is not Condition.GONE
            for chain in (other.announced, self.joined.get(other.id, 0))
        }
        open_chains: dict[int, Announcement] = {}
        for chain in self.known.chains.keys() - taken:
            last = self.known.chains[chain][-1]
            if (
                self.sides[chain] is joining.side
                and last.condition is not Condition.RECOVERED
                and self.known.is_live(chain)
            ):
                place = self._ranges.get(last.change_id, last.suspect_range)
                open_chains[chain] = replace(last, suspect_range=place)
        return self.places.first_at_place(joining.points, self._unsplit(joining, open_chains))

    def _unsplit(self, joining: Joining, chains: Mapping[int, Announcement]) -> Mapping[int, Announcement]:
        """Leave out the ``chains`` from whose finding a person's split sets ``joining`` apart."""
        point = joining.points[0]  # a split sets all of a change apart, or none
        leads = {chain: named(self.known.chains[chain]) for chain in chains}
        held = self.store.findings.groups.splits_and_merges({point.id, *leads.values()}) if chains else {}
        return {chain: last for chain, last in chains.items() if held[leads[chain]].apart == held[point.id].apart}

    def _open(
        self,
        side: Side,
        change: int,
        points: Sequence[ChangePoint],
        leads: Collection[int],
    ) -> int:
        """Announce that ``points`` settled, in the chain that is about one of the ``leads`` provisionally, if any."""
        begun = min((self.sighted[lead] for lead in leads if lead in self.sighted), default=0)
        if begun:
            self.sighted = {lead: chain for lead, chain in self.sighted.items() if chain != begun}
        over = all(point.is_over and (side is Side.WORSE or not self._is_reported(point)) for point in points)
        condition = Condition.RECOVERED if over else Condition.PRESENT
        return self._write(begun, side.opening, change, points, condition).chain

    # What is not settled

    def announce_provisional(self, points: Iterable[ChangePoint]) -> None:
        """Announce the changes of ``points`` that are seen for the first time and not settled."""
        fresh = {point.id: point for point in points if may_be_sighted(point) and point.id not in self.joined}
        ledger = self.store.findings.announcements
        changes = {point.change_id for point in fresh.values() if point.change_id}
        members = ledger.of_changes(ledger.never_announced(self.repository, changes))
        for key, sights in first_sights(members, fresh.keys()).items():
            self._write(0, AnnouncementKind.PROVISIONAL, key, sights, Condition.PRESENT, provisional=True)

    def withdraw_provisional(self, chains: Collection[int]) -> None:
        """Withdraw what was announced provisionally, and never settled, once it is gone for long enough."""
        rows = self.store.findings.announcements.chains(chains)
        leads = {row.lead: chain for chain, (row, *_) in rows.items()}
        gone = self.store.findings.announcements.by_id(leads)
        absent = self.places.absent(gone)
        self.known.chains.update({chain: found for chain, found in rows.items() if chain not in self.known.chains})
        for point in gone:
            if absent.get(point.id, 0) >= PATIENCE:
                chain = leads[point.id]
                row = self.known.chains[chain][-1]
                if row.kind is AnnouncementKind.PROVISIONAL:
                    kind = AnnouncementKind.WITHDRAWN
                    self._write(chain, kind, row.change_id, [point], Condition.GONE, provisional=True)

    def _brought_back(self, point: ChangePoint) -> int:
        """Return the worse chain whose change in the same trace ``point`` brings back, 0 for none."""
        for other in self.known.traces[point.trace_id]:
            chain = self.joined.get(other.id, other.announced)
            worse = side_of(other) is Side.WORSE and self.sides.get(chain) is not Side.BETTER
            if chain > 0 and worse and self._recovery_of(other) == point.id:
                return chain
        return 0

    def _may_bring_back(self, point: ChangePoint) -> bool:
        """Return whether a better change waits, because it may bring back a worse one of its trace.

        It does where that one is not announced yet, and while few values leave open whether its level is that before.
        """
        if side_of(point) is Side.WORSE:
            return False
        place = self.places.position(point)
        for other in self.known.traces[point.trace_id]:
            chain = self.joined.get(other.id, other.announced)
            worse = side_of(other) is Side.WORSE and other.condition is not Condition.GONE and chain != BASELINE
            if worse and self.places.position(other) < place:
                back = self._recovery_of(other) == point.id
                if (back and not chain) or (not other.is_over and leaves_open(other.numbers, point.numbers)):
                    return True
        return False

    # Changes that turned out to be two

    def set_apart(self, ids: Collection[int], *, decided: bool = False) -> None:
        """Announce by themselves those change points ``ids`` that are another change than the one their chain named.

        They are in another change, and their values place them outside of it, or a person ``decided`` so.
        """
        ledger = self.store.findings.announcements
        strays = ledger.by_id(ledger.strays(ids, either_side=decided))
        chains = ledger.chains({point.announced for point in strays})
        self.known.add_traces(ledger.beside({point.id for point in strays if point.trace_id not in self.known.traces}))
        for chain, key in sorted({(point.announced, point.change_id) for point in strays}):
            members = ledger.of_changes([key])
            parts = [point for point in members if point.announced == chain and not self._brought_back(point)]
            settled = [point for point in parts if may_be_announced(point)]
            if settled and _stands(chains[chain]) and (decided or self._lie_apart(parts, chains[chain])):
                sides = {side_of(point) for point in settled}
                side = self._leading([key])[key] if len(sides) > 1 else sides.pop()
                speaking = [point for point in settled if side_of(point) is side]
                found = self._chain_among(members, side, but=chain)
                self._join(found or self._open(side, key, speaking, {point.id for point in settled}), parts)
                left = {point.id for point in parts}
                self.known.members[chain] = [point for point in self.known.members[chain] if point.id not in left]

    def _lie_apart(self, points: Sequence[ChangePoint], rows: Sequence[Announcement]) -> bool:
        """Return whether ``points`` lie outside of where the finding lies now that a chain named.

        What is uncertain has to lie further away than values that arrive may move it.
        """
        (lead,) = self.store.findings.points([named(rows)])
        place = self._ranges.get(lead.change_id, lead.suspect_range)
        certain = not lead.interval and not any(point.interval for point in points)
        interval = 1 if certain else max(REACH, lead.interval)
        return self.places.outside(points, replace(rows[-1], suspect_range=place, interval=interval))

    def _chain_among(self, members: Iterable[ChangePoint], side: Side, *, but: int) -> int:
        """Return the first other chain of a side that stands and has some of the ``members`` of that side, 0 for none."""
        keys = {point.announced for point in members if point.announced > 0 and side_of(point) is side} - {but}
        found = self.store.findings.announcements.chains(keys)
        return min((key for key, rows in found.items() if side_of_chain(rows) is side and _stands(rows)), default=0)

    # Chains that go on

    def follow_chains(self) -> None:
        """Announce what follows in each chain, once."""
        absent = self.places.absent([point for members in self.known.members.values() for point in members])
        opened = {each.chain for each in self.written}
        for chain in sorted(self.known.chains.keys() - opened - self.known.steady):
            if self.known.chains[chain][-1].provisional or not self.known.members[chain]:
                continue
            state = ChainState.of(self.known.chains[chain])
            members = self._members_now(chain, state.side, absent)
            kind = transition(state, members)
            if kind is not None:
                self._follow(chain, kind, members.points)
            self._release(released(self.known.members[chain], ChainState.of(self.known.chains[chain])))

    def _members_now(self, chain: int, side: Side, absent: Mapping[int, int]) -> Members:
        """Return the members of a chain on its side, with what the values beside them leave open."""
        points = tuple(point for point in self.known.members[chain] if side_of(point) is side)
        live = [point for point in points if point.condition is not Condition.GONE]
        return Members(
            points,
            absent,
            unsure=frozenset(point.id for point in live if self._is_unsure(point, absent)),
            absorbed=self.places.absorbed(points, self.known.traces),
            reported=frozenset(point.id for point in live if side is Side.BETTER and self._is_reported(point)),
            moved=self._moved(live, chain),
        )

    def _release(self, points: Sequence[ChangePoint]) -> None:
        """Announce ``points`` on their own, change by change: the chain that spoke for them is withdrawn."""
        by_change: dict[int, list[ChangePoint]] = defaultdict(list)
        for point in points:
            by_change[point.change_id].append(point)
        for key, found in sorted(by_change.items()):
            joining = Joining(tuple(found), side_of(found[0]))
            leads = {point.id for point in found}
            chain = self._announced_here(joining) or self._open(joining.side, key, found, leads)
            self._join(chain, found)

    def _follow(self, chain: int, kind: AnnouncementKind, members: Sequence[ChangePoint]) -> None:
        live = [point for point in members if point.condition is not Condition.GONE]
        if kind is AnnouncementKind.RETURNED:
            live = [point for point in live if not point.is_over] or live
        # Where all members changed sides, what was announced is gone, and they are what is left of it.
        points = live or list(members) or self.known.members[chain]
        votes = Counter(point.change_id for point in points)
        change = min(votes, key=lambda key: (-votes[key], key))
        lead = min(points, key=lambda point: point.rank)
        last = self._announced_last(chain)
        moved = kind is AnnouncementKind.MOVED
        if moved and last and self._range_of(chain, change, lead, moved=True) == last.suspect_range:
            return  # the place was named already
        self._write(chain, kind, change, points, condition_after(kind))

    def _recovery_of(self, point: ChangePoint) -> int:
        """Return the finding that brought back the level before ``point``, 0 where none did, or no alert reports it."""
        later = self._later(point) if point.is_over else ()
        live = [other for other in later if other.condition is not Condition.GONE]
        return next((other.id for other in live if self.places.may_lie_at(other, point.recovered_at)), 0)

    def _is_reported(self, point: ChangePoint) -> bool:
        """Return whether a finding that is work brought back the level before ``point``: it is announced by itself."""
        back = self._recovery_of(point)
        others = self.known.traces[point.trace_id] if back else ()
        return any(other.id == back and other.alert_kind is AlertKind.WORK for other in others)

    def _is_unsure(self, point: ChangePoint, absent: Mapping[int, int]) -> bool:
        """Return whether the values leave open whether ``point`` is over: few follow its recovery, or that vanished lately."""
        later = [other for other in self._later(point) if other.condition is not Condition.GONE]
        few = not point.is_over and any(leaves_open(point.numbers, other.numbers) for other in later)
        return few or self._recovery_vanished(point, absent)

    def _recovery_vanished(self, point: ChangePoint, absent: Mapping[int, int]) -> bool:
        """Return whether a change that may have brought the level back vanished so lately that it may return."""
        gone = [other for other in self._later(point) if other.condition is Condition.GONE]
        fresh = self.places.absent([other for other in gone if other.id not in absent])
        return any(
            (absent.get(other.id, 0) or fresh.get(other.id, 0)) < max(3, other.settlement.needed) for other in gone
        )

    def _later(self, point: ChangePoint) -> list[ChangePoint]:
        """Return the changes of the same trace behind ``point`` that go the other way, in the order of the line."""
        place = self.places.position(point)
        later = [
            other
            for other in self.known.traces[point.trace_id]
            if other.numbers.size * point.numbers.size < 0 and self.places.position(other) > place
        ]
        return sorted(later, key=self.places.position)

    # What both need

    def write(self, rule: AnnouncementRule) -> None:
        """Write what is announced, and name what senders are to hear of in one event."""
        ledger = self.store.findings.announcements
        ledger.append(self.written)
        ledger.mark(self.joined)
        ids = [
            each.id
            for each in self.written
            if not each.provisional and (rule.improvements or self.sides[each.chain] is Side.WORSE)
        ]
        if ids:
            self.store.outbox.publish(Announced(self.repository.name, ids[:MOST_LISTED], len(ids) > MOST_LISTED))

    @cached_property
    def _ranges(self) -> Mapping[int, SuspectRange]:
        """The suspect range of each change."""
        return self.store.findings.groups.suspect_ranges(self.repository)

    def _moved(self, live: Sequence[ChangePoint], chain: int) -> bool:
        """Return whether all live members lie further from the announced suspect range than the announcement allows."""
        last = self._announced_last(chain)
        return last is not None and bool(live) and self.places.outside(live, last)

    def _range_of(self, chain: int, change: int, lead: ChangePoint, *, moved: bool) -> SuspectRange:
        """Return the range that an announcement names: the announced one, widened over the new place where it moved."""
        current = self._ranges.get(change, lead.suspect_range)
        last = self._announced_last(chain)
        if last is None:
            return current
        announced = last.suspect_range
        if not moved or announced.line != current.line:
            return announced
        old, new = self.places.interval(announced), self.places.interval(current)
        return SuspectRange(
            announced.line,
            announced.previous if old.previous <= new.previous else current.previous,
            announced.slot if old.position >= new.position else current.slot,
        )

    def _announced_last(self, chain: int) -> Announcement | None:
        """Return what was announced last in a chain as settled, None where nothing was."""
        rows = [row for row in self.known.chains.get(chain, []) if not row.provisional]
        return _last_by_data(rows) if rows else None

    def _write(
        self,
        chain: int,
        kind: AnnouncementKind,
        change: int,
        points: Sequence[ChangePoint],
        condition: Condition,
        *,
        provisional: bool = False,
    ) -> Announcement:
        lead = min(points, key=lambda point: point.rank)
        last = self._announced_last(chain)
        live = [point for point in points if point.condition is not Condition.GONE]
        key = self._following
        self._following += 1
        causes = [self._recovery_of(point) for point in points] if condition is Condition.RECOVERED else []
        cause = next((self.known.changes[each] for each in causes if each), 0)
        written = Announcement(
            id=key,
            chain=chain or key,
            number=len(self.known.chains.get(chain, ())),
            repository_id=self.repository.id,
            change_id=change,
            kind=kind,
            time=self.time,
            suspect_range=self._range_of(chain, change, lead, moved=self._moved(live, chain)),
            direction=lead.direction,
            finding_kind=lead.kind,
            condition=condition,
            traces=len({point.trace_id for point in points}),
            lead=lead.id,
            trace_key=lead.key,
            unit=lead.unit,
            before_level=lead.numbers.before_level,
            after_level=lead.numbers.after_level,
            size=lead.numbers.size,
            relative_size=lead.numbers.relative_size,
            interval=max(lead.interval, last.interval if last else 0),
            cause_id=cause,
            provisional=provisional,
        )
        self.written.append(written)
        self.known.chains.setdefault(written.chain, []).append(written)
        self.sides.setdefault(written.chain, side_of_chain([written]))
        return written
