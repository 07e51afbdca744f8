"""Group change points of many traces by the places of the line at which they have their causes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import LineInterval

# How likely the data make a place near a change, compared with its suspect range.


_LEAST_LIKELIHOOD: Final = 20.0
"""The farthest place of an interval of location is that many times less likely than the best
(``docs/decisions/default-method.md``).
"""


def location_weight(distance: int, interval: int) -> float:
    """Return the likelihood of a place in (0, 1], ``distance`` measured commits from the suspect range, which has 1.

    It falls evenly on a logarithmic scale, to 1 / 20 at the end of the interval of location and on beyond it. Without
    an interval nothing outside is likely.
    """
    if not distance:
        return 1.0
    return _LEAST_LIKELIHOOD ** (-abs(distance) / interval) if interval else 0.0


# Find the places of the line at which change points have their causes, and the place that each one joins.
#
# A method says how far its step may be off: the interval of location, at whose end a place is 20 times less likely than
# in the suspect range. What is certain therefore holds its place, and what is not joins the place that explains it
# best. See ``docs/decisions/grouping-changes.md``.


FARTHEST: Final = 2
"""Intervals of location from its suspect range within which a change point may join a place that many others hold."""

_UNIT: Final = 1 << 20
"""The weight of a place in the suspect range. Weights are whole numbers, so that no sum depends on its order."""

_LEAST_AT: Final = 5
"""Intervals of location from the suspect range at which each weight has become the least, 1: 20 ** -5 < 1 / 2 / _UNIT.
"""

_PASSES: Final = 16
"""The most rounds in which change points are assigned again: most groups are stable after a few."""

_PAIRS: Final = 1 << 18
"""Extents times places that are weighed at a time."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Where the cause of a change point may lie: in (previous, position], or outside of it in (low, high].

    ``interval`` is the half width of the interval of location, in measured commits, of which ``before`` and ``after``
    are the commits of the line that it covers on either side of the suspect range. Distances count measured commits:
    evenly within these, and beyond them as if every commit was measured.
    """

    position: int
    previous: int
    low: int
    high: int
    interval: int = 0
    before: int = 0
    after: int = 0


def assign_places(extents: Sequence[Extent]) -> list[int]:
    """Return for each of ``extents`` the place that its change point joins; points of equal extents join the same.

    1. Candidates are the fewest positions that stab all suspect ranges, and the fewest that stab the intervals of
       location.
    2. A candidate that is the only one for somebody is a place. While somebody has none yet, the candidate that is most
       likely for all of these together becomes one.
    3. Each joins, within :data:`FARTHEST` intervals, the place whose members times its own likelihood there are most.
       It counts as a member of the nearest places at first; then members that are not certain choose until nothing
       moves.

    The earliest of equals goes first. Complexity O(n log n + n x places in reach).
    """
    if not extents:
        return []
    different, several, same = _Extents.of(extents)
    places = _chosen(different, several)
    reached = _places_within(different, places, FARTHEST)

    # At first each counts for the places that are most likely for it: all those in its suspect range, or the nearest.
    likely = reached.weights == np.maximum.reduceat(reached.weights, reached.firsts)[reached.owners]
    votes = np.bincount(reached.places, several[reached.owners] * likely, len(places)).astype(np.int64)
    joined = reached.best(votes)

    # Then those that are not certain choose again, as long as that moves any.
    free = different.interval > 0
    for _ in range(_PASSES if free.any() else 0):
        votes = np.bincount(joined, several, len(places)).astype(np.int64)
        best = reached.best(votes)
        moved = free & (best != joined)
        if not moved.any():
            break
        joined[moved] = best[moved]
    found: list[int] = places[joined[same]].tolist()
    return found


@dataclass(frozen=True, slots=True)
class _Extents:
    """Different extents as one array for each field of :class:`Extent`, ascending by these."""

    position: NDArray[np.int64]
    previous: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    interval: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]

    @classmethod
    def of(cls, extents: Sequence[Extent]) -> tuple[_Extents, NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct ``extents``, how often each occurs, and the number of each of ``extents`` among them."""
        fields = np.array(
            [
                (each.position, each.previous, each.low, each.high, each.interval, each.before, each.after)
                for each in extents
            ],
            dtype=np.int64,
        ).T
        order = np.lexsort(fields[::-1])
        ordered = fields[:, order]
        first = np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0))
        same = np.empty(order.size, dtype=np.int64)
        same[order] = np.cumsum(first) - 1
        return cls(*ordered[:, first]), np.bincount(same), same

    def within(self, intervals: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ranges (low, high] that so many intervals of location reach, as far as each extent allows."""
        beyond = (intervals - 1) * self.interval
        return (
            np.maximum(self.low, self.previous - self.before - beyond),
            np.minimum(self.high, self.position + self.after + beyond),
        )


@dataclass(frozen=True, slots=True)
class _Reached:
    """The places that each of some extents reaches, as pairs: extent by extent, each with its places ascending.

    Of each pair ``owners`` has the number of the extent, ``places`` that of the place, and ``weights`` how likely it
    is; ``firsts`` has the first pair of each extent.
    """

    firsts: NDArray[np.int64]
    owners: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.int64]

    def best(self, votes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each extent the place with the largest ``votes`` x likelihood, the earliest of equals."""
        scores = votes[self.places] * self.weights
        (most,) = np.nonzero(scores == np.maximum.reduceat(scores, self.firsts)[self.owners])
        return self.places[most[np.searchsorted(self.owners[most], np.arange(self.firsts.size))]]


@dataclass(frozen=True, slots=True)
class _Likelihoods:
    """How likely places are for extents.

    ``previous`` and ``position`` bound the suspect range of each extent, and ``interval``, ``before`` and ``after`` are
    those of its location. Its weights by distance stand in ``table`` from ``first`` on, and those of distances beyond
    ``most`` are that of ``most``.
    """

    previous: NDArray[np.int64]
    position: NDArray[np.int64]
    interval: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    first: NDArray[np.int64]
    most: NDArray[np.int64]
    table: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        previous: NDArray[np.int64],
        position: NDArray[np.int64],
        interval: NDArray[np.int64],
        before: NDArray[np.int64],
        after: NDArray[np.int64],
    ) -> _Likelihoods:
        """Return the likelihoods for extents with these suspect ranges and intervals."""
        intervals, kind = np.unique(interval, return_inverse=True)
        tables = [_weights_by_distance(each) for each in intervals.tolist()]
        sizes = np.array([each.size for each in tables])
        firsts = (np.cumsum(sizes) - sizes)[kind]
        return cls(previous, position, interval, before, after, firsts, sizes[kind] - 1, np.concatenate(tables))

    def at(self, places: NDArray[np.int64], extents: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.int64]:
        """Return the likelihood of each place for its extent, in :data:`_UNIT` of one in the suspect range.

        Both broadcast.
        """
        earlier, later = self.previous[extents] - places, places - self.position[extents] - 1
        outside, interval = np.maximum(earlier, later), self.interval[extents]
        covered = np.where(earlier >= 0, self.before[extents], self.after[extents])
        within = outside * interval // np.maximum(covered, 1)
        distances = 1 + np.where(outside < covered, within, interval + outside - covered)
        return self.table[self.first[extents] + np.where(outside < 0, 0, np.minimum(distances, self.most[extents]))]


