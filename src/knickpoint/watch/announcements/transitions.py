"""Decide which chains of announcements begin about a change, and what each says next.

A chain goes by a table of what it said before and what the data show now. All functions are pure, and the state of a
chain is the sum of its announcements. Each entry of the table leads to a state in which the same data announce nothing:
a second run without new results writes nothing.

Each change is announced provisionally once, at first sight, by the member that got worse most. When it settles, the
announcement that says so belongs to the same chain; when it vanishes before, a withdrawal ends the chain. The functions
see the members of a change as the data are now, and what was announced. See ``docs/decisions/announcements.md``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from typing import Final

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import ChangePoint, Condition, Direction, Status
from knickpoint.model.notification import Announcement, AnnouncementKind
from knickpoint.model.settlement import DEFAULT_RULE, Certainty, FindingKind
from knickpoint.store.findings.announcements import BASELINE, MemberCount


class Side(Enum):
    """The side of a change: worse, or of unknown direction; better."""

    WORSE = "worse"
    BETTER = "better"

    @property
    def other(self) -> Side:
        """The opposite side."""
        return Side.BETTER if self is Side.WORSE else Side.WORSE


def side_of(point: ChangePoint | MemberCount) -> Side:
    """Return the side of a change point, or of counted ones."""
    return side_in(point.direction)


def side_in(direction: Direction) -> Side:
    """Return the side of a direction."""
    return Side.BETTER if direction is Direction.IMPROVEMENT else Side.WORSE


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

    ``members`` counts its live members, the groups with the oldest ones first; ``ready`` are those that may be
    announced now. ``sides`` has the side of each chain, and ``over`` the chains whose change is over. ``brought_back``
    returns the chain whose regression an improvement undoes, 0 for none. ``leading`` is the side that the statement of
    the change says.

    - Members of a side that was announced here join that chain, and are not announced again. Once it is over, it speaks
      only for those that are over, too.
    - Where at least half of the members of a side are known from history, the others are history, too.
    - A member that got better in a change that was announced as worse, and is, joins it: one commit is announced once.
      So does one that got worse in a change that is announced as better, while the statement says better, too.
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
    """Return the chain that at least half of ``points`` and of their former ``companions`` bring back, else 0."""
    chains = companions + Counter(chain for point in points if (chain := brought_back(point)))
    return min(chains) if 2 * chains.total() >= len(points) + companions.total() else 0


def may_be_sighted(point: ChangePoint) -> bool:
    """Return True if ``point`` is live work that is neither settled, held, hidden nor announced."""
    return (
        point.condition is not Condition.GONE
        and point.certainty is Certainty.PROVISIONAL
        and point.alert_kind is AlertKind.WORK
        and point.effective_status is not Status.HIDDEN
        and not point.held
        and not point.history
        and not point.announced
    )


def first_sights(members: Iterable[ChangePoint], fresh: Collection[int]) -> Mapping[int, tuple[ChangePoint, ...]]:
    """Return by change the points that are to be announced provisionally, the worse ones where there are any.

    ``members`` are the live change points of changes of which none was announced in any way, not even provisionally;
    ``fresh`` are the ids of those that the run wrote. A change with a member about which nothing can be announced
    provisionally is left out.
    """
    by_change: dict[int, list[ChangePoint]] = defaultdict(list)
    for point in members:
        by_change[point.change_id].append(point)
    found = {}
    for key, points in sorted(by_change.items()):
        sights = [point for point in points if may_be_sighted(point)]
        if len(sights) < len(points) or not any(point.id in fresh for point in sights):
            continue
        worse = tuple(point for point in sights if side_of(point) is Side.WORSE)
        found[key] = worse or tuple(sights)
    return found


class Said(Enum):
    """What a chain said last about its change."""

    NOTHING = "nothing, or nothing that still holds"
    SIGHTED = "sighted"
    STANDING = "standing"
    OVER = "over"
    WITHDRAWN = "withdrawn"


class Shown(Enum):
    """What the data show of the members of a chain, compared with what it said."""

    UNSETTLED = "a member is there for the first time, and not settled"
    WORSE = "the change is worse for certain, which was not said"
    BETTER = "the change is better for certain, which was not said"
    GONE = "no member is there, for as many values as settle the change"
    OPEN = "the values, or a person, leave open what there is to say"
    BACK = "the level before is back in all members"
    FIXED = "the level before is back in all members, after a person decided about one"
    PRESENT = "a member is there, as was announced"
    ELSEWHERE = "all members lie elsewhere than was announced"
    LARGER = "the leading member is a drift, and twice as large as was announced"


TRANSITIONS: Final[Mapping[tuple[Said, Shown], AnnouncementKind]] = {
    # A change is announced when it settles; before, and that it never did, only to those who ask.
    (Said.NOTHING, Shown.UNSETTLED): AnnouncementKind.PROVISIONAL,
    (Said.NOTHING, Shown.WORSE): AnnouncementKind.REGRESSED,
    (Said.NOTHING, Shown.BETTER): AnnouncementKind.IMPROVED,
    (Said.SIGHTED, Shown.WORSE): AnnouncementKind.REGRESSED,
    (Said.SIGHTED, Shown.BETTER): AnnouncementKind.IMPROVED,
    (Said.SIGHTED, Shown.GONE): AnnouncementKind.WITHDRAWN,
    # What stands is corrected, and ended once.
    (Said.STANDING, Shown.ELSEWHERE): AnnouncementKind.MOVED,
    (Said.STANDING, Shown.LARGER): AnnouncementKind.GREW,
    (Said.STANDING, Shown.BACK): AnnouncementKind.RECOVERED,
    (Said.STANDING, Shown.FIXED): AnnouncementKind.FIXED,
    (Said.STANDING, Shown.GONE): AnnouncementKind.WITHDRAWN,
    # What was over returns when a member is there for certain; that it is gone, too, says nothing new.
    (Said.OVER, Shown.PRESENT): AnnouncementKind.RETURNED,
    (Said.OVER, Shown.ELSEWHERE): AnnouncementKind.RETURNED,
    (Said.OVER, Shown.LARGER): AnnouncementKind.RETURNED,
    # What was withdrawn returns when a member is there; one that is over by then needs nobody.
    (Said.WITHDRAWN, Shown.PRESENT): AnnouncementKind.RETURNED,
    (Said.WITHDRAWN, Shown.ELSEWHERE): AnnouncementKind.RETURNED,
    (Said.WITHDRAWN, Shown.LARGER): AnnouncementKind.RETURNED,
}
"""What is announced next; nothing for a pair that is not listed."""

_SAID: Final = {
    Condition.PRESENT: Said.STANDING,
    Condition.RECOVERED: Said.OVER,
    Condition.GONE: Said.WITHDRAWN,
}
_BY_BISECTIONS: Final = {AnnouncementKind.LOCATED, AnnouncementKind.BISECTED}
_UNSAID: Final = {Said.NOTHING, Said.SIGHTED}

NEW: Final = 40
"""Values since a change up to which people are told of it for the first time."""

RECENT: Final = 60
"""Values since a change up to which people are told that it is elsewhere, is gone, or is there after all."""

_CORRECTIONS: Final = {AnnouncementKind.MOVED, AnnouncementKind.WITHDRAWN, AnnouncementKind.RETURNED}


@dataclass(frozen=True, slots=True)
class ChainState:
    """What a chain has announced so far: the ``side`` of its change, what it ``said`` last, and its ``size`` then.

    ``told`` is what people were told last, which differs from what it said after rows that were not sent. ``named``
    is the change point that it named when it opened, ``number`` how many announcements it has. ``placed`` is what the
    data said last of a settled change: a bisection that located it does not narrow where values may place it.
    """

    side: Side = Side.WORSE
    said: Said = Said.NOTHING
    size: float = 0.0
    chain: int = 0
    number: int = 0
    named: int = 0
    last: Announcement | None = None
    placed: Announcement | None = None
    told: Said = Said.NOTHING

    @classmethod
    def of(cls, rows: Iterable[Announcement]) -> ChainState:
        """Read the state from the announcements of a chain."""
        return reduce(cls.after, rows, cls())

    def after(self, row: Announcement) -> ChainState:
        """Return the state once ``row`` is announced."""
        opens = row.kind.opens or not self.number
        if row.provisional:
            said = Said.SIGHTED if row.kind is AnnouncementKind.PROVISIONAL else Said.NOTHING
        else:
            said = _SAID[row.condition]
        return replace(
            self,
            side=_side_opened(row) if opens else self.side,
            said=said,
            size=row.size,
            chain=row.chain,
            number=row.number + 1,
            named=row.lead if opens else self.named,
            last=row,
            placed=self.placed if row.provisional or row.kind in _BY_BISECTIONS else row,
            told=self.told if row.unsent else said,
        )

    @property
    def opened(self) -> bool:
        """Whether a settled change was announced."""
        return self.said not in _UNSAID

    @property
    def stands(self) -> bool:
        """Whether what was announced is there, for all that was said."""
        return self.said is Said.STANDING


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a chain on the side that it is about, as the data are now.

    ``points`` are all of them, gone ones included, and ``others`` those on the other side. ``absent`` has, for those
    that are gone, how many values in a row lack them. The sets are ids: ``unsure`` of those of which the values leave
    open whether they are over, ``absorbed`` of those that are gone because they were steps of what is a drift now,
    ``reported`` of those whose way back is a finding of its own. ``moved`` says that no live member lies where the
    change was announced last.
    """

    points: tuple[ChangePoint, ...]
    absent: Mapping[int, int]
    unsure: frozenset[int] = frozenset()
    absorbed: frozenset[int] = frozenset()
    reported: frozenset[int] = frozenset()
    moved: bool = False
    others: tuple[ChangePoint, ...] = ()

    @property
    def live(self) -> tuple[ChangePoint, ...]:
        """The members that the data show."""
        return _live(self.points)

    def gone_for(self, count: int) -> bool:
        """Return True if all are gone for so many values: a finding that flickers is announced once."""
        return all(point.id not in self.absorbed and self.absent.get(point.id, 0) >= count for point in self.points)


