"""Compare what is known of a trace with what was found now: new, moved, unchanged, gone, come back.

Pure: known points and sightings in, changes out. Which known point is which new one is the business of
:mod:`knickpoint.watch.identity.point_matching`; the record is ``docs/decisions/0006-identity-of-change-points.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from knickpoint.detect import judges_groups
from knickpoint.model.regression import Condition, KnownPoint, PointUpdate, Sighting, SuspectRange, Transition
from knickpoint.watch.identity.point_matching import Ruler, Spot, pair_up

__all__ = ["merge_sightings", "reconcile"]


def _spot(ruler: Ruler, sighting: Sighting) -> Spot | None:
    return ruler.spot(sighting.suspect_range, sighting.movement, sighting.interval)


def _evidence(sighting: Sighting) -> float:
    """Return how far apart the levels on both sides are, in standard errors of their difference."""
    numbers = sighting.numbers
    before, after = numbers.before, numbers.after
    error = math.sqrt(before.variance / before.count + after.variance / after.count)
    strength = abs(numbers.size) / error if error > 0 else math.inf
    return strength if not math.isnan(strength) else 0.0


def _by_authority(point: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """Order what several alerts saw of one point: the first gives the place and the numbers.

    One that judged the trace by its own values comes before one that judged a group; then the one whose levels are
    further apart for their noise, since levels that mix others are noisy; then the one of more values; then by name.
    """
    return tuple(
        sorted(
            point,
            key=lambda sighting: (
                judges_groups(sighting.numbers.method),
                -_evidence(sighting),
                -(sighting.numbers.before.count + sighting.numbers.after.count),
                sighting.alert,
            ),
        )
    )


def merge_sightings(sightings: Iterable[Sighting], ruler: Ruler) -> list[tuple[Sighting, ...]]:
    """Put together what several alerts saw of one trace: one tuple a point, by place, whose first gives the numbers.

    The points of the first alert, by name, are matched with those of the second by the rule of identity, what is
    left over joins them, and so on. A sighting whose commit is not on the line is left out.
    """
    by_alert: dict[str, list[Sighting]] = {}
    for sighting in sightings:
        if _spot(ruler, sighting) is not None:
            by_alert.setdefault(sighting.alert, []).append(sighting)
    points: list[tuple[Sighting, ...]] = []
    for alert in sorted(by_alert):
        seen = by_alert[alert]
        old = [spot for point in points if (spot := _spot(ruler, point[0]))]
        new = [spot for sighting in seen if (spot := _spot(ruler, sighting))]
        partner = {j: i for i, j in pair_up(old, new)}
        for j, sighting in enumerate(seen):
            if j in partner:
                points[partner[j]] += (sighting,)
            else:
                points.append((sighting,))
    ordered = [_by_authority(point) for point in points]
    return sorted(ordered, key=lambda point: ruler.positions[point[0].suspect_range.slot])


def _change(known: KnownPoint, point: tuple[Sighting, ...], *, carried: bool) -> PointUpdate:
    first = point[0]
    if known.condition is Condition.GONE:
        change = Transition.BACK
    elif (known.suspect_range.previous, known.suspect_range.slot) != (
        first.suspect_range.previous,
        first.suspect_range.slot,
    ):
        change = Transition.MOVED
    else:
        change = Transition.UNCHANGED
    recovered = first.condition is Condition.RECOVERED and known.condition is not Condition.RECOVERED
    return PointUpdate(change, known.id, first.trace_id, point, carried=carried, recovered=recovered)


def reconcile(known: Sequence[KnownPoint], sightings: Sequence[Sighting], ruler: Ruler) -> list[PointUpdate]:
    """Return what became of the points of one trace on one line: known ones by id, then new ones by place.

    Decisions come first: the points that were there at the last decision about the trace are matched by
    where they were then, so that a status depends on data and decisions and not on what was seen in
    between. What is left is matched by its last place, live points before those that were gone. A known
    point that stays gone does not appear.
    """
    points = merge_sightings(sightings, ruler)
    spots = [spot for point in points if (spot := _spot(ruler, point[0]))]
    changes: dict[int, PointUpdate] = {}
    free = list(range(len(points)))

    def match(
        candidates: Iterable[KnownPoint], place_of: Callable[[KnownPoint], SuspectRange], *, carried: bool
    ) -> None:
        old = [
            (one, spot)
            for one in candidates
            if one.id not in changes and (spot := ruler.spot(place_of(one), one.movement, one.interval))
        ]
        for i, j in pair_up([spot for _, spot in old], spots, taken=set(range(len(points))) - set(free)):
            one = old[i][0]
            changes[one.id] = _change(one, points[j], carried=carried and one.anchor is not None)
            free.remove(j)

    ordered = sorted(known, key=lambda one: one.id)
    live = [one for one in ordered if one.condition is not Condition.GONE]
    match((one for one in ordered if one.anchor), lambda one: one.anchor or one.suspect_range, carried=False)
    match(live, lambda one: one.suspect_range, carried=True)
    match(ordered, lambda one: one.suspect_range, carried=True)
    for one in live:
        if one.id not in changes:
            changes[one.id] = PointUpdate(Transition.GONE, one.id, one.trace_id, ())
    fresh = [PointUpdate(Transition.NEW, 0, points[j][0].trace_id, points[j]) for j in free]
    return [changes[key] for key in sorted(changes)] + fresh