@lru_cache(maxsize=1024)
def _weights_by_distance(interval: int) -> NDArray[np.int64]:
    """Return the weights of places by their distance, up to one from which on they are the least.

    They are calculated one by one: powers of the vector units of processors may differ in the last digit.
    """
    weights = [
        max(1, round(_UNIT * location_weight(distance, interval))) for distance in range(_LEAST_AT * interval + 2)
    ]
    return np.array(weights, dtype=np.int64)


def _places_within(extents: _Extents, places: NDArray[np.int64], intervals: int) -> _Reached:
    """Return the ``places``, ascending, within so many intervals of location of each of the ``extents``.

    Each has one.
    """
    begin, end = np.searchsorted(places, extents.within(intervals), side="right")
    owners = np.repeat(np.arange(begin.size), end - begin)
    numbers = _consecutive(begin, end - begin)
    firsts = np.cumsum(end - begin) - (end - begin)
    likelihoods = _Likelihoods.of(extents.previous, extents.position, extents.interval, extents.before, extents.after)
    return _Reached(firsts, owners, numbers, likelihoods.at(places[numbers], owners))


def _stabbing(previous: NDArray[np.int64], position: NDArray[np.int64]) -> list[int]:
    """Return the fewest ascending positions such that each range (previous, position] holds one."""
    order = np.lexsort((previous, position))
    found: list[int] = []
    for begin, end in zip(previous[order].tolist(), position[order].tolist(), strict=True):
        if not found or found[-1] <= begin:
            found.append(end)
    return found


