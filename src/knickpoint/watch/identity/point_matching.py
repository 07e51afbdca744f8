"""Match the known change points of a trace with those found now: which new one is which old one.

New results move a change point a little, and triage must not lose its decision. Old and new points of one trace are
matched one to one, keeping their order: as many as possible, and of these matchings the one of least total distance.
That is the alignment of two sequences by dynamic programming, as in Needleman and Wunsch, "A general method applicable
to the search for similarities in the amino acid sequence of two proteins", J. Mol. Biol. 48 (1970), with a rule that
says which pairs are allowed at all. See ``docs/decisions/identity-and-settling.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import SuspectRange

__all__ = ["REACH", "Ruler", "StepLocation", "match_points", "may_match"]

REACH: Final = 5
"""Measured commits that a point may move and still be the same."""


class StepLocation(NamedTuple):
    """The location of a step in the series of its trace.

    The change lies in (previous, position], both positions of the series, which are those of its line where the series is a
    whole trace. ``rank`` counts the measured commits before ``position``. ``movement`` is +1 or -1, ``interval`` the half
    width of the detector's interval of location, in measured commits.
    """

    previous: int
    position: int
    rank: int
    movement: int
    interval: int = 0


@dataclass(frozen=True, slots=True)
class Ruler:
    """Measure suspect ranges of one trace along its line.

    ``positions`` maps slot to position; ``measured`` has the positions at which the trace has a value, ascending.
    """

    positions: Mapping[int, int]
    measured: NDArray[np.int64]

    def locate(self, suspect_range: SuspectRange, movement: int, interval: int = 0) -> StepLocation | None:
        """Return where ``suspect_range`` lies in the trace; None when its commit is no longer on the line.

        Where ``previous`` has left the line, the measured commit before the change takes its part.
        """
        position = self.positions.get(suspect_range.slot)
        if position is None:
            return None
        rank = int(np.searchsorted(self.measured, position))
        previous = self.positions.get(suspect_range.previous, -1)
        if not 0 <= previous < position:
            previous = int(self.measured[rank - 1]) if rank else position - 1
        return StepLocation(previous, position, rank, movement, interval)


def _overlap(first: StepLocation, second: StepLocation) -> bool:
    return max(first.previous, second.previous) < min(first.position, second.position)


def may_match(old: Sequence[StepLocation], new: Sequence[StepLocation], i: int, j: int) -> bool:
    """Return whether ``old[i]`` and ``new[j]`` may be the same point.

    They move the same way and their suspect ranges overlap, or they are no further apart than the larger
    of :data:`REACH` measured commits and either interval of location, with no other point, old or new,
    between them. A point at the position of one of the two counts as between.
    """
    before, after = old[i], new[j]
    if before.movement != after.movement:
        return False
    if _overlap(before, after):
        return True
    if abs(before.rank - after.rank) > max(REACH, before.interval, after.interval):
        return False
    low, high = sorted((before.position, after.position))
    return not any(low <= step.position <= high for k, step in enumerate(old) if k != i) and not any(
        low <= step.position <= high for k, step in enumerate(new) if k != j
    )


def _sorted(steps: Sequence[StepLocation]) -> list[int]:
    return sorted(range(len(steps)), key=lambda k: (steps[k].position, steps[k].previous, steps[k].movement, k))


Cost = tuple[int, int, int]
"""What a matching costs: minus its pairs, distances in measured commits, distances in commits; compared in this order."""


def match_points(
    old: Sequence[StepLocation], new: Sequence[StepLocation], *, taken: Collection[int] = ()
) -> list[tuple[int, int]]:
    """Match old and new points of one trace: return pairs (index of old, index of new), in the order of the line.

    One to one and in order; as many pairs as possible; then the least sum of distances in measured
    commits, then in commits; then the earliest old point goes with the earliest new one. Dynamic
    programming over both lists, O(old x new) besides the checks of :func:`may_match`. New points that are
    ``taken`` (by index) match nothing, but still stand between others.
    """
    rows, columns = _sorted(old), [k for k in _sorted(new) if k not in taken]

    # Recursion from the end: best[i][j] is the least cost of matching rows[i:] with columns[j:], joined[i, j] that of
    # the matchings in which rows[i] goes with columns[j].
    nothing: Cost = (0, 0, 0)
    best = [[nothing] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    joined: dict[tuple[int, int], Cost] = {}
    for i in range(len(rows) - 1, -1, -1):
        for j in range(len(columns) - 1, -1, -1):
            best[i][j] = min(best[i + 1][j], best[i][j + 1])
            if may_match(old, new, rows[i], columns[j]):
                joined[i, j] = _joined_cost(old[rows[i]], new[columns[j]], best[i + 1][j + 1])
                best[i][j] = min(best[i][j], joined[i, j])

    # Trace the best matching from the beginning. Joining where that costs no more makes the earliest pairs; otherwise
    # the new point is skipped first.
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


def _joined_cost(before: StepLocation, after: StepLocation, rest: Cost) -> Cost:
    return (
        rest[0] - 1,
        rest[1] + abs(before.rank - after.rank),
        rest[2] + abs(before.position - after.position),
    )
