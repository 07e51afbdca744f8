"""Write the announcement ledger at the end of a run: read what the run touched, decide, and append what is new.

This is the last stage of a run, in its transaction: a run that is killed announces nothing, and the next one announces
it then. New chains begin before the others go on, so what undoes a change is known when its recovery is announced. What
is not settled is announced last, for those who ask.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.model.commit import Repository
from knickpoint.model.notification import DEFAULT_ANNOUNCEMENT_RULE, Announcement, AnnouncementKind, AnnouncementRule
from knickpoint.store import Store
from knickpoint.watch.announcements.decisions import Side, first_sights, may_be_sighted, side_of
from knickpoint.watch.announcements.due_findings import is_due
from knickpoint.watch.announcements.journal import Journal
from knickpoint.watch.announcements.known_chains import read_chains, read_states
from knickpoint.watch.announcements.openings import Openings
from knickpoint.watch.announcements.places import Places
from knickpoint.watch.announcements.transitions import ChainState, Members, released, transition
from knickpoint.watch.lines import Lines


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
