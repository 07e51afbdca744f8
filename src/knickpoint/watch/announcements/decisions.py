"""Decide what is announced about a change: whether a chain of announcements begins, and how one goes on.

All functions are pure. They see the members of a change, or of a chain, as the data are now, and the last announcement.
The record is ``docs/decisions/0181-announcement-ledger.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from knickpoint.model.announcement import Announcement, AnnouncementKind
from knickpoint.model.change import ChangePoint, Condition, Direction, Status
from knickpoint.model.settlement import DEFAULT_RULE, Certainty, FindingKind
from knickpoint.store.findings.announcements import BASELINE, MemberCount

__all__ = [
    "ChainState",
    "Joining",
    "Side",
    "Silence",
    "decide_opening",
    "follow_up",
    "is_held",
    "named",
    "opening_of",
    "released",
    "side_in",
    "side_of",
    "side_of_chain",
]


class Side(Enum):
    """The side of a change: worse, or of unknown direction; better."""

    WORSE = "worse"
    BETTER = "better"

    @property
    def other(self) -> Side:
        """The opposite side."""
        return Side.BETTER if self is Side.WORSE else Side.WORSE

    @property
    def opening(self) -> AnnouncementKind:
        """The kind of the announcement that opens a chain about it."""
        return AnnouncementKind.REGRESSED if self is Side.WORSE else AnnouncementKind.IMPROVED


def side_of(point: ChangePoint | MemberCount) -> Side:
    """Return the side of a change point, or of counted ones."""
    return side_in(point.direction)


def side_in(direction: Direction) -> Side:
    """Return the side of a direction."""
    return Side.BETTER if direction is Direction.IMPROVEMENT else Side.WORSE


def is_held(point: ChangePoint) -> bool:
    """Return whether nothing is announced about a change point, because results at its place are quarantined."""
    return bool(point.held)


def opening_of(rows: Sequence[Announcement]) -> AnnouncementKind:
    """Return how a chain began: with what it announced as settled, or else provisionally."""
    return next((row.kind for row in rows if row.kind.opens), rows[0].kind)


def named(rows: Sequence[Announcement]) -> int:
    """Return the change point that a chain named when it announced it as settled, or else provisionally."""
    return next((row.lead for row in rows if row.kind.opens), rows[0].lead)


def side_of_chain(rows: Sequence[Announcement]) -> Side:
    """Return the side of the change that a chain is about."""
    if opening_of(rows) is AnnouncementKind.PROVISIONAL:
        return side_in(rows[0].direction)
    return Side.BETTER if opening_of(rows) is AnnouncementKind.IMPROVED else Side.WORSE


# How a chain begins.


@dataclass(frozen=True, slots=True)
class Joining:
    """The ``points`` become members of a chain; ``chain`` is 0 where they open a new one."""

    points: tuple[ChangePoint, ...]
    side: Side
    chain: int = 0


@dataclass(frozen=True, slots=True)
class Silence:
    """The ``points`` are never announced: they belong to a change that was history."""

    points: tuple[ChangePoint, ...]


def decide_opening(
    members: Sequence[MemberCount],
    ready: Sequence[ChangePoint],
    *,
    sides: Mapping[int, Side],
    over: Collection[int],
    brought_back: Callable[[ChangePoint], int],
    leading: Side = Side.WORSE,
) -> list[Joining | Silence]:
    """Decide about the settled members of one change that are not announced yet, those of the ``leading`` side first.

    ``members`` counts its live members, the groups with the oldest ones first; ``ready`` are those that may be announced
    now. ``sides`` has the side of each chain, and ``over`` the chains whose change is over. ``brought_back`` returns the
    chain whose worse change a better one brings back, 0 for none. ``leading`` is the side that the statement of the change says.

    - Members of a side that was announced here join that chain, and are not announced again. Once it is over, it speaks
      only for those that are over, too.
    - Where at least half of the members of a side are known from history, the others are history, too.
    - A member that got better in a change that was announced as worse, and is, joins it: one commit is announced once. So
      does one that got worse in a change that is announced as better, while the statement says better, too.
    - A better change that brings back what was announced as worse is announced by the recovery.
    - Everything else opens a chain.
    """
    found: list[Joining | Silence] = []
    own = [(side_of(each), each.announced) for each in members if sides.get(each.announced) is side_of(each)]
    standing = {side: chain for side, chain in reversed(own) if chain not in over}
    ended = {side: chain for side, chain in reversed(own) if chain in over}
    companions = Counter(
        {
            each.announced: each.count
            for each in members
            if side_of(each) is Side.BETTER and sides.get(each.announced) is Side.WORSE
        }
    )
    for side in (leading, leading.other):
        new = tuple(point for point in ready if side_of(point) is side)
        if side in ended and side not in standing:
            past = tuple(point for point in new if point.is_over)
            found += [Joining(past, side, ended[side])] if past else []
            new = tuple(point for point in new if not point.is_over)
        if not new:
            continue
        of_side = [each for each in members if side_of(each) is side]
        known = sum(each.count for each in of_side if each.announced == BASELINE)
        may_follow = side is Side.BETTER or leading is Side.BETTER
        chain = standing.get(side, 0) or (standing.get(side.other, 0) if may_follow else 0)
        opened_here = any(isinstance(each, Joining) and not each.chain for each in found)
        if chain or opened_here:
            found.append(Joining(new, sides[chain] if chain else leading, chain))
        elif 2 * known >= sum(each.count for each in of_side):
            found.append(Silence(new))
        elif side is Side.BETTER and (recovered := _recovered_chain(new, companions, brought_back)):
            found.append(Joining(new, Side.WORSE, recovered))
        else:
            found.append(Joining(new, side))
    return found


def _recovered_chain(
    points: Sequence[ChangePoint], companions: Counter[int], brought_back: Callable[[ChangePoint], int]
) -> int:
    """Return the chain that at least half of ``points`` and of the ``companions``, which joined before, bring back, else 0."""
    chains = companions + Counter(chain for point in points if (chain := brought_back(point)))
    return min(chains) if 2 * chains.total() >= len(points) + companions.total() else 0


# How a chain goes on.


@dataclass(frozen=True, slots=True)
class ChainState:
    """A chain of announcements, and its members as the data are now.

    ``members`` are those of the side that it is about, gone ones included. ``absent`` has, for members that are gone, how
    many values in a row lack them. ``unsure`` are the ids of those of which the values leave open whether they are over.
    ``moved`` says that no live member
    lies in the suspect range that was announced last. ``absorbed`` are the ids of members that are gone because they were
    steps of what is a drift now. ``reported`` are the ids of those whose way back is a finding of its own.
    """

    opening: AnnouncementKind
    last: Announcement
    members: tuple[ChangePoint, ...]
    absent: Mapping[int, int]
    unsure: frozenset[int] = frozenset()
    moved: bool = False
    absorbed: frozenset[int] = frozenset()
    reported: frozenset[int] = frozenset()

    @property
    def live(self) -> tuple[ChangePoint, ...]:
        """The members that the data show."""
        return tuple(point for point in self.members if point.condition is not Condition.GONE)


def follow_up(state: ChainState) -> AnnouncementKind | None:
    """Return what has to be announced next in a chain, None for nothing.

    Only settled members count, without those that a person hid. A change that vanished counts as gone after as many
    values as settle any change: a finding that flickers is announced once.
    """
    last, live = state.last, state.live
    known_over = last.condition is Condition.RECOVERED
    if not live:
        withdrawn = last.kind is AnnouncementKind.WITHDRAWN or known_over or not _surely_gone(state)
        return None if withdrawn else AnnouncementKind.WITHDRAWN
    settled = [
        point for point in live if point.certainty is Certainty.SETTLED and point.effective_status is not Status.HIDDEN
    ]
    if not settled:
        return None
    if last.kind is AnnouncementKind.WITHDRAWN:
        return AnnouncementKind.RETURNED
    if kind := _recovery(state, settled, known_over=known_over):
        return kind
    return None if known_over else _correction(state, settled)


def _correction(state: ChainState, settled: Sequence[ChangePoint]) -> AnnouncementKind | None:
    """Return MOVED where the change lies elsewhere than was announced, GREW where it is a drift that has doubled."""
    if state.moved:
        return AnnouncementKind.MOVED
    return AnnouncementKind.GREW if _has_doubled(state, settled) else None


def _surely_gone(state: ChainState) -> bool:
    return all(
        point.id not in state.absorbed and state.absent.get(point.id, 0) >= DEFAULT_RULE.most for point in state.members
    )


def _has_doubled(state: ChainState, settled: Sequence[ChangePoint]) -> bool:
    """Return whether the lead is a drift, and twice as large as the announcement before said."""
    lead = min(settled, key=lambda point: point.rank)
    size = lead.numbers.size
    return lead.kind is FindingKind.DRIFT and size * state.last.size > 0 and abs(size) >= 2 * abs(state.last.size)


def _recovery(state: ChainState, settled: Sequence[ChangePoint], *, known_over: bool) -> AnnouncementKind | None:
    """Return RECOVERED or FIXED where all settled members are over, RETURNED where they were announced so and are not.

    The loss of an improvement is RECOVERED, unless a change says it, or one that vanished lately may say it again.
    """
    if all(point.is_over for point in settled) and not known_over:
        if state.opening is AnnouncementKind.IMPROVED:
            said = state.reported | state.unsure
            return None if any(point.id in said for point in settled) else AnnouncementKind.RECOVERED
        decided = any(point.effective_status in {Status.ACKNOWLEDGED, Status.TICKET} for point in settled)
        return AnnouncementKind.FIXED if decided else AnnouncementKind.RECOVERED
    if known_over and any(point.condition is Condition.PRESENT and point.id not in state.unsure for point in settled):
        return AnnouncementKind.RETURNED
    return None


def released(members: Sequence[ChangePoint], side: Side, last: Announcement) -> tuple[ChangePoint, ...]:
    """Return the members that a withdrawn chain about ``side`` speaks of no longer: what is settled on the other side.

    They joined in silence, or turned from worse to better or back as values arrived. While the chain stood, it spoke for
    them. ``members`` are all of the chain, ``last`` is its last announcement.
    """
    live = [point for point in members if point.condition is not Condition.GONE]
    if last.kind is not AnnouncementKind.WITHDRAWN or any(side_of(point) is side for point in live):
        return ()
    return tuple(
        point
        for point in live
        if point.certainty is Certainty.SETTLED and point.effective_status is not Status.HIDDEN and not is_held(point)
    )
