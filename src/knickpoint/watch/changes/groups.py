"""Group change points of many traces: what changed in one place is one change.

One cause moves many traces, but they are measured at different commits, so their suspect ranges differ, and methods place it
a little off where values are noisy. The change lies in (previous, position] of each, or within its interval of location
around that. :mod:`knickpoint.watch.changes.places` finds the places and says which point joins which. The result
depends on the set of points alone, not on the order in which they came. See
``docs/decisions/grouping-changes.md``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from knickpoint.model.change_point import LineInterval
from knickpoint.watch.changes.places import FARTHEST, Extent, assign_places, shared_range

__all__ = ["Group", "Member", "assign_ids", "group_members", "reach_of"]

_FAR: Final = 1 << 40
"""Farther than any position of a line."""


@dataclass(frozen=True, slots=True)
class Member:
    """What grouping needs of a change point: the change lies in (previous, position] of the line.

    ``apart`` is the number of the split that set it apart, ``together`` that of the merge that joined it,
    0 for neither. ``interval`` is the half width of the interval of location, in measured commits; ``before`` and
    ``after`` are the commits of the line that it covers on either side of the suspect range, at least as many. Two points
    of one ``trace`` that lie apart have two causes; a trace of 0 is that of no other member.
    """

    id: int
    previous: int
    position: int
    apart: int = 0
    together: int = 0
    interval: int = 0
    trace: int = 0
    before: int = 0
    after: int = 0

    @property
    def reach(self) -> LineInterval:
        """The part of the line in which it may meet others."""
        return reach_of(LineInterval(self.previous, self.position), self.interval, self.before, self.after)


def reach_of(suspects: LineInterval, interval: int, before: int, after: int) -> LineInterval:
    """Return the part of the line in which a change point may meet others: nothing outside concerns its group.

    The other arguments are those of :class:`Member`.
    """
    before, after = _covered(interval, before, after)
    beyond = (FARTHEST - 1) * interval
    return LineInterval(suspects.previous - before - beyond, suspects.position + after + beyond)


def _covered(interval: int, before: int, after: int) -> tuple[int, int]:
    """Return the commits of the line before and after the suspect range that the interval of location covers."""
    return max(before, interval), max(after, interval)


@dataclass(frozen=True, slots=True)
class Group:
    """Members of one change by id, and the range of positions (previous, position] that they share.

    It is what the suspect ranges share that hold the likeliest place. The range of merged groups reaches over all of them.
    """

    members: tuple[int, ...]
    previous: int
    position: int


def group_members(members: Sequence[Member]) -> list[Group]:
    """Group change points of one line, sorted by position; points of a split group only with each other.

    Complexity O(n log n + n x places in reach).
    """
    extents = _extents(members)
    apart: dict[int, list[Member]] = defaultdict(list)
    for member in members:
        apart[member.apart].append(member)
    groups: list[Group] = []
    for split in sorted(apart):
        groups += _merged(_by_place(apart[split], extents), extents)
    return sorted(groups, key=lambda group: (group.position, group.previous, group.members))


def _extents(members: Sequence[Member]) -> dict[int, Extent]:
    """Return where the cause of each member may lie, by id: points of one trace end half way between each other."""
    extents = {
        member.id: Extent(
            member.position,
            member.previous,
            -_FAR,
            _FAR,
            member.interval,
            *_covered(member.interval, member.before, member.after),
        )
        for member in members
    }
    traces: dict[int, list[Member]] = defaultdict(list)
    for member in members:
        if member.trace:
            traces[member.trace].append(member)
    for points in traces.values():
        ordered = sorted(points, key=lambda point: (point.position, point.previous, point.id))
        for before, after in pairwise(ordered):
            middle = (before.position + after.previous) // 2
            if middle < before.reach.position:
                first = extents[before.id]
                extents[before.id] = replace(first, high=max(first.position, middle))
            if middle > after.reach.previous:
                second = extents[after.id]
                extents[after.id] = replace(second, low=min(second.previous, middle))
    return extents


def _by_place(members: Sequence[Member], extents: Mapping[int, Extent]) -> list[list[Member]]:
    """Return the members that join each place, ascending by place."""
    places = assign_places([extents[member.id] for member in members])
    groups: dict[int, list[Member]] = defaultdict(list)
    for member, place in zip(members, places, strict=True):
        groups[place].append(member)
    return [groups[place] for place in sorted(groups)]


def _merged(groups: list[list[Member]], extents: Mapping[int, Extent]) -> list[Group]:
    """Merge the groups that have members of one merge, directly or over others."""
    # Union-find over the groups; the first one leads.
    leader = list(range(len(groups)))

    def find(place: int) -> int:
        while leader[place] != place:
            place = leader[place]
        return place

    first: dict[int, int] = {}
    for place, members in enumerate(groups):
        for merge in {member.together for member in members} - {0}:
            earlier, later = sorted((find(first.setdefault(merge, place)), find(place)))
            leader[later] = earlier

    # Each leader takes the groups that lead to it.
    parts: dict[int, list[Group]] = defaultdict(list)
    for place, members in enumerate(groups):
        parts[find(place)].append(_shared(members, extents))
    return [
        Group(
            tuple(sorted(member for part in several for member in part.members)),
            min(part.previous for part in several),
            max(part.position for part in several),
        )
        for several in parts.values()
    ]


def _shared(members: Sequence[Member], extents: Mapping[int, Extent]) -> Group:
    previous, position = shared_range(extents[member.id] for member in members)
    return Group(tuple(sorted(member.id for member in members)), previous, position)


def assign_ids(groups: Sequence[Group], known: Mapping[int, int]) -> list[int]:
    """Return the id that each group keeps, 0 where it is a new one.

    ``known`` is change point id to the change id it had. A group keeps the id that most of its members
    had; each id is kept once, by the group with most of its members, the earliest of equals.
    """
    claims: list[tuple[int, int, int]] = []
    for place, group in enumerate(groups):
        votes = Counter(known[member] for member in group.members if known.get(member))
        claims += [(-count, place, held) for held, count in votes.items()]
    kept = [0] * len(groups)
    taken: set[int] = set()
    for _, place, held in sorted(claims):
        if not kept[place] and held not in taken:
            kept[place] = held
            taken.add(held)
    return kept