@dataclass(frozen=True, slots=True)
class Step:
    """What is announced next in a chain: its ``kind``, of the ``points``, and what it says of their ``condition``."""

    kind: AnnouncementKind
    points: tuple[ChangePoint, ...]
    condition: Condition
    provisional: bool = False


def transition(before: ChainState, now: Members) -> Step | None:
    """Return the next announcement of a chain, None for nothing."""
    kind = TRANSITIONS.get((before.said, shown(before, now)))
    if kind is None:
        return None
    provisional = kind is AnnouncementKind.PROVISIONAL or (
        kind is AnnouncementKind.WITHDRAWN and before.said is Said.SIGHTED
    )
    return Step(kind, _speaking(kind, now), _condition(kind, now), provisional)


def reason_unsent(before: ChainState, kind: AnnouncementKind, age: int) -> str:
    """Return the reason to tell nobody what a chain announces about a change of ``age`` values ago, else ""."""
    if kind.opens or kind is AnnouncementKind.PROVISIONAL:
        return f"found {age} values after the change; messages are sent within {NEW}" if age > NEW else ""
    if before.told is not before.said:
        return "what it follows was not sent"
    if kind in _CORRECTIONS and age > RECENT:
        return f"the change was {age} values ago; corrections are sent within {RECENT}"
    return ""


