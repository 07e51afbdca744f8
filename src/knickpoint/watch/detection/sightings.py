"""Turn the steps of a detector into sightings: placed on a line, with the words for good and bad."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.params import decode_key
from knickpoint.model.regression import Direction, Sighting, StepNumbers, SuspectRange, direction_of
from knickpoint.model.step import StableRegion, Step
from knickpoint.watch.detection.local_levels import NEAR, local_changes
from knickpoint.watch.detection.recovery import conditions
from knickpoint.watch.lines import Lines
from knickpoint.watch.regressions.groups import Member, group_members

__all__ = ["INTERVAL", "group_key", "moved_together", "refusal", "sightings_of"]

INTERVAL: Final = "interval of location"
"""Name of the evidence in which a detector says how many measured commits its step may be off."""


def _interval(step: Step) -> int:
    return max((int(check.value) for check in step.evidence if check.name == INTERVAL), default=0)


def _at_slots(region: StableRegion, frame: Frame) -> StableRegion:
    return replace(region, first=int(frame.slots[region.first]), last=int(frame.slots[region.last]))


def sightings_of(alert: str, frame: Frame, row: int, steps: Sequence[Step], lines: Lines) -> list[Sighting]:
    """SuspectRange the ``steps`` of the trace in a ``row`` of ``frame``, measure each, and say what became of it.

    The indices of the steps are columns of ``frame``.
    """
    trace = frame.traces[row]
    found = []
    changes = local_changes(frame.values[row], steps)
    for step, change, condition in zip(steps, changes, conditions(changes), strict=True):
        own = lines.own(frame.line, frame.first + step.index)
        found.append(
            Sighting(
                alert=alert,
                trace_id=trace.id,
                suspect_range=SuspectRange(own.name, int(frame.slots[step.previous]), int(frame.slots[step.index])),
                movement=1 if step.size > 0 else -1,
                direction=direction_of(change.size, trace.better),
                interval=_interval(step),
                numbers=StepNumbers(
                    before=_at_slots(step.before, frame),
                    after=_at_slots(step.after, frame),
                    before_level=change.before.median,
                    after_level=change.after.median,
                    deviation=change.deviation,
                    size=change.size,
                    relative_size=change.relative_size,
                    hazard=step.hazard,
                    score=step.score,
                    p_value=step.p_value,
                    order=step.order,
                    method=step.method,
                ),
                condition=condition,
            )
        )
    return found


_REFUSED: Final[Mapping[AlertDirection, Callable[[Sighting], bool]]] = {
    AlertDirection.BOTH: lambda _: False,
    AlertDirection.WORSE: lambda sighting: sighting.direction is Direction.IMPROVEMENT,
    AlertDirection.BETTER: lambda sighting: sighting.direction is Direction.REGRESSION,
    AlertDirection.UP: lambda sighting: sighting.numbers.size < 0,
    AlertDirection.DOWN: lambda sighting: sighting.numbers.size > 0,
}


def refusal(alert: Alert, sighting: Sighting) -> str:
    """Say why ``alert`` does not report ``sighting`` by itself, "" when it does.

    Where nobody told which direction is better, a change is neither better nor worse and is reported
    by both kinds of alert. A step that left the local level as it was is reported by none.
    """
    numbers = sighting.numbers
    if not numbers.size:
        return f"the median of up to {NEAR} values on each side is the same: the level did not change"
    if _REFUSED[alert.direction](sighting):
        way = "up" if numbers.size > 0 else "down"
        what = way if sighting.direction is Direction.UNKNOWN else f"{way} (an {sighting.direction.value})"
        if sighting.direction is Direction.REGRESSION:
            what = f"{way} (a regression)"
        return f"the alert reports {alert.direction.value} only, this goes {what}"
    if abs(numbers.relative_size) < alert.minimum_effect:
        return f"the effect {abs(numbers.relative_size):.3%} is below the alert's minimum of {alert.minimum_effect:.3%}"
    return ""


def group_key(alert: Alert, trace: Trace) -> tuple[str, ...]:
    """Return the values of the params that ``alert`` groups by, "" where the trace has none."""
    if not alert.group_by:
        return ()
    params = decode_key(trace.key)
    return tuple(params.get(name, "") for name in alert.group_by)


def moved_together(
    alert: Alert, sightings: Sequence[Sighting], groups: Mapping[int, tuple[str, ...]], lines: Lines
) -> list[Sighting]:
    """Keep the sightings of places at which at least ``minimum_traces`` of a group moved the same way.

    ``groups`` is trace id to the key of its group. What counts as one place is the rule of
    :mod:`knickpoint.watch.regressions.groups`.
    """
    if alert.minimum_traces <= 1:
        return list(sightings)
    rows: dict[tuple[tuple[str, ...], float, str], list[Member]] = {}
    for number, sighting in enumerate(sightings):
        place = sighting.suspect_range
        positions = lines.line(place.line).positions
        member = Member(number, positions.get(place.previous, -1), positions[place.slot])
        way = math.copysign(1, sighting.numbers.size)
        rows.setdefault((groups[sighting.trace_id], way, place.line), []).append(member)
    kept: set[int] = set()
    for members in rows.values():
        for group in group_members(members):
            if len({sightings[number].trace_id for number in group.members}) >= alert.minimum_traces:
                kept.update(group.members)
    return [sighting for number, sighting in enumerate(sightings) if number in kept]
