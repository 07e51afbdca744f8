"""Decide which chains of announcements begin about a change.

Each change is announced provisionally once, at first sight, by the member that got worse most. When it settles, the
announcement that says so belongs to the same chain; when it vanishes before, a withdrawal ends the chain. All functions
are pure. They see the members of a change as the data are now, and what was announced. See
``docs/decisions/announcements.md``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import ChangePoint, Condition, Direction, Status
from knickpoint.model.settlement import Certainty
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