def _condition(kind: AnnouncementKind, now: Members) -> Condition:
    """Return the condition that an announcement states; the loss of an improvement may be a finding of its own."""
    if kind is AnnouncementKind.WITHDRAWN:
        return Condition.GONE
    over = kind in {AnnouncementKind.RECOVERED, AnnouncementKind.FIXED}
    over = over or (kind.opens and all(point.is_over and point.id not in now.reported for point in now.points))
    return Condition.RECOVERED if over else Condition.PRESENT


def _speaking(kind: AnnouncementKind, now: Members) -> tuple[ChangePoint, ...]:
    """Return the members that an announcement is about.

    Where all of them changed sides, what was announced is gone, and they are what is left of it. Growth is that of
    settled ones, so its size is one of theirs.
    """
    if kind is AnnouncementKind.GREW:
        return tuple(point for point in now.live if may_be_announced(point))
    present = tuple(point for point in now.live if not point.is_over) if kind is AnnouncementKind.RETURNED else ()
    return present or now.live or now.points or now.others


def shown(before: ChainState, now: Members) -> Shown:
    """Compare the members with what was announced.

    Only settled members count that are not hidden, and nothing is said while all are held.
    """
    live = now.live
    settled = [point for point in live if may_be_announced(point)]
    if not before.opened:
        return _first_shown(now, settled)
    held = bool(now.points) and all(point.held for point in live or now.points)
    if held or not live:
        return Shown.GONE if not held and now.gone_for(DEFAULT_RULE.most) else Shown.OPEN
    if settled and all(point.is_over for point in settled):
        return _end(before, now, settled)
    if not any(point.condition is Condition.PRESENT and point.id not in now.unsure for point in settled):
        return Shown.OPEN
    if now.moved:
        return Shown.ELSEWHERE
    return Shown.LARGER if _has_doubled(before, settled) else Shown.PRESENT


