"""Read the chains of announcements that a run may continue, and the change points that take part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.model.commit import Repository
from knickpoint.model.settlement import FindingKind
from knickpoint.store import Store
from knickpoint.store.findings.announcements import MemberCount, Sight
from knickpoint.watch.announcements.places import Places
from knickpoint.watch.announcements.transitions import ChainState


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
