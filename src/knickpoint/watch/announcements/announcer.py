"""Write the announcement ledger at the end of a run: read what the run touched, decide, and append what is new.

This is the last stage of a run, in its transaction: a run that is killed announces nothing, and the next one announces
it then. New chains begin before the others go on, so what undoes a change is known when its recovery is announced. What
is not settled is announced last, for those who ask.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from knickpoint.model.change_point import ChangePoint, Condition, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.notification import DEFAULT_ANNOUNCEMENT_RULE, Announcement, AnnouncementKind, AnnouncementRule
from knickpoint.store import Store
from knickpoint.store.findings.announcements import BASELINE
from knickpoint.watch.announcements.due_findings import Places, is_due, leaves_open, may_be_drifts
from knickpoint.watch.announcements.journal import Journal, read_chains, read_states
from knickpoint.watch.announcements.transitions import (
    ChainState,
    Joining,
    Members,
    Said,
    Side,
    decide_opening,
    first_sights,
    may_be_announced,
    may_be_sighted,
    released,
    side_in,
    side_of,
    transition,
)
from knickpoint.watch.identity import REACH
from knickpoint.watch.lines import Lines


@dataclass(frozen=True, slots=True)
class Openings:
    """The chains that a run begins, or that its change points join."""

    journal: Journal

    def begin(self, waiting: Sequence[ChangePoint], rule: AnnouncementRule) -> None:
        """Let the points that wait join chains or open new ones, change by change in the order of the line."""
        journal, known = self.journal, self.journal.known
        drifts = may_be_drifts(waiting, known.traces, journal.places)
        ready: dict[int, list[ChangePoint]] = defaultdict(list)
        for point in waiting:
            if point.id not in drifts:
                ready[point.change_id].append(point)
        firsts = journal.store.findings.announcements.by_id([known.counts[key][0].first for key in ready])
        places = {each.change_id: journal.places.position(each) for each in firsts}
        mixed = [key for key in ready if len({side_of(count) for count in known.counts[key]}) > 1]
        leading = self._leading(mixed) if rule.improvements else {}  # else nobody hears of the better side
        for key in sorted(ready, key=lambda key: (places[key], key)):
            opened = 0
            for decision in decide_opening(
                known.counts[key],
                [point for point in ready[key] if not self._may_bring_back(point)],
                sides={chain: state.side for chain, state in known.chains.items()},
                over={chain for chain, state in known.chains.items() if state.said is Said.OVER},
                brought_back=self._brought_back,
                leading=leading.get(key, Side.WORSE),
            ):
                if not isinstance(decision, Joining):
                    journal.joined |= {point.id: BASELINE for point in decision.points}
                    continue
                chain = decision.chain or opened or self._announced_here(decision)
                if not decision.chain:
                    opened = chain = chain or self._open(decision.points, key)
                journal.join(chain, decision.points)

    def _leading(self, mixed: Collection[int]) -> Mapping[int, Side]:
        """Return the side that the statement of each of the ``mixed`` changes says, which have members of both."""
        stated = self.journal.store.findings.statements.of_changes(mixed) if mixed else {}
        return {key: side_in(statement.side) for key, statement in stated.items()}

    def _open(self, points: Sequence[ChangePoint], change: int = 0, *, leads: Collection[int] = ()) -> int:
        """Announce that ``points`` settled, in the chain that was provisionally about ``change`` or its ``leads``."""
        known, recoveries = self.journal.known, self.journal.recoveries
        begun = [
            known.chains[sight.chain]
            for sight in known.sights
            if (sight.change_id == change or sight.lead in leads) and not known.chains[sight.chain].opened
        ]
        better = [point for point in points if side_of(point) is Side.BETTER]
        reported = frozenset(point.id for point in better if recoveries.is_reported(point))
        state = min(begun, key=lambda state: state.chain, default=ChainState())
        step = transition(state, Members(tuple(points), {}, reported=reported))
        return self.journal.say(state, step).chain if step else 0

    def release(self, points: Sequence[ChangePoint]) -> None:
        """Announce ``points`` on their own, change by change: the chain that spoke for them is withdrawn."""
        by_change: dict[int, list[ChangePoint]] = defaultdict(list)
        for point in points:
            by_change[point.change_id].append(point)
        for _, found in sorted(by_change.items()):
            joining = Joining(tuple(found), side_of(found[0]))
            chain = self._announced_here(joining) or self._open(found, leads={point.id for point in found})
            self.journal.join(chain, found)

    # Where a chain speaks already

    def _announced_here(self, joining: Joining) -> int:
        """Return the chain of the same side that speaks for the place of ``joining`` already, 0 for none.

        It has no live member in the same traces: two changes of a trace are two. No split set ``joining`` apart from
        the finding that it named. Its place is that of its change now: of a wide range that it named at first, another
        change may have been in the rest.
        """
        known = self.journal.known
        taken = {
            chain
            for trace in {point.trace_id for point in joining.points}
            for other in known.traces[trace]
            if other.condition is not Condition.GONE
            for chain in (other.announced, self.journal.joined.get(other.id, 0))
        }
        open_chains = {
            chain: replace(state.last, suspect_range=self._range_now(state.last))
            for chain, state in known.chains.items()
            if chain not in taken
            and state.last is not None
            and state.side is joining.side
            and state.said is not Said.OVER
            and known.is_live(chain)
        }
        return self.journal.places.first_at_place(joining.points, self._unsplit(joining, open_chains))

    def _range_now(self, last: Announcement) -> SuspectRange:
        return self.journal.ranges.get(last.change_id, last.suspect_range)

    def _unsplit(self, joining: Joining, chains: Mapping[int, Announcement]) -> Mapping[int, Announcement]:
        """Leave out the ``chains`` from whose finding a person's split sets ``joining`` apart."""
        point = joining.points[0]  # a split sets all of a change apart, or none
        leads = {chain: self.journal.known.chains[chain].named for chain in chains}
        groups = self.journal.store.findings.groups
        held = groups.splits_and_merges({point.id, *leads.values()}) if chains else {}
        return {chain: last for chain, last in chains.items() if held[leads[chain]].apart == held[point.id].apart}

    def _brought_back(self, point: ChangePoint) -> int:
        """Return the worse chain whose change in the same trace ``point`` brings back, 0 for none."""
        for other in self.journal.known.traces[point.trace_id]:
            chain = self.journal.chain_of(other)
            state = self.journal.known.chains.get(chain)
            worse = side_of(other) is Side.WORSE and (state is None or state.side is Side.WORSE)
            if chain > 0 and worse and self.journal.recoveries.of(other) == point.id:
                return chain
        return 0

    def _may_bring_back(self, point: ChangePoint) -> bool:
        """Return True if a better change waits, because it may bring back a worse one of its trace.

        It does where that one is not announced yet, and while few values leave open whether its level is that before.
        """
        if side_of(point) is Side.WORSE:
            return False
        position = self.journal.places.position
        for other in self.journal.known.traces[point.trace_id]:
            chain = self.journal.chain_of(other)
            worse = side_of(other) is Side.WORSE and other.condition is not Condition.GONE and chain != BASELINE
            if worse and position(other) < position(point):
                back = self.journal.recoveries.of(other) == point.id
                if (back and not chain) or (not other.is_over and leaves_open(other.numbers, point.numbers)):
                    return True
        return False

    # Changes that turned out to be two

    def set_apart(self, ids: Collection[int], *, decided: bool = False) -> None:
        """Announce by themselves those change points ``ids`` that are another change than the one their chain named.

        They are in another change, and their values place them outside of it, or a person ``decided`` so.
        """
        ledger, known = self.journal.store.findings.announcements, self.journal.known
        strays = ledger.by_id(ledger.strays(ids, either_side=decided))
        states = read_states(self.journal.store, {point.announced for point in strays})
        known.add_traces(ledger.beside({point.id for point in strays if point.trace_id not in known.traces}))
        for chain, key in sorted({(point.announced, point.change_id) for point in strays}):
            members = ledger.of_changes([key])
            parts = [point for point in members if point.announced == chain and not self._brought_back(point)]
            settled = [point for point in parts if may_be_announced(point)]
            if settled and states[chain].stands and (decided or self._lie_apart(parts, states[chain])):
                sides = {side_of(point) for point in settled}
                side = self._leading([key])[key] if len(sides) > 1 else sides.pop()
                speaking = [point for point in settled if side_of(point) is side]
                found = self._chain_among(members, side, but=chain)
                leads = {point.id for point in settled}
                self.journal.join(found or self._open(speaking, leads=leads), parts)
                left = {point.id for point in parts}
                known.members[chain] = [point for point in known.members[chain] if point.id not in left]

    def _lie_apart(self, points: Sequence[ChangePoint], state: ChainState) -> bool:
        """Return True if ``points`` lie outside of where the finding lies now that a chain named.

        What is uncertain has to lie further away than values that arrive may move it.
        """
        (lead,) = self.journal.store.findings.points([state.named])
        place = self.journal.ranges.get(lead.change_id, lead.suspect_range)
        certain = not lead.interval and not any(point.interval for point in points)
        interval = 1 if certain else max(REACH, lead.interval)
        last = state.last
        return last is not None and self.journal.places.outside(
            points, replace(last, suspect_range=place, interval=interval)
        )

    def _chain_among(self, members: Sequence[ChangePoint], side: Side, *, but: int) -> int:
        """Return the first other standing chain of a side that has some of the ``members`` of that side, else 0."""
        keys = {point.announced for point in members if point.announced > 0 and side_of(point) is side} - {but}
        states = read_states(self.journal.store, keys)
        return min((key for key, state in states.items() if state.side is side and state.stands), default=0)


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
    :class:`~knickpoint.store.events.Announced` event names the rows that senders are to hear of.
    """
    ledger = store.findings.announcements
    time = now or datetime.now(UTC)
    with store.transaction():
        ledger.keep_history_silent(repository)
        places = Places(store, Lines(store, repository))
        waiting = [point for point in ledger.waiting(repository) if is_due(point, places.lines, rule, time)]
        further = ledger.unended(repository, gone=not complete)
        known = read_chains(store, repository, places, touched=touched, waiting=waiting, further_chains=further)
        journal = Journal(store, repository, time, places, known)
        openings = Openings(journal)
        openings.begin(waiting, rule)
        openings.set_apart(touched)
        _follow_chains(journal, openings)
        _announce_sights(journal, ledger.unsettled(repository) if complete else known.touched)
        _withdraw_sights(journal, ledger.provisional_gone(repository))
        journal.write(rule)
    return journal.written


def announce_split(
    store: Store, repository: Repository, changes: Collection[int], *, now: datetime | None = None
) -> list[Announcement]:
    """Announce each part of what a person split, like a new change, but the one that was announced by name; return it.

    ``changes`` are those that the split made or left.
    """
    with store.transaction():
        journal = Journal(store, repository, now or datetime.now(UTC), Places(store, Lines(store, repository)))
        members = store.findings.announcements.of_changes(changes)
        Openings(journal).set_apart([point.id for point in members], decided=True)
        journal.write(DEFAULT_ANNOUNCEMENT_RULE)
    return journal.written


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
            state = ChainState.of(rows)
            if not state.stands:
                continue
            kept = first.setdefault(state.side, chain)
            opened = next((row.time for row in rows if row.kind.opens), rows[0].time)
            if kept != chain and opened >= since:
                own = ledger.members([chain])
                elsewhere = any(point.change_id != key for point in own if point.condition is not Condition.GONE)
                joined |= {point.id: kept for point in own if point.change_id == key or not elsewhere}
        ledger.mark(joined)


def _follow_chains(journal: Journal, openings: Openings) -> None:
    """Announce what follows in each chain until nothing does; a withdrawn one releases what it spoke for."""
    known = journal.known
    absent = journal.places.absent([point for members in known.members.values() for point in members])
    opened = {each.chain for each in journal.written}
    for chain in sorted(known.chains.keys() - opened - known.steady):
        state = known.chains[chain]
        if not state.opened or not known.members[chain]:
            continue
        said: set[AnnouncementKind] = set()  # each kind once a run, whatever the data are
        while (step := transition(state, _members_now(journal, state, absent))) and step.kind not in said:
            state = journal.say(state, step)
            said.add(step.kind)
        openings.release(released(known.members[chain], state))


def _members_now(journal: Journal, state: ChainState, absent: Mapping[int, int]) -> Members:
    """Return the members of a chain, with what the values beside them leave open."""
    members, recoveries = journal.known.members[state.chain], journal.recoveries
    points = tuple(point for point in members if side_of(point) is state.side)
    live = [point for point in points if point.condition is not Condition.GONE]
    others = tuple(point for point in members if side_of(point) is not state.side)
    better = live if state.side is Side.BETTER else ()
    return Members(
        points,
        absent,
        unsure=frozenset(point.id for point in live if recoveries.is_unsure(point, absent)),
        absorbed=journal.places.absorbed(points, journal.known.traces),
        reported=frozenset(point.id for point in better if recoveries.is_reported(point)),
        moved=journal.moved(state, live),
        others=others,
    )


def _announce_sights(journal: Journal, points: Iterable[ChangePoint]) -> None:
    """Announce provisionally the changes of ``points`` that are seen for the first time and not settled."""
    fresh = {point.id: point for point in points if may_be_sighted(point) and point.id not in journal.joined}
    ledger = journal.store.findings.announcements
    changes = {point.change_id for point in fresh.values() if point.change_id}
    members = ledger.of_changes(ledger.never_announced(journal.repository, changes))
    for sights in first_sights(members, fresh.keys()).values():
        step = transition(ChainState(), Members(sights, {}))
        if step is not None:
            journal.say(ChainState(), step)


def _withdraw_sights(journal: Journal, chains: Collection[int]) -> None:
    """Withdraw what was announced provisionally, and never settled, once it is gone for long enough."""
    states = read_states(journal.store, chains) | journal.known.chains
    leads = {states[chain].named: states[chain] for chain in chains}
    gone = journal.store.findings.announcements.by_id(leads)
    absent = journal.places.absent(gone)
    for point in gone:
        state = leads[point.id]
        step = None if state.opened else transition(state, Members((point,), absent))
        if step is not None:
            journal.say(state, step)