def _chosen(extents: _Extents, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places, ascending, such that each of the ``extents`` has one within its interval of location.

    ``counts`` has how many change points have each of the extents.
    """
    candidates = np.union1d(_stabbing(extents.previous, extents.position), _stabbing(*extents.within(1)))
    reached = _places_within(extents, candidates, 1)
    sizes = np.diff(np.append(reached.firsts, reached.places.size))

    # What is the only place of somebody is one.
    only = np.unique(reached.places[reached.firsts[sizes == 1]])
    waiting = np.ones(counts.size, dtype=np.bool_)
    waiting[reached.owners[np.isin(reached.places, only)]] = False

    # Then the likeliest for those that wait, of whom each that has a place no longer counts.
    chosen = only.tolist()
    shares = np.where(waiting, counts, 0)[reached.owners] * reached.weights
    sums = np.bincount(reached.places, shares, candidates.size).astype(np.int64)
    by_place = np.argsort(reached.places, kind="stable")
    holders = reached.owners[by_place]
    begins = np.searchsorted(reached.places[by_place], np.arange(candidates.size + 1))
    left = np.count_nonzero(waiting)
    while left:
        place = int(sums.argmax())
        chosen.append(place)
        found = holders[begins[place] : begins[place + 1]]
        found = found[waiting[found]]
        waiting[found] = False
        left -= found.size
        pairs = _consecutive(reached.firsts[found], sizes[found])
        np.subtract.at(sums, reached.places[pairs], shares[pairs])
    places: NDArray[np.int64] = candidates[np.sort(chosen)]
    return places


def _consecutive(firsts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of ranges, in turn, that begin at ``firsts`` and have so many numbers as ``sizes``."""
    return np.repeat(firsts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())


def shared_range(extents: Iterable[Extent]) -> tuple[int, int]:
    """Return the range of positions (previous, position] that the members of one place show.

    It is what the suspect ranges share that hold the likeliest place, the earliest of equals: of the ends of suspect
    ranges, that with the largest sum of likelihoods. Where all suspect ranges share a part, it is that part.
    """
    counts = Counter((each.previous, each.position, each.interval, each.before, each.after) for each in extents)
    most, least = max(previous for previous, *_ in counts), min(position for _, position, *_ in counts)
    if most < least:
        return most, least
    ends = np.unique([position for _, position, *_ in counts])
    several = np.array(list(counts.values()), dtype=np.int64)
    likelihoods = _Likelihoods.of(*np.array(list(counts), dtype=np.int64).T)
    parts = np.array_split(ends, 1 + ends.size * several.size // _PAIRS)
    sums = np.concatenate([likelihoods.at(part[:, None]) @ several for part in parts])
    place = int(ends[sums.argmax()])
    holders = [(previous, position) for previous, position, *_ in counts if previous < place <= position]
    return max(previous for previous, _ in holders), min(position for _, position in holders)


# Group change points of many traces: what changed in one place is one change.
#
# One cause moves many traces, but they are measured at different commits, so their suspect ranges differ, and methods
# place it a little off where values are noisy. The change lies in (previous, position] of each, or within its interval
# of location around that. :mod:`knickpoint.watch.changes.groups` finds the places and says which point joins which. The
# result depends on the set of points alone, not on the order in which they came. See
# ``docs/decisions/grouping-changes.md``.


_FAR: Final = 1 << 40
"""Farther than any position of a line."""


@dataclass(frozen=True, slots=True)
class Member:
    """What grouping needs of a change point: the change lies in (previous, position] of the line.

    ``apart`` is the number of the split that set it apart, ``together`` that of the merge that joined it, 0 for
    neither. ``interval`` is the half width of the interval of location, in measured commits; ``before`` and ``after``
    are the commits of the line that it covers on either side of the suspect range, at least as many. Two points of one
    ``trace`` that lie apart have two causes; a trace of 0 is that of no other member.
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

    It is what the suspect ranges share that hold the likeliest place. The range of merged groups reaches over all of
    them.
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
    """Return the extents of the causes of the members, by id: points of one trace end half way between each other."""
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
