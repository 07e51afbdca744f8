"""Identity of change points between runs: which one is which, and whether it is new, moved, gone or back."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import makes_clusters
from knickpoint.model.change_point import Condition, KnownPoint, PointUpdate, Sighting, SuspectRange, Transition

# Decide which findings are new, moved, unchanged, gone or back.
#
# ``reconciliation`` decides, for the change points of one trace; it takes the sightings of all alerts together.
# ``point_matching`` has the rule by which a change point of today is one of yesterday, and ``cluster_fingerprints``
# that of clusters.


# Match the known change points of a trace with those found now: which new one is which old one.
#
# New results move a change point a little, and triage must not lose its decision. Old and new points of one trace are
# matched one to one, keeping their order: as many as possible, and of these matchings the one of least total distance.
# That is the alignment of two sequences by dynamic programming, as in Needleman and Wunsch, "A general method
# applicable to the search for similarities in the amino acid sequence of two proteins", J. Mol. Biol. 48 (1970), with a
# rule that says which pairs are allowed at all. See ``docs/decisions/identity-and-settling.md``.


REACH: Final = 5
"""Measured commits that a point may move and still be the same."""


class StepLocation(NamedTuple):
    """The location of a step in the series of its trace.

    The change lies in (previous, position], both positions of the series, which are those of its line where the series
    is a whole trace. ``rank`` counts the measured commits before ``position``. ``movement`` is +1 or -1, ``interval``
    the half width of the detector's interval of location, in measured commits.
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
        """Locate ``suspect_range`` in the trace; None if its commit is no longer on the line.

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
    """Return True if ``old[i]`` and ``new[j]`` may be the same point.

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
"""What a matching costs: minus its pairs, distances in measured commits, distances in commits.

Compared in this order.
"""


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


# Decide what became of the change points of a trace: new, moved, unchanged, gone or back.
#
# Pure: known points and sightings in, updates out. The sightings of all alerts become points first. Then each known
# point is looked for among them by the rule of :mod:`knickpoint.watch.identity`, in rounds. What matches is unchanged,
# moved or back; known points without a match are gone; points without a known one are new. See
# ``docs/decisions/identity-and-settling.md``.


def _location(ruler: Ruler, sighting: Sighting) -> StepLocation | None:
    return ruler.locate(sighting.suspect_range, sighting.movement, sighting.interval)


def _evidence(sighting: Sighting) -> float:
    """Return the distance of the levels on both sides, in standard errors of their difference."""
    numbers = sighting.numbers
    before, after = numbers.before, numbers.after
    error = math.sqrt(before.variance / before.count + after.variance / after.count)
    strength = abs(numbers.size) / error if error > 0 else math.inf
    return strength if not math.isnan(strength) else 0.0


