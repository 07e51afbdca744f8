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
"""The most rounds in which change points are assigned again: most groups are stable after a few."""

_PAIRS: Final = 1 << 18
"""Extents times places that are weighed at a time."""


@dataclass(frozen=True, order=True, slots=True)
class Extent:
    """Where the cause of a change point may lie: in (previous, position], or outside of it in (low, high].

    ``interval`` is the half width of the interval of location, in measured commits. Around the suspect range these are taken
    to be as far apart as it is wide, so that no values are read. Distances count in the same unit.
    """

    position: int
    previous: int
    low: int
    high: int
    interval: int = 0

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
    places = _chosen(ordered, several)
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
    owners = np.repeat(np.arange(len(extents)), end - begin)
    numbers = _consecutive(begin, end - begin)

    ends = np.array([(each.previous, each.position, each.interval) for each in extents], dtype=np.int64).T
    firsts = np.cumsum(end - begin) - (end - begin)
    return _Reached(firsts, owners, numbers, _weights(ends[:, owners], places[numbers]))


def _weights(ends: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how likely each ``place`` is for extents, in :data:`_UNIT` of a place in the suspect range.

    ``ends`` has three rows: the previous position, the position and the interval of each extent. Both arrays broadcast.
    """
    previous, position, interval = ends
    beyond = np.maximum(place - position - 1, previous - place)
    outside = (place <= previous) | (place > position)
    distances = np.where(outside, beyond // (position - previous) + 1, 0)

    # Few of the pairs differ in these, and powers of the vector units of processors may differ in the last digit.
    kinds, kind = np.unique(interval << 32 | distances, return_inverse=True)
    weights = np.array([_weight(each & 0xFFFFFFFF, each >> 32) for each in kinds.tolist()], dtype=np.int64)
    return weights[kind].reshape(distances.shape)


def _stabbing(ranges: Iterable[tuple[int, int]]) -> list[int]:
    """Return the fewest positions such that each range holds one, each the end of some range, ascending."""
    found: list[int] = []
    for position, previous in sorted((position, previous) for previous, position in ranges):
        if not found or found[-1] <= previous:
            found.append(position)
    return found


def _chosen(extents: Sequence[Extent], counts: NDArray[np.int64]) -> NDArray[np.int64]:
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
    waiting = np.ones(len(extents), dtype=np.bool_)
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
    """Return the numbers of ranges, one after the other, that begin at ``firsts`` and have so many numbers as ``sizes``."""
    return np.repeat(firsts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())


def shared_range(extents: Iterable[Extent]) -> tuple[int, int]:
    """Return the range of positions (previous, position] that the members of one place show.

    It is what the suspect ranges share that hold the likeliest place, the earliest of equals: of the ends of suspect
    ranges, that with the largest sum of likelihoods. Where all suspect ranges share a part, it is that part.
    """
    counts = Counter((extent.previous, extent.position, extent.interval) for extent in extents)
    ends = np.unique([position for _, position, _ in counts])
    place = int(ends[0])
    if ends.size > 1:
        ranges, several = np.array(list(counts), dtype=np.int64).T, np.array(list(counts.values()), dtype=np.int64)
        parts = np.array_split(ends, 1 + ends.size * several.size // _PAIRS)
        likelihoods = [_weights(ranges[:, None, :], part[:, None]) @ several for part in parts]
        place = int(ends[np.concatenate(likelihoods).argmax()])
    holders = [(previous, position) for previous, position, _ in counts if previous < place <= position]
    return max(previous for previous, _ in holders), min(position for _, position in holders)
