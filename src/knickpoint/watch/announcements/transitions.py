"""Decide how a chain of announcements goes on: a table of what it said last and what the data show now.

All functions are pure. Each entry of the table leads to a state in which the same data announce nothing: a second run without
new results writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from knickpoint.model.announcement import Announcement, AnnouncementKind
from knickpoint.model.change_point import ChangePoint, Condition, Status
from knickpoint.model.settlement import DEFAULT_RULE, Certainty, FindingKind
from knickpoint.watch.announcements.decisions import Side, side_of, side_of_chain

__all__ = [
    "TRANSITIONS",
    "ChainState",
    "Members",
    "Said",
    "Shown",
    "condition_after",
    "may_be_announced",
    "released",
    "shown",
    "transition",
]


class Said(Enum):
    """What a chain said last about its change."""

    STANDING = "standing"
    OVER = "over"
    WITHDRAWN = "withdrawn"


class Shown(Enum):
    """What the data show of the members of a chain, compared with what it said."""

    GONE = "no member is there, for as many values as settle any change"
    OPEN = "the values, or a person, leave open what there is to say"
    BACK = "the level before is back in all members"
    FIXED = "the level before is back in all members, after a person decided about one"
    PRESENT = "a member is there, as was announced"
    ELSEWHERE = "all members lie elsewhere than was announced"
    LARGER = "the leading member is a drift, and twice as large as was announced"


TRANSITIONS: Final[Mapping[tuple[Said, Shown], AnnouncementKind]] = {
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


@dataclass(frozen=True, slots=True)
class ChainState:
    """What a chain has announced so far: the ``side`` of its change, what it ``said`` last, and the ``size`` that it gave."""

    side: Side
    said: Said
    size: float

    @classmethod
    def of(cls, rows: Sequence[Announcement]) -> ChainState:
        """Read the state from the announcements of a chain, of which the last is about a settled change."""
        last = rows[-1]
        said = Said.OVER if last.condition is Condition.RECOVERED else Said.STANDING
        withdrawn = last.kind is AnnouncementKind.WITHDRAWN
        return cls(side_of_chain(rows), Said.WITHDRAWN if withdrawn else said, last.size)


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a chain on the side that it is about, as the data are now.

    ``points`` are all of them, gone ones included. ``absent`` has, for those that are gone, how many values in a row lack them.
    The sets are ids: ``unsure`` of those of which the values leave open whether they are over, ``absorbed`` of those that are
    gone because they were steps of what is a drift now, ``reported`` of those whose way back is a finding of its own.
    ``moved`` says that no live member lies where the change was announced last.
    """

    points: tuple[ChangePoint, ...]
    absent: Mapping[int, int]
    unsure: frozenset[int] = frozenset()
    absorbed: frozenset[int] = frozenset()
    reported: frozenset[int] = frozenset()
    moved: bool = False

    @property
    def live(self) -> tuple[ChangePoint, ...]:
        """The members that the data show."""
        return tuple(point for point in self.points if point.condition is not Condition.GONE)

    @property
    def surely_gone(self) -> bool:
        """Whether all are gone for as many values as settle any change: a finding that flickers is announced once."""
        return all(
            point.id not in self.absorbed and self.absent.get(point.id, 0) >= DEFAULT_RULE.most for point in self.points
        )


def transition(before: ChainState, after: Members) -> AnnouncementKind | None:
    """Return what has to be announced next in a chain, None for nothing."""
    return TRANSITIONS.get((before.said, shown(before, after)))


def condition_after(kind: AnnouncementKind) -> Condition:
    """Return what an announcement that follows in a chain says of its change."""
    if kind is AnnouncementKind.WITHDRAWN:
        return Condition.GONE
    over = kind in {AnnouncementKind.RECOVERED, AnnouncementKind.FIXED}
    return Condition.RECOVERED if over else Condition.PRESENT


def shown(before: ChainState, after: Members) -> Shown:
    """Compare the members with what was announced.

    Only settled members count that are not hidden, and nothing is said while all are held.
    """
    live = after.live
    if after.points and all(point.held for point in live or after.points):
        return Shown.OPEN
    if not live:
        return Shown.GONE if after.surely_gone else Shown.OPEN
    settled = [point for point in live if may_be_announced(point)]
    if settled and all(point.is_over for point in settled):
        return _end(before, after, settled)
    if not any(point.condition is Condition.PRESENT and point.id not in after.unsure for point in settled):
        return Shown.OPEN
    if after.moved:
        return Shown.ELSEWHERE
    return Shown.LARGER if _has_doubled(before, settled) else Shown.PRESENT


def _end(before: ChainState, after: Members, settled: Sequence[ChangePoint]) -> Shown:
    """Return how a change ended; the loss of an improvement is open where a change says it, or may say it again."""
    if before.side is Side.BETTER:
        return Shown.OPEN if any(point.id in after.reported | after.unsure for point in settled) else Shown.BACK
    decided = any(point.effective_status in {Status.ACKNOWLEDGED, Status.TICKET} for point in settled)
    return Shown.FIXED if decided else Shown.BACK


def _has_doubled(before: ChainState, settled: Sequence[ChangePoint]) -> bool:
    lead = min(settled, key=lambda point: point.rank)
    size = lead.numbers.size
    return lead.kind is FindingKind.DRIFT and size * before.size > 0 and abs(size) >= 2 * abs(before.size)


def may_be_announced(point: ChangePoint) -> bool:
    """Return whether a finding is settled, and neither held nor hidden."""
    return point.certainty is Certainty.SETTLED and point.effective_status is not Status.HIDDEN


def released(members: Sequence[ChangePoint], state: ChainState) -> tuple[ChangePoint, ...]:
    """Return the members that a withdrawn chain speaks of no longer: what is settled on the other side.

    They joined in silence, or turned from worse to better or back as values arrived. While the chain stood, it spoke for
    them. ``members`` are all of the chain.
    """
    live = [point for point in members if point.condition is not Condition.GONE]
    if state.said is not Said.WITHDRAWN or any(side_of(point) is state.side for point in live):
        return ()
    return tuple(point for point in live if may_be_announced(point))