def _by_authority(point: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """Order the sightings of one point by several alerts: the first gives the suspect range and the numbers.

    A method that judged the trace by its own values comes before one that judged a group; then the sighting whose
    levels are further apart for their noise, since levels that mix others are noisy; then the one of more values; then
    by the name of the alert.
    """
    return tuple(
        sorted(
            point,
            key=lambda sighting: (
                makes_clusters(sighting.numbers.method),
                -_evidence(sighting),
                -(sighting.numbers.before.count + sighting.numbers.after.count),
                sighting.alert,
            ),
        )
    )


def merge_sightings(sightings: Iterable[Sighting], ruler: Ruler) -> list[tuple[Sighting, ...]]:
    """Merge the sightings of several alerts into points: one tuple a point, whose first sighting gives the numbers.

    Points come in the order of the line. A sighting whose commit is not on the line is left out.
    """
    by_alert: dict[str, list[Sighting]] = {}
    for sighting in sightings:
        if _location(ruler, sighting) is not None:
            by_alert.setdefault(sighting.alert, []).append(sighting)

    # Match the sightings of each alert, by name, with the points of those before it; the rest become points.
    points: list[tuple[Sighting, ...]] = []
    for alert in sorted(by_alert):
        found = by_alert[alert]
        old = [step for point in points if (step := _location(ruler, point[0]))]
        new = [step for sighting in found if (step := _location(ruler, sighting))]
        partner = {j: i for i, j in match_points(old, new)}
        for j, sighting in enumerate(found):
            if j in partner:
                points[partner[j]] += (sighting,)
            else:
                points.append((sighting,))
    ordered = [_by_authority(point) for point in points]
    return sorted(ordered, key=lambda point: ruler.positions[point[0].suspect_range.slot])


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A known point, and the suspect range in which one round looks for it.

    ``carried`` says that a decision about the point moves along, because its own place is out of reach.
    """

    known: KnownPoint
    suspect_range: SuspectRange
    carried: bool


def _rounds(known: Sequence[KnownPoint]) -> tuple[list[_Candidate], ...]:
    """Return the candidates of each round of matching.

    Decisions come first: the points that were there at the last decision about the trace are looked for where they were
    then. So a status depends on data and decisions, and not on the results that came in between. What is left is looked
    for at its last place, live points before those that were gone; live points also where their cluster drifted to.
    """
    decided = [_Candidate(point, point.anchor, carried=False) for point in known if point.anchor]
    latest = [_Candidate(point, point.suspect_range, carried=point.anchor is not None) for point in known]
    live = [candidate for candidate in latest if candidate.known.condition is not Condition.GONE]
    drifted = [
        _Candidate(point, point.expected, carried=point.anchor is not None)
        for point in known
        if point.expected and point.condition is not Condition.GONE
    ]
    return decided, live, drifted, latest


def _update(candidate: _Candidate, point: tuple[Sighting, ...]) -> PointUpdate:
    """Return the update of a known point that is the one of ``point``."""
    known, first = candidate.known, point[0]
    old, new = known.suspect_range, first.suspect_range
    if known.condition is Condition.GONE:
        transition = Transition.BACK
    elif (old.previous, old.slot) != (new.previous, new.slot):
        transition = Transition.MOVED
    else:
        transition = Transition.UNCHANGED
    recovered = first.condition is Condition.RECOVERED and known.condition is not Condition.RECOVERED
    return PointUpdate(transition, known.id, first.trace_id, point, carried=candidate.carried, recovered=recovered)


def _match_round(
    candidates: Sequence[_Candidate], steps: Sequence[StepLocation], ruler: Ruler, taken: Collection[int]
) -> list[tuple[_Candidate, int]]:
    """Match ``candidates`` with the ``steps`` that are not ``taken``: return each with the index of its step."""
    old = [
        (candidate, step)
        for candidate in candidates
        if (step := ruler.locate(candidate.suspect_range, candidate.known.movement, candidate.known.interval))
    ]
    pairs = match_points([step for _, step in old], steps, taken=taken)
    return [(old[i][0], j) for i, j in pairs]


def _match_drifts(
    waiting: Sequence[KnownPoint], points: Sequence[tuple[Sighting, ...]], ruler: Ruler, taken: Collection[int]
) -> list[tuple[_Candidate, int]]:
    """Match points that one round left over because one of the two is a drift, and the other one lies in it.

    A slow change is found as a step, or as two, until enough values show that it is a drift. Of several steps the one
    that a person decided about becomes the drift, else the one that was found first; of several drifts it is the
    earliest.
    """
    pairs: list[tuple[_Candidate, int]] = []
    used = set(taken)
    for known in sorted(waiting, key=lambda known: (known.anchor is None, known.id)):
        inside = next(
            (j for j, point in enumerate(points) if j not in used and _in_one_drift(known, point[0], ruler)), None
        )
        if inside is not None:
            used.add(inside)
            pairs.append((_Candidate(known, known.suspect_range, carried=known.anchor is not None), inside))
    return pairs


def _in_one_drift(known: KnownPoint, sighting: Sighting, ruler: Ruler) -> bool:
    """Return True if both move the same way, and one of them is a drift that the other begins in."""
    positions = ruler.positions
    old, new = positions.get(known.suspect_range.slot), positions.get(sighting.suspect_range.slot)
    if known.movement != sighting.movement or old is None or new is None:
        return False
    began, ended = positions.get(sighting.suspect_range.previous, new), positions.get(sighting.until or -1, -1)
    if began <= old <= ended:
        return True
    began, ended = positions.get(known.suspect_range.previous, old), positions.get(known.until or -1, -1)
    return began <= new <= ended


def reconcile(known: Sequence[KnownPoint], sightings: Sequence[Sighting], ruler: Ruler) -> list[PointUpdate]:
    """Return the updates of the points of one trace on one line: known ones by id, then new ones by position.

    A known point that stays gone does not appear.
    """
    # Sightings become points: each is one change, whichever alerts found it.
    points = merge_sightings(sightings, ruler)
    steps = [step for point in points if (step := _location(ruler, point[0]))]
    ordered = sorted(known, key=lambda point: point.id)

    # Match in rounds: what one round matches is out of the next. Steps may have turned out to be a drift.
    updates: dict[int, PointUpdate] = {}
    taken: set[int] = set()
    for candidates in _rounds(ordered):
        waiting = [candidate for candidate in candidates if candidate.known.id not in updates]
        pairs = _match_round(waiting, steps, ruler, taken)
        updates |= {candidate.known.id: _update(candidate, points[j]) for candidate, j in pairs}
        taken |= {j for _, j in pairs}
    left = [point for point in ordered if point.id not in updates and point.condition is not Condition.GONE]
    drifts = _match_drifts(left, points, ruler, taken)
    updates |= {candidate.known.id: _update(candidate, points[j]) for candidate, j in drifts}
    taken |= {j for _, j in drifts}

    # Live points without a match are gone, points without a known one are new.
    for point in ordered:
        if point.id not in updates and point.condition is not Condition.GONE:
            updates[point.id] = PointUpdate(Transition.GONE, point.id, point.trace_id, ())
    new = [PointUpdate(Transition.NEW, 0, point[0].trace_id, point) for j, point in enumerate(points) if j not in taken]
    return [updates[key] for key in sorted(updates)] + new