def _first_shown(now: Members, settled: Sequence[ChangePoint]) -> Shown:
    """Return the first statement about members of one side that were not announced as settled."""
    if settled:
        return Shown.BETTER if side_of(settled[0]) is Side.BETTER else Shown.WORSE
    if now.live:
        return Shown.UNSETTLED
    return Shown.GONE if now.gone_for(DEFAULT_RULE.least) else Shown.OPEN


def _end(before: ChainState, now: Members, settled: Sequence[ChangePoint]) -> Shown:
    """Return the end of a change; the loss of an improvement is open where a change says it, or may say it again."""
    if before.side is Side.BETTER:
        return Shown.OPEN if any(point.id in now.reported | now.unsure for point in settled) else Shown.BACK
    decided = any(point.effective_status in {Status.ACKNOWLEDGED, Status.TICKET} for point in settled)
    return Shown.FIXED if decided else Shown.BACK


def _has_doubled(before: ChainState, settled: Sequence[ChangePoint]) -> bool:
    lead = min(settled, key=lambda point: point.rank)
    size = lead.numbers.size
    return lead.kind is FindingKind.DRIFT and size * before.size > 0 and abs(size) >= 2 * abs(before.size)


def may_be_announced(point: ChangePoint) -> bool:
    """Return True if a finding is settled, and neither held nor hidden."""
    return point.certainty is Certainty.SETTLED and point.effective_status is not Status.HIDDEN


def released(members: Sequence[ChangePoint], state: ChainState) -> tuple[ChangePoint, ...]:
    """Return the members that a withdrawn chain speaks of no longer: what is settled on the other side.

    They joined in silence, or turned from worse to better or back as values arrived. While the chain stood, it spoke
    for them. ``members`` are all of the chain.
    """
    live = _live(members)
    if state.said is not Said.WITHDRAWN or any(side_of(point) is state.side for point in live):
        return ()
    return tuple(point for point in live if may_be_announced(point))


def _side_opened(row: Announcement) -> Side:
    """Return the side that an announcement opens a chain about."""
    if row.kind is AnnouncementKind.PROVISIONAL:
        return side_in(row.direction)
    return Side.BETTER if row.kind is AnnouncementKind.IMPROVED else Side.WORSE


def _live(points: Iterable[ChangePoint]) -> tuple[ChangePoint, ...]:
    return tuple(point for point in points if point.condition is not Condition.GONE)
