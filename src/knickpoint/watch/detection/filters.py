"""Keep the sightings that an alert reports, by direction, least effect and change, and traces in a group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from knickpoint.detect import judges_groups
from knickpoint.detect.local_levels import NEAR
from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.change_point import Direction, Sighting
from knickpoint.model.quantity_text import figure_text, reference_text
from knickpoint.model.settlement import FindingKind
from knickpoint.watch.changes.groups import Member, group_members
from knickpoint.watch.detection.alert_settings import Filter, GroupKey, group_key, least_drift
from knickpoint.watch.detection.digests import group_digests
from knickpoint.watch.detection.judged_rows import TraceDetection
from knickpoint.watch.lines import Lines

_REFUSED: Final[Mapping[AlertDirection, Callable[[Sighting], bool]]] = {
    AlertDirection.BOTH: lambda _: False,
    AlertDirection.WORSE: lambda sighting: sighting.direction is Direction.IMPROVEMENT,
    AlertDirection.BETTER: lambda sighting: sighting.direction is Direction.REGRESSION,
    AlertDirection.UP: lambda sighting: sighting.numbers.size < 0,
    AlertDirection.DOWN: lambda sighting: sighting.numbers.size > 0,
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """The filter that refuses a step, and why, in words."""

    filter: Filter
    reason: str


def refusal(alert: Alert, sighting: Sighting) -> Refusal | None:
    """Return the reason for which ``alert`` does not report ``sighting`` by itself, None if it does.

    A change of unknown direction is neither better nor worse; alerts for either report it. A step that left the local
    level as it was is reported by none.
    """
    numbers = sighting.numbers
    if not numbers.size:
        reason = f"the median of up to {NEAR} values on each side is the same: the level did not change"
        return Refusal(Filter.LEVEL, reason)
    if _REFUSED[alert.direction](sighting):
        way = "up" if numbers.size > 0 else "down"
        what = way if sighting.direction is Direction.UNKNOWN else f"{way} (an {sighting.direction.value})"
        if sighting.direction is Direction.REGRESSION:
            what = f"{way} (a change)"
        return Refusal(Filter.DIRECTION, f"the alert reports {alert.direction.value} only, this goes {what}")
    effect = _effect(alert, sighting)
    least = (
        max(alert.minimum_effect, least_drift(alert)) if sighting.kind is FindingKind.DRIFT else alert.minimum_effect
    )
    if effect < least:
        over = f" over {reference_text(alert.since)}" if _is_compared(alert, sighting) else ""
        reason = (
            f"the effect {figure_text(effect, '.3%')}{over} is below the alert's minimum of {figure_text(least, '.3%')}"
        )
        return Refusal(Filter.MINIMUM_EFFECT, reason)
    if abs(numbers.size) < alert.minimum_change:
        reason = f"the change by {abs(numbers.size):g} is below the alert's minimum of {alert.minimum_change:g}"
        return Refusal(Filter.MINIMUM_CHANGE, reason)
    return None


def _is_compared(alert: Alert, sighting: Sighting) -> bool:
    """Return True if it counts how far a drift lies from what the alert compares drifts with, not how far it moved."""
    return sighting.numbers.reference == alert.since and not math.isnan(sighting.numbers.over_reference)


def _effect(alert: Alert, sighting: Sighting) -> float:
    """Return the size that counts; what lies on the other side of its reference than it moves to has none."""
    numbers = sighting.numbers
    if not _is_compared(alert, sighting):
        return abs(numbers.relative_size)
    return max(0.0, numbers.over_reference * math.copysign(1, numbers.size))


def moved_together(
    alert: Alert, sightings: Sequence[Sighting], groups: Mapping[int, GroupKey], lines: Lines
) -> list[Sighting]:
    """Keep the sightings where at least ``minimum_traces`` of a group moved the same way at one place.

    ``groups`` is trace id to the key of its group. What counts as one place is the rule of
    :mod:`knickpoint.watch.changes.groups`.
    """
    if alert.minimum_traces <= 1:
        return list(sightings)
    candidates: dict[tuple[GroupKey, float, str], list[Member]] = {}
    for number, sighting in enumerate(sightings):
        suspects = sighting.suspect_range
        positions = lines.line(suspects.line).positions
        member = Member(
            number,
            positions.get(suspects.previous, -1),
            positions[suspects.slot],
            interval=sighting.interval,
            trace=sighting.trace_id,
            before=sighting.interval_before,
            after=sighting.interval_after,
        )
        way = math.copysign(1, sighting.numbers.size)
        candidates.setdefault((groups[sighting.trace_id], way, suspects.line), []).append(member)
    kept: set[int] = set()
    for members in candidates.values():
        for group in group_members(members):
            if len({sightings[number].trace_id for number in group.members}) >= alert.minimum_traces:
                kept.update(group.members)
    return [sighting for number, sighting in enumerate(sightings) if number in kept]


def reported_detections(alert: Alert, detections: Iterable[TraceDetection], lines: Lines) -> Iterator[TraceDetection]:
    """Yield ``detections`` with the sightings that ``alert`` reports, in order, and the filters that left others out.

    Only a minimum of traces needs all detections at once; then each digest is that of the whole group.
    """
    accepted = (_accepted(alert, found) if found.sightings else found for found in detections)
    if alert.minimum_traces <= 1:
        yield from accepted
        return
    held = list(accepted)
    digests = np.array([found.digest for found in held], dtype=np.uint64)
    if not judges_groups(alert.method):
        digests = group_digests(alert, [found.trace for found in held], digests)
    groups = {found.trace.id: group_key(alert, found.trace) for found in held}
    kept: dict[int, list[Sighting]] = {}
    for sighting in moved_together(alert, [each for found in held for each in found.sightings], groups, lines):
        kept.setdefault(sighting.trace_id, []).append(sighting)
    for found, digest in zip(held, digests.tolist(), strict=True):
        reported = tuple(kept.get(found.trace.id, ()))
        lonely = (Filter.MINIMUM_TRACES,) * (len(found.sightings) - len(reported))
        yield replace(found, sightings=reported, digest=digest, left_out=(*found.left_out, *lonely))


def _accepted(alert: Alert, found: TraceDetection) -> TraceDetection:
    """Return ``found`` with the sightings that the alert reports by themselves, and the filters of the others."""
    refusals = [refusal(alert, sighting) for sighting in found.sightings]
    accepted = tuple(each for each, refused in zip(found.sightings, refusals, strict=True) if not refused)
    return replace(found, sightings=accepted, left_out=tuple(each.filter for each in refusals if each))
