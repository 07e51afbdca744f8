"""Decide which change point of today is which one of yesterday.

Old and new points of one trace are matched one to one, keeping their order: as many as possible, and among
those matchings the one of least total distance. The record is ``docs/decisions/0006-identity-of-change-points.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.regression import SuspectRange

__all__ = ["REACH", "Ruler", "Spot", "may_match", "pair_up"]

REACH: Final = 5
"""Measured commits that a point may move and still be the same."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A point on the ruler of its trace.

    ``previous`` and ``position`` are positions on the line: the change lies in (previous, position].
    ``rank`` counts the measured commits before ``position``. ``movement`` is +1 or -1, ``interval`` the
    half width of the detector's interval of location, in measured commits.
    """

    previous: int
    position: int
    rank: int
    movement: int
    interval: int = 0


@dataclass(frozen=True, slots=True)
class Ruler:
    """Measure places of one trace along its line.

    ``positions`` maps slot to position; ``measured`` has the positions at which the trace has a value, ascending.
    """

    positions: Mapping[int, int]
    measured: NDArray[np.int64]

    def spot(self, place: SuspectRange, movement: int, interval: int = 0) -> Spot | None:
        """Find ``place`` on the ruler; None when its commit is not on the line any more.

        A ``previous`` that has left the line is taken for the measured commit before the place.
        """
        position = self.positions.get(place.slot)
        if position is None:
            return None
        rank = int(np.searchsorted(self.measured, position))
        previous = self.positions.get(place.previous, -1)
        if not 0 <= previous < position:
            previous = int(self.measured[rank - 1]) if rank else position - 1
        return Spot(previous, position, rank, movement, interval)


def _overlap(one: Spot, other: Spot) -> bool:
    return max(one.previous, other.previous) < min(one.position, other.position)


def may_match(old: Sequence[Spot], new: Sequence[Spot], i: int, j: int) -> bool:
    """Say whether ``old[i]`` and ``new[j]`` may be the same point.

    They move the same way and their suspect ranges overlap, or they are no further apart than the larger
    of :data:`REACH` measured commits and either interval of location, with no other point, old or new,
    between them. A point at the very place of one of the two counts as between.
    """
    one, other = old[i], new[j]
    if one.movement != other.movement:
        return False
    if _overlap(one, other):
        return True
    if abs(one.rank - other.rank) > max(REACH, one.interval, other.interval):
        return False
    low, high = sorted((one.position, other.position))
    return not any(low <= spot.position <= high for k, spot in enumerate(old) if k != i) and not any(
        low <= spot.position <= high for k, spot in enumerate(new) if k != j
    )


def _sorted(spots: Sequence[Spot]) -> list[int]:
    return sorted(range(len(spots)), key=lambda k: (spots[k].position, spots[k].previous, spots[k].movement, k))


def pair_up(old: Sequence[Spot], new: Sequence[Spot], *, taken: Collection[int] = ()) -> list[tuple[int, int]]:
    """Match old and new points of one trace: return pairs (index of old, index of new), by place.

    One to one and in order; as many pairs as possible; then the least sum of distances in measured
    commits, then in commits; then the earliest old point goes with the earliest new one. Dynamic
    programming over both lists, O(old x new) besides the checks of :func:`may_match`. New points that are
    ``taken`` (by index) match nothing, but still stand between others.
    """
    rows, columns = _sorted(old), [k for k in _sorted(new) if k not in taken]
    nothing = (0, 0, 0)
    best = [[nothing] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    joined: dict[tuple[int, int], tuple[int, int, int]] = {}
    for i in range(len(rows) - 1, -1, -1):
        for j in range(len(columns) - 1, -1, -1):
            best[i][j] = min(best[i + 1][j], best[i][j + 1])
            if not may_match(old, new, rows[i], columns[j]):
                continue
            one, other = old[rows[i]], new[columns[j]]
            rest = best[i + 1][j + 1]
            joined[i, j] = (
                rest[0] - 1,
                rest[1] + abs(one.rank - other.rank),
                rest[2] + abs(one.position - other.position),
            )
            best[i][j] = min(best[i][j], joined[i, j])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(rows) and j < len(columns):
        if joined.get((i, j)) == best[i][j]:
            pairs.append((rows[i], columns[j]))
            i, j = i + 1, j + 1
        elif best[i][j + 1] == best[i][j]:
            j += 1
        else:
            i += 1
    return pairs
