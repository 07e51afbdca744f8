"""Turn the steps of a method into sightings, with a suspect range, local levels and a condition, and settle them.

A step near the end that the newest values prove is settled at once (:mod:`knickpoint.detect.newest_evidence`). The
others are detected again without the newest values. The rule is :class:`knickpoint.model.settlement.SettleRule`. Each
*view* of a series is the series as it was some values ago. A step is found in a view when a step of the view is the
same one by the rule of identity (:mod:`knickpoint.watch.identity`). Only series with steps are viewed again, so a
history without changes costs nothing, and no detection runs in a view that is in the
:class:`~knickpoint.watch.detection.sightings.ViewCache`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.local_levels import MEDIAN_ERROR, NEAR, LocalChange, LocalLevel, local_changes
from knickpoint.detect.newest_evidence import NewestEvidence, weigh_newest
from knickpoint.detect.patterns.drift.findings import OVER_HIGHEST, OVER_LOWEST
from knickpoint.model.change_point import Condition, Direction, Sighting, StepNumbers, SuspectRange, direction_of
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.settlement import SETTLED, Certainty, FindingKind, Settlement, SettleRule
from knickpoint.model.step import LOCATION_INTERVAL, StableRegion, Step
from knickpoint.model.unit_names import Better
from knickpoint.watch.detection.alert_settings import BEFORE_DRIFT, DriftReference, over_reference
from knickpoint.watch.identity import StepLocation, match_points
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


# Cache where series had steps, for the series that they become with further values.
#
# To settle a step, detection looks at a series without its newest values. Where results arrive commit by commit, that
# is the series of an earlier commit, in which detection ran then. See ``docs/decisions/runs-of-detection.md``.


_MOST: Final = 500_000
"""Cached series, of about 160 bytes each: the newer half stays, and the older half goes when the newer one is full."""

_LOCATION: Final = struct.Struct("<iiibi")


def location_of(step: Step, measured: NDArray[np.int64]) -> StepLocation:
    """Locate ``step`` in a series with values at the positions ``measured``."""
    rank = int(np.searchsorted(measured, step.index))
    return StepLocation(step.previous, step.index, rank, 1 if step.size > 0 else -1, location_interval(step))


class ViewCache:
    """The locations of the steps of series in which a worker has detected.

    A series is known by a digest of its values up to the last measured one and of the method with its parameters, on
    which the steps alone depend. So a cached answer is the answer that detection gives. One thread at a time may use
    it.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._half = max(1, most // 2)
        self._newer: dict[bytes, bytes] = {}
        self._older: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        """Return the number of cached series."""
        return len(self._newer) + len(self._older)

    def of(self, method: str, parameters: Mapping[str, float | int | str | bool]) -> MethodViews:
        """Return the part of the cache for a method with its parameters."""
        named = repr((method, sorted(parameters.items())))
        return MethodViews(self, blake2b(named.encode(), digest_size=32).digest())

    def get(self, key: bytes) -> bytes | None:
        """Return the cached bytes of a key, None without any."""
        found = self._newer.get(key)
        return self._older.get(key) if found is None else found

    def put(self, key: bytes, locations: bytes) -> None:
        """Cache something; the older half goes when the newer one is full."""
        if len(self._newer) >= self._half:
            self._newer, self._older = {}, self._newer
        self._newer[key] = locations


class MethodViews:
    """The cached series of one method with its parameters."""

    def __init__(self, cache: ViewCache, method: bytes) -> None:
        self._cache = cache
        self._method = method

    def get(self, series: NDArray[np.floating[Any]]) -> tuple[StepLocation, ...] | None:
        """Return the steps of a series that ends with a measured value, None where it is not cached."""
        found = self._cache.get(self._key(series))
        return None if found is None else tuple(map(StepLocation._make, _LOCATION.iter_unpack(found)))

    def put(self, series: NDArray[np.floating[Any]], locations: Sequence[StepLocation]) -> None:
        """Cache the steps of a series that ends with a measured value."""
        self._cache.put(self._key(series), b"".join(_LOCATION.pack(*each) for each in locations))

    def _key(self, series: NDArray[np.floating[Any]]) -> bytes:
        return blake2b(series.astype(np.float64).tobytes(), digest_size=16, key=self._method).digest()


DetectMany = Callable[[NDArray[np.floating[Any]]], Sequence[Sequence[Step]]]
"""Returns the steps of each row of a matrix of series."""


def settle_by_count(values: NDArray[np.floating[Any]], steps: Sequence[Step], rule: SettleRule) -> list[Settlement]:
    """Return the settlement of the ``steps`` of one series by the number of values behind them alone.

    This is for methods that judge many series together, which are too expensive to repeat: a step is settled when as
    many values follow it as the rule ever asks for.
    """
    held = ~np.isnan(values)
    later = [int(held[step.index :].sum()) for step in steps]
    return [_settlement(count, rule.most) for count in later]


def settle_steps(
    values: NDArray[np.floating[Any]],
    found: Sequence[Sequence[Step]],
    detect: DetectMany,
    rule: SettleRule,
    cache: MethodViews | None = None,
) -> list[list[Settlement]]:
    """Return for each row of ``values`` (series x commits, nan for missing) which of its ``found`` steps are settled.

    ``detect`` is the detection that found them. It runs once more, over the views of all rows with steps that the
    newest values do not prove: at most six a row with the default rule. Views in the ``cache`` need no detection.
    """
    # The views that each row with steps needs: without how many of its newest values.
    stepping = {row: steps for row, steps in enumerate(found) if steps}
    measured = {row: np.flatnonzero(~np.isnan(values[row])) for row in stepping}
    certain = {
        row: frozenset(place for place, step in enumerate(steps) if _is_certain(values[row], measured[row], step, rule))
        for row, steps in stepping.items()
    }
    needed = {
        row: sorted(
            {
                drop
                for place, step in enumerate(steps)
                if place not in certain[row]
                for drop in rule.views(_later(measured[row], step.index))
            }
        )
        for row, steps in stepping.items()
    }
    places = [(row, drop) for row, drops in needed.items() for drop in drops]

    # Take the cached views, and detect in all others at once.
    viewed: dict[tuple[int, int], Sequence[StepLocation]] = {}
    if cache is not None:
        cached = {place: cache.get(_series(values, measured, *place)) for place in places}
        viewed = {place: known for place, known in cached.items() if known is not None}
    left = [place for place in places if place not in viewed]
    views = np.array([_without_newest(values[row], measured[row], drop) for row, drop in left])
    detected = zip(left, detect(views) if left else (), strict=True)
    fresh = {(row, drop): tuple(location_of(step, measured[row]) for step in steps) for (row, drop), steps in detected}
    viewed |= fresh
    locations = {row: tuple(location_of(step, measured[row]) for step in steps) for row, steps in stepping.items()}
    if cache is not None:
        # The series of today is a view of tomorrow's.
        fresh |= {(row, 0): located for row, located in locations.items()}
        for place, steps in fresh.items():
            cache.put(_series(values, measured, *place), steps)
    settled = {
        row: _settle_row(measured[row], located, {drop: viewed[row, drop] for drop in needed[row]}, rule, certain[row])
        for row, located in locations.items()
    }
    return [settled.get(row, []) for row in range(len(found))]


def evidence_of(values: NDArray[np.floating[Any]], step: Step) -> NewestEvidence:
    """Weigh the values of the level after ``step`` against those of the level before it."""
    series = np.asarray(values, dtype=np.float64)
    before = series[step.before.first : step.before.last + 1]
    after = series[step.after.first : step.after.last + 1]
    return weigh_newest(before[~np.isnan(before)], after[~np.isnan(after)], up=step.size > 0)


def _is_certain(values: NDArray[np.floating[Any]], measured: NDArray[np.int64], step: Step, rule: SettleRule) -> bool:
    """Return True if ``step`` is near the end, and its newest values far out, so that it needs no further look."""
    later = _later(measured, step.index)
    return rule.least <= later <= rule.most and step.after.count >= rule.least and evidence_of(values, step).certain


def _later(measured: NDArray[np.int64], first: int) -> int:
    """Return the number of values at the first commit of the new level or behind it."""
    return int(measured.size - np.searchsorted(measured, first))


def _without_newest(
    values: NDArray[np.floating[Any]], measured: NDArray[np.int64], drop: int
) -> NDArray[np.floating[Any]]:
    view = values.copy()
    view[measured[-drop:]] = np.nan
    return view


def _series(
    values: NDArray[np.floating[Any]], measured: Mapping[int, NDArray[np.int64]], row: int, drop: int
) -> NDArray[np.floating[Any]]:
    """Return a row without its newest ``drop`` measured values and what is missing behind these."""
    held = measured[row]
    return values[row, : int(held[held.size - drop - 1]) + 1] if held.size > drop else values[row, :0]


def _settle_row(
    measured: NDArray[np.int64],
    steps: Sequence[StepLocation],
    views: Mapping[int, Sequence[StepLocation]],
    rule: SettleRule,
    certain: Collection[int],
) -> list[Settlement]:
    # Look for each step in each view.
    found_in = {drop: {place for place, _ in match_points(steps, seen)} for drop, seen in views.items()}

    # Count the newest values in a row with which it was found.
    settlements = []
    for place, step in enumerate(steps):
        if place in certain:
            settlements.append(SETTLED)
            continue
        later = _later(measured, step.position)
        drops = rule.views(later)
        missed = next((drop for drop in drops if place not in found_in[drop]), None)
        kept = [drop for drop in drops if missed is None or drop < missed]
        settlements.append(_settlement(1 + max(kept, default=0), rule.needed(later)))
    return settlements


def _settlement(found_with: int, needed: int) -> Settlement:
    if found_with >= needed:
        return SETTLED
    return Settlement(Certainty.PROVISIONAL, found_with, needed)
