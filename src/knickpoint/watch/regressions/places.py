"""Find the places of the line at which change points have their causes, and the place that each one joins.

A method says how far its step may be off: the interval of location, at whose end a place is 20 times less likely than in
the suspect range. What is certain therefore holds its place, and what is not joins the place that explains it best. The
record is ``docs/decisions/0379-blurred-changes-join-a-place.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.watch.location_weight import location_weight

__all__ = ["FARTHEST", "Extent", "assign_places", "shared_range"]

FARTHEST: Final = 2
"""Intervals of location from its suspect range within which a change point may join a place that many others hold."""

_UNIT: Final = 1 << 20
"""The weight of a place in the suspect range. Weights are whole numbers, so that no sum depends on its order."""

_PASSES: Final = 16
"""How often members choose anew after others have chosen: a few times are enough for them to settle."""


@dataclass(frozen=True, order=True, slots=True)
class Extent:
    """Where the cause of a change point may lie: in (previous, position], else in (low, high], ``interval`` steps away.

    A step is the width of the suspect range, since results are as far apart as that around it; nobody has to read values.
    """

    position: int
    previous: int
    low: int
    high: int
    interval: int = 0

    def holds(self, place: int) -> bool:
        """Return whether ``place`` lies in the suspect range."""
        return self.previous < place <= self.position

    def distance(self, place: int) -> int:
        """Return how many steps ``place`` lies outside the suspect range."""
        width = self.position - self.previous
        if place > self.position:
            return (place - self.position - 1) // width + 1
        return (self.previous - place) // width + 1 if place <= self.previous else 0

    def weight(self, place: int) -> int:
        """Return how likely ``place`` is, in :data:`_UNIT` of a place in the suspect range."""
        return _weight(self.distance(place), self.interval)

    def within(self, intervals: int) -> tuple[int, int]:
        """Return the range that so many intervals of location reach, and (low, high] allows."""
        reach = intervals * self.interval * (self.position - self.previous)
        return max(self.low, self.previous - reach), min(self.high, self.position + reach)


@lru_cache(maxsize=4096)
def _weight(distance: int, interval: int) -> int:
    return max(1, round(_UNIT * location_weight(distance, interval)))


def assign_places(extents: Sequence[Extent]) -> dict[Extent, int]:
    """Return the place that change points of each of the ``extents``, which may repeat, join.

    1. Candidates are the fewest positions that stab all suspect ranges, and the fewest that stab the intervals of location.
    2. A candidate that is the only one for somebody is a place. While somebody has none yet, the candidate that is most
       likely for all of these together becomes one.
    3. Each joins, within :data:`FARTHEST` intervals, the place whose members times its own likelihood there are most. It
       counts as a member of the nearest places at first; then members that are not certain choose until nothing moves.

    The earliest of equals goes first. Complexity O(n log n + n x places in reach).
    """
    counts = Counter(extents)
    if not counts:
        return {}
    ordered = sorted(counts)
    several = np.array([counts[extent] for extent in ordered], dtype=np.int64)
    places = np.array(_chosen(ordered, several.tolist()), dtype=np.int64)
    reached = _places_within(ordered, places, FARTHEST)

    # At first each counts for the places that are most likely for it: all those in its suspect range, or the nearest.
    likely = reached.weights == np.maximum.reduceat(reached.weights, reached.firsts)[reached.owners]
    votes = np.bincount(reached.places, several[reached.owners] * likely, len(places)).astype(np.int64)
    joined = reached.best(votes)

    # Then those that are not certain choose again, as long as that moves any.
    free = np.array([extent.interval > 0 for extent in ordered])
    for _ in range(_PASSES if free.any() else 0):
        votes = np.bincount(joined, several, len(places)).astype(np.int64)
        best = reached.best(votes)
        moved = free & (best != joined)
        if not moved.any():
            break
        joined[moved] = best[moved]
    return dict(zip(ordered, places[joined].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _Reached:
    """The places that each of some extents reaches, as pairs: extent by extent, each with its places ascending.

    Of each pair ``owners`` has the number of the extent, ``places`` that of the place, and ``weights`` how likely it is;
    ``firsts`` has the first pair of each extent.
    """

    firsts: NDArray[np.int64]
    owners: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.int64]

    def best(self, votes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each extent the place whose ``votes`` times its own likelihood there are most, the earliest of equals."""
        scores = votes[self.places] * self.weights
        (most,) = np.nonzero(scores == np.maximum.reduceat(scores, self.firsts)[self.owners])
        return self.places[most[np.searchsorted(self.owners[most], np.arange(self.firsts.size))]]


