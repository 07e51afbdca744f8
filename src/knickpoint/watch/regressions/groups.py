"""Put change points of many traces together: one place, one regression.

Traces are measured at different commits, so the suspect ranges of one cause differ. The fewest places that
lie in every range are found first, then each point goes to one of the places in its range. The result depends
on the set of points alone. The record is ``docs/decisions/0050-one-place-one-regression.md``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Group", "Member", "assign_ids", "group_members"]


@dataclass(frozen=True, slots=True)
class Member:
    """A change point as grouping sees it: the change lies in (previous, position] of the line.

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

    The range of groups that somebody merged reaches over all of them.
    """

    members: tuple[int, ...]
    previous: int
    position: int


def _stabs(members: Iterable[Member]) -> list[int]:
    """Return the fewest positions such that each range holds one, each the end of some range, ascending."""
    stabs: list[int] = []
    for member in sorted(members, key=lambda member: (member.position, member.previous)):
        if not stabs or stabs[-1] <= member.previous:
            stabs.append(member.position)
    return stabs


def _by_place(members: Sequence[Member]) -> list[list[Member]]:
    stabs = _stabs(members)
    within = [range(bisect_right(stabs, member.previous), bisect_right(stabs, member.position)) for member in members]
    held = Counter(place for places in within for place in places)
    groups: dict[int, list[Member]] = defaultdict(list)
    for member, places in zip(members, within, strict=True):
        groups[max(places, key=lambda place: (held[place], -place))].append(member)
    return [groups[place] for place in sorted(groups)]


def _shared(members: Sequence[Member]) -> Group:
    return Group(
        tuple(sorted(member.id for member in members)),
        max(member.previous for member in members),
        min(member.position for member in members),
    )


def _joined(groups: list[list[Member]]) -> list[Group]:
    """Join the groups that have members of one merge, directly or over others."""
    leader = list(range(len(groups)))

    def find(place: int) -> int:
        while leader[place] != place:
            place = leader[place]
        return place

    first: dict[int, int] = {}
    for place, members in enumerate(groups):
        for merge in {member.together for member in members} - {0}:
            one, other = sorted((find(first.setdefault(merge, place)), find(place)))
            leader[other] = one
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


def group_members(members: Sequence[Member]) -> list[Group]:
    """Group change points of one line, sorted by position; points that were set apart only with each other.

    Complexity O(n log n + n x places in a range).
    """
    apart: dict[int, list[Member]] = defaultdict(list)
    for member in members:
        apart[member.apart].append(member)
    groups: list[Group] = []
    for split in sorted(apart):
        groups += _joined(_by_place(apart[split]))
    return sorted(groups, key=lambda group: (group.position, group.previous, group.members))


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
