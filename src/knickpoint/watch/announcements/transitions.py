"""Decide what a chain of announcements says next: a table of what it said before and what the data show now.

All functions are pure, and the state of a chain is the sum of its announcements. Each entry of the table leads to a
state in which the same data announce nothing: a second run without new results writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from typing import Final

from knickpoint.model.change_point import ChangePoint, Condition, Status
from knickpoint.model.notification import Announcement, AnnouncementKind
from knickpoint.model.settlement import DEFAULT_RULE, Certainty, FindingKind
from knickpoint.watch.announcements.decisions import Side, side_in, side_of


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
        return f"found {age} values after the change, and people are told within {NEW}" if age > NEW else ""
    if before.told is not before.said:
        return "what it follows was not sent"
    if kind in _CORRECTIONS and age > RECENT:
        return f"the change was {age} values ago, and people are told of corrections within {RECENT}"
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