def _places_within(extents: Sequence[Extent], places: NDArray[np.int64], intervals: int) -> _Reached:
    """Return the ``places``, ascending, within so many intervals of location of each of the ``extents``; each has one."""
    bounds = np.array([extent.within(intervals) for extent in extents], dtype=np.int64)
    begin, end = np.searchsorted(places, bounds, side="right").T
    firsts = np.cumsum(end - begin) - (end - begin)
    owners = np.repeat(np.arange(len(extents)), end - begin)
    numbers = np.arange(owners.size) - firsts[owners] + begin[owners]

    # As Extent.distance() says it, for all pairs.
    ends = np.array([(each.previous, each.position, each.interval) for each in extents], dtype=np.int64)
    (previous, position, interval), place = ends[owners].T, places[numbers]
    beyond = np.maximum(place - position - 1, previous - place)
    outside = (place <= previous) | (place > position)
    distances = np.where(outside, beyond // (position - previous) + 1, 0)

    # Few of the pairs differ in these, and powers of the vector units of processors may differ in the last digit.
    kinds, kind = np.unique(interval << 32 | distances, return_inverse=True)
    weights = np.array([_weight(each & 0xFFFFFFFF, each >> 32) for each in kinds.tolist()], dtype=np.int64)
    return _Reached(firsts, owners, numbers, weights[kind])


def _stabbing(ranges: Iterable[tuple[int, int]]) -> list[int]:
    """Return the fewest positions such that each range holds one, each the end of some range, ascending."""
    found: list[int] = []
    for position, previous in sorted((position, previous) for previous, position in ranges):
        if not found or found[-1] <= previous:
            found.append(position)
    return found


def _chosen(extents: Sequence[Extent], counts: Sequence[int]) -> list[int]:
    """Return the places, ascending, such that each of the ``extents`` has one within its interval of location.

    ``counts`` has how many change points have each of the extents.
    """
    ranges = [extent.within(1) for extent in extents]
    candidates = np.array(
        sorted({*_stabbing((extent.previous, extent.position) for extent in extents), *_stabbing(ranges)}),
        dtype=np.int64,
    )
    reached = _places_within(extents, candidates, 1)
    sizes = np.diff(np.append(reached.firsts, reached.places.size))

    # What is the only place of somebody is one.
    only = np.unique(reached.places[reached.firsts[sizes == 1]])
    held = np.zeros(len(extents), dtype=np.bool_)
    held[reached.owners[np.isin(reached.places, only)]] = True

    # Then the likeliest for those that wait. Likelihoods only fall, so that an entry of the heap is at most too high.
    chosen = set(candidates[only].tolist())
    waiting = set(np.flatnonzero(~held).tolist())
    sums: Counter[int] = Counter()
    shares: dict[int, list[tuple[int, int]]] = {}
    holders: dict[int, list[int]] = {}
    for number in sorted(waiting):
        pairs = slice(reached.firsts[number], reached.firsts[number] + sizes[number])
        held_places, weights = candidates[reached.places[pairs]].tolist(), reached.weights[pairs].tolist()
        shares[number] = [(place, counts[number] * weight) for place, weight in zip(held_places, weights, strict=True)]
        for place, share in shares[number]:
            sums[place] += share
            holders.setdefault(place, []).append(number)
    heap = [(-total, place) for place, total in sums.items()]
    heapify(heap)
    while waiting:
        total, place = heappop(heap)
        if -total != sums[place]:
            if sums[place]:
                heappush(heap, (-sums[place], place))
            continue
        chosen.add(place)
        for number in holders[place]:
            if number in waiting:
                waiting.remove(number)
                for other, share in shares[number]:
                    sums[other] -= share
    return sorted(chosen)


def shared_range(extents: Iterable[Extent]) -> tuple[int, int]:
    """Return the range of positions (previous, position] that the members of one place show.

    It is what the suspect ranges share that hold the likeliest place, the earliest of equals: of the ends of suspect
    ranges, that with the largest sum of likelihoods. Where all suspect ranges share a part, it is that part.
    """
    counts = Counter(extents)
    place = min(
        {extent.position for extent in counts},
        key=lambda end: (-sum(count * extent.weight(end) for extent, count in counts.items()), end),
    )
    holders = [extent for extent in counts if extent.holds(place)]
    return max(extent.previous for extent in holders), min(extent.position for extent in holders)
