"""Turn the steps of a method into sightings: with a suspect range, local levels, a direction and a condition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.local_levels import MEDIAN_ERROR, NEAR, LocalChange, LocalLevel, local_changes
from knickpoint.detect.patterns.drift.findings import OVER_HIGHEST, OVER_LOWEST
from knickpoint.model.change_point import Condition, Direction, Sighting, StepNumbers, SuspectRange, direction_of
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.settlement import FindingKind, Settlement
from knickpoint.model.step import LOCATION_INTERVAL, StableRegion, Step
from knickpoint.model.unit_names import Better
from knickpoint.watch.detection.alert_settings import BEFORE_DRIFT, DriftReference, over_reference
from knickpoint.watch.lines import Lines

# Decide whether a change has recovered: a later step the other way brings the level before it back.
#
# "The same level" allows for noise, and for a later level that is not exactly the old one: see :func:`returned`.


NOISE: Final = 2.0
"""Two levels that differ by no more standard deviations of single values are the same."""

NEARER: Final = 3.0
"""How many times smaller than the change of the step the distance to the old level has to be."""

_ROUNDING: Final = 1e-9


def returned(before: LocalLevel, left: LocalLevel, later: LocalLevel) -> bool:
    """Return True if ``later`` is the level ``before`` again, after the level ``left`` in between.

    ``before`` and ``later`` differ by no more than :data:`NOISE` deviations, which few values widen by the error of the
    two medians, and by less than a third (one over :data:`NEARER`) of what ``before`` and ``left`` differ by.
    """
    distance = abs(later.median - before.median)
    error = MEDIAN_ERROR * math.sqrt(1 / before.count + 1 / later.count)
    noise = _deviation([before, later] if before.count + later.count >= NEAR else [before, left, later])
    tolerance = NOISE * noise * math.hypot(1.0, error) + _ROUNDING * abs(before.median)
    return distance <= tolerance and NEARER * distance < abs(left.median - before.median)


def _deviation(levels: Sequence[LocalLevel]) -> float:
    """Pool the deviations of single values around some levels, with one degree of freedom less for each level."""
    freedom = sum(level.count - 1 for level in levels)
    return math.hypot(*(math.sqrt(level.count / freedom) * level.deviation for level in levels)) if freedom else 0.0


def recoveries(changes: Sequence[LocalChange]) -> list[int | None]:
    """Return the later step that reversed each of the steps of one series, given the subject of each; None for none.

    A step has recovered when a later step moves the other way and the level after that one is, by :func:`returned`, the
    level before the step.
    """
    return [
        next(
            (
                place + 1 + number
                for number, later in enumerate(changes[place + 1 :])
                if later.size * change.size < 0 and returned(change.before, change.after, later.after)
            ),
            None,
        )
        for place, change in enumerate(changes)
    ]


def location_interval(step: Step) -> int:
    """Return the number of measured commits that ``step`` may be off by the method, 0 if it states none."""
    return max((int(check.value) for check in step.evidence if check.name == LOCATION_INTERVAL), default=0)


def sightings_of(
    alert: str,
    frame: Frame,
    row: int,
    steps: Sequence[Step],
    lines: Lines,
    *,
    settlements: Sequence[Settlement],
    reference: DriftReference | None = None,
) -> list[Sighting]:
    """Return the ``steps`` of the trace in a ``row`` of ``frame`` as sightings of ``alert``, in their order.

    The indices of the steps are columns of ``frame``. ``settlements`` has one for each step. Drifts are compared with
    ``reference``, where it applies to them.
    """
    if not steps:
        return []
    changes = local_changes(frame.values[row], steps)
    slots = [
        int(frame.slots[step.index]) if held.settled else -1 for step, held in zip(steps, settlements, strict=True)
    ]
    measured = np.flatnonzero(~np.isnan(frame.values[row]))
    found = []
    for step, settlement, change, recovery in zip(steps, settlements, changes, recoveries(changes), strict=True):
        before, after = _covered(step, measured)
        placed = replace(
            _sighting(alert, frame, row, lines, step=step, settlement=settlement, change=change),
            interval_before=before,
            interval_after=after,
            condition=Condition.PRESENT if recovery is None else Condition.RECOVERED,
            recovered_at=-1 if recovery is None else slots[recovery],
        )
        found.append(placed)
    if reference is None:
        return found
    return [
        _compared(sighting, reference, _over(frame, row, steps, changes, index, reference=reference))
        for index, sighting in enumerate(found)
    ]


def _compared(sighting: Sighting, reference: DriftReference, over: float) -> Sighting:
    """Return ``sighting`` with how far it lies from ``reference``, as it is where that is unknown."""
    if math.isnan(over):
        return sighting
    return replace(sighting, numbers=replace(sighting.numbers, reference=reference.text, over_reference=over))


def _over(
    frame: Frame,
    row: int,
    steps: Sequence[Step],
    changes: Sequence[LocalChange],
    index: int,
    *,
    reference: DriftReference,
) -> float:
    """Return the distance of the end of the step at ``index`` from ``reference``, nan if compared with its start."""
    step = steps[index]
    if step.kind is not FindingKind.DRIFT:
        return math.nan
    if reference.position != BEFORE_DRIFT:
        return over_reference(frame.values[row], steps, changes, index, reference.position - frame.first)
    better = frame.traces[row].better
    worse = direction_of(changes[index].size, better) is Direction.REGRESSION
    return _since_best(step, better) if worse else math.nan


def _sighting(
    alert: str,
    frame: Frame,
    row: int,
    lines: Lines,
    *,
    step: Step,
    settlement: Settlement,
    change: LocalChange,
) -> Sighting:
    trace = frame.traces[row]
    line = lines.owner(frame.line, frame.first + step.index)
    return Sighting(
        alert=alert,
        trace_id=trace.id,
        suspect_range=SuspectRange(line.name, int(frame.slots[step.previous]), int(frame.slots[step.index])),
        movement=1 if step.size > 0 else -1,
        direction=direction_of(change.size, _better(step, trace)),
        interval=location_interval(step),
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
            low=change.low,
            high=change.high,
            sign=change.sign,
        ),
        kind=step.kind,
        settlement=settlement,
    )


def _covered(step: Step, measured: NDArray[np.int64]) -> tuple[int, int]:
    """Return the number of commits before and after the suspect range of ``step`` that its interval of location covers.

    Measured commits that the series does not have, at its ends, count as one each.
    """
    interval = location_interval(step)
    first, last = (int(place) for place in np.searchsorted(measured, (step.previous, step.index)))
    low, high = max(0, first - interval), min(measured.size - 1, last + interval)
    before = step.previous - int(measured[low]) + interval - (first - low)
    after = int(measured[high]) - step.index + interval - (high - last)
    return before, after


def _better(step: Step, trace: Trace) -> Better:
    """Return the better direction of the quantity of ``step``: less noise always is better."""
    return Better.LOWER if step.kind is FindingKind.NOISE else trace.better


def _since_best(step: Step, better: Better) -> float:
    """Return the distance of the end of a drift from the best level before it, nan if unknown."""
    name = OVER_HIGHEST if better is Better.HIGHER else OVER_LOWEST
    return next((check.value for check in step.evidence if check.name == name), math.nan)


def _at_slots(region: StableRegion, frame: Frame) -> StableRegion:
    return replace(region, first=int(frame.slots[region.first]), last=int(frame.slots[region.last]))
