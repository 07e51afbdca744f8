"""Decide what became of the change points of a trace: new, moved, unchanged, gone or back.

Pure: known points and sightings in, updates out. The sightings of all alerts become points first. Then each known point
is looked for among them by the rule of :mod:`knickpoint.watch.identity.point_matching`, in rounds. What matches is
unchanged, moved or back; known points without a match are gone; points without a known one are new. See
``docs/decisions/identity-and-settling.md``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from knickpoint.detect import makes_clusters
from knickpoint.model.change_point import Condition, KnownPoint, PointUpdate, Sighting, SuspectRange, Transition
from knickpoint.watch.identity.point_matching import Ruler, StepLocation, match_points

__all__ = ["merge_sightings", "reconcile"]


def _location(ruler: Ruler, sighting: Sighting) -> StepLocation | None:
    return ruler.locate(sighting.suspect_range, sighting.movement, sighting.interval)


def _evidence(sighting: Sighting) -> float:
    """Return how far apart the levels on both sides are, in standard errors of their difference."""
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
    """Return what became of a known point that is the one of ``point``."""
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
    that a person decided about becomes the drift, else the one that was found first; of several drifts it is the earliest.
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
    """Return whether both move the same way, and one of them is a drift that the other begins in."""
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
    """Return what became of the points of one trace on one line: known ones by id, then new ones by position.

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
