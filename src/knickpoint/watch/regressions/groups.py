"""Group change points of many traces: what changed in one place is one regression.

One cause moves many traces, but they are measured at different commits, so their suspect ranges differ. The change lies in
(previous, position] of each. First come the fewest positions that stab all ranges: one position for each cause. The
greedy choice by earliest end is optimal for intervals on a line (Gavril, "Algorithms for minimum coloring, maximum
clique, minimum covering by cliques, and maximum independent set of a chordal graph", SIAM J. Comput. 1 (1972)). Then each
change point joins one of the positions in its range. The result depends on the set of points alone, not on the order in
which they came. The record is ``docs/decisions/0050-one-place-one-regression.md``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Group", "Member", "assign_ids", "group_members"]


@dataclass(frozen=True, slots=True)
class Member:
    """What grouping needs of a change point: the change lies in (previous, position] of the line.

    ``apart`` is the number of the split that set it apart, ``together`` that of the merge that joined it,
    0 for neither.
    """

    id: int
    previous: int
    position: int
    apart: int = 0
    together: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Members of one regression by id, and the range of positions (previous, position] that they share.

    The range of merged groups reaches over all of them.
    """

    members: tuple[int, ...]
    previous: int
    position: int


def group_members(members: Sequence[Member]) -> list[Group]:
    """Group change points of one line, sorted by position; points of a split group only with each other.

    Complexity O(n log n + n x positions in a range).
    """
    apart: dict[int, list[Member]] = defaultdict(list)
    for member in members:
        apart[member.apart].append(member)
    groups: list[Group] = []
    for split in sorted(apart):
        groups += _merged(_by_position(apart[split]))
    return sorted(groups, key=lambda group: (group.position, group.previous, group.members))


def _stabbing_positions(members: Iterable[Member]) -> list[int]:
    """Return the fewest positions such that each range holds one, each the end of some range, ascending."""
    found: list[int] = []
    for member in sorted(members, key=lambda member: (member.position, member.previous)):
        if not found or found[-1] <= member.previous:
            found.append(member.position)
    return found


def _by_position(members: Sequence[Member]) -> list[list[Member]]:
    """Return the members of each stabbing position, ascending."""
    # Stab: which of the positions lie in the range of each member?
    positions = _stabbing_positions(members)
    reached = [
        range(bisect_right(positions, member.previous), bisect_right(positions, member.position)) for member in members
    ]

    # Assign: each member joins the position that most ranges hold, the earliest of equals.
    votes = Counter(place for places in reached for place in places)
    groups: dict[int, list[Member]] = defaultdict(list)
    for member, places in zip(members, reached, strict=True):
        groups[max(places, key=lambda place: (votes[place], -place))].append(member)
    return [groups[place] for place in sorted(groups)]


def _merged(groups: list[list[Member]]) -> list[Group]:
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
        parts[find(place)].append(_shared(members))
    return [
        Group(
            tuple(sorted(member for part in several for member in part.members)),
            several[0].previous,
            several[-1].position,
        )
        for several in parts.values()
    ]


def _shared(members: Sequence[Member]) -> Group:
    """Return the group of ``members`` with the range that all of them share."""
    return Group(
        tuple(sorted(member.id for member in members)),
        max(member.previous for member in members),
        min(member.position for member in members),
    )


def assign_ids(groups: Sequence[Group], known: Mapping[int, int]) -> list[int]:
    """Return the id that each group keeps, 0 where it is a new one.

    ``known`` is change point id to the regression id it had. A group keeps the id that most of its members
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
