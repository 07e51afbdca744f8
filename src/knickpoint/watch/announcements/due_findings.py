"""Decide which settled findings are announced now, and which wait.

They wait for late results. An improvement that may undo a regression waits until the values show whether it is. A
step soon after another one the same way waits, too, where it is small or the values beside it still move, until enough
values tell whether both are one drift: so a drift is announced once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.local_levels import NEAR
from knickpoint.model.change_point import ChangePoint, Condition, Status, StepNumbers
from knickpoint.model.notification import AnnouncementRule
from knickpoint.model.settlement import FindingKind
from knickpoint.watch.announcements.places import Places
from knickpoint.watch.detection.sightings import NEARER
from knickpoint.watch.lines import Lines

Floats = NDArray[np.float64]

_TELLS: Final = 36
"""Values behind a step that tell whether it is one of a drift: fewer do not distinguish a slope from a staircase."""

_NEAR: Final = 60
"""Values between two steps of one slow change at most: a slower one makes steps that are further apart, and no drift.
"""

_CLEAR: Final = 5.0
"""Deviations of single values from which on a step is not part of a slow change, unless the values beside it still
move.
"""

_STILL_MOVES: Final = 0.25
"""Share of a clear step by which the halves of the levels beside it differ, the same way, where it is part of a slow
change.
"""

_FEW: Final = 6
"""Values of a level that do not tell whether it moves."""


def is_due(point: ChangePoint, lines: Lines, rule: AnnouncementRule, now: datetime) -> bool:
    """Return True if a settled finding is to be announced now.

    It is not when a person hid it, or when results of commits inside its suspect range may still arrive.
    """
    if point.effective_status is Status.HIDDEN:
        return False
    interval = lines.interval(point.suspect_range)
    if interval is None or interval.commits == 1 or point.found is None:
        return True
    return now >= point.found + timedelta(minutes=rule.late_minutes)


def leaves_open(change: StepNumbers, back: StepNumbers) -> bool:
    """Return True if few values follow ``back``, a later step, and its level is nearly the one before ``change``."""
    return back.after.count < NEAR and _is_undone(change, back)


def _is_undone(change: StepNumbers, back: StepNumbers) -> bool:
    distance = abs(back.after_level - change.before_level)
    return NEARER * distance < abs(change.after_level - change.before_level)


def may_be_drifts(
    waiting: Iterable[ChangePoint], traces: Mapping[int, Sequence[ChangePoint]], places: Places
) -> frozenset[int]:
    """Return the ids of those of ``waiting`` that may turn out to be part of a drift with an earlier step.

    ``traces`` has all change points of each trace.
    """
    found = set()
    for point in waiting:
        trace = traces.get(point.trace_id, ())
        earlier = [each for each in trace if _may_be_one(each, point) and not _turned_back(each, point, trace, places)]
        if earlier and _waits(point, earlier, places):
            found.add(point.id)
    return frozenset(found)


def _may_be_one(earlier: ChangePoint, point: ChangePoint) -> bool:
    """Return True if both move the same way on one line, and ``earlier`` is live, or announced and may come back."""
    same = earlier.movement == point.movement and earlier.suspect_range.line == point.suspect_range.line
    counts = earlier.condition is not Condition.GONE or earlier.announced > 0
    return same and counts and earlier.id != point.id and _is_step(point)


def _turned_back(earlier: ChangePoint, point: ChangePoint, trace: Iterable[ChangePoint], places: Places) -> bool:
    """Return True if the level before ``earlier`` was back before ``point``: a drift does not turn back.

    ``trace`` has the change points of their trace. The alert may leave out the change that brought the level back.
    """
    begin, end = places.position(earlier), places.position(point)
    positions = places.lines.line(point.suspect_range.line).positions
    if earlier.is_over and positions.get(earlier.recovered_at, end) < end:
        return True
    return any(
        other.condition is not Condition.GONE
        and other.movement != earlier.movement
        and begin < places.position(other) < end
        and _is_undone(earlier.numbers, other.numbers)
        for other in trace
    )


def _is_step(point: ChangePoint) -> bool:
    return point.kind is FindingKind.STEP


def _is_small(point: ChangePoint) -> bool:
    return abs(point.numbers.size) < _CLEAR * point.numbers.deviation


def _waits(point: ChangePoint, earlier: Sequence[ChangePoint], places: Places) -> bool:
    """Return True if few values follow ``point``, and it may be one drift with one of ``earlier`` that is near."""
    line = places.lines.line(point.suspect_range.line)
    values = places.store.frames.values(line, [point.trace_id])[0]
    measured = np.flatnonzero(~np.isnan(values))
    held = values[measured].astype(np.float64)
    rank = int(np.searchsorted(measured, places.position(point)))
    if held.size - rank >= _TELLS:
        return False
    ranks = [(int(np.searchsorted(measured, places.position(each))), each) for each in earlier]
    return any(
        (_is_small(point) and (not _is_step(each) or _is_small(each)))
        or _still_moves(held[other:rank], held[rank:], point.numbers.size)
        for other, each in ranks
        if 0 < rank - other <= _NEAR
    )


def _still_moves(before: Floats, after: Floats, size: float) -> bool:
    """Return True if the later halves of both levels lie further the way of the step, as in a slow change.

    Levels of few values may.
    """
    if min(before.size, after.size) < _FEW:
        return True
    halves = (np.array_split(level, 2) for level in (before, after))
    rises = [float(np.median(second) - np.median(first)) for first, second in halves]
    return sum(rises) / len(rises) / size >= _STILL_MOVES
