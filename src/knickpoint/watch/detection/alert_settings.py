"""What the settings of an alert mean for its detection: groups, window, filters, parameters, references of drifts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import judges_groups, parameters_of
from knickpoint.detect.local_levels import NEAR, LocalChange
from knickpoint.model.alert import SINCE_BEST, SINCE_START, Alert, AlertKind, is_day
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.frame import Trace
from knickpoint.model.params import values_in_key
from knickpoint.model.query import parse_query
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Step
from knickpoint.store import Store
from knickpoint.watch.lines import Lines

# Name the filters of an alert, each of which leaves steps out that its method found.


class Filter(Enum):
    """What keeps a step from being reported: a setting of the alert, by name, or that the level stayed."""

    LEVEL = "level"
    DIRECTION = "direction"
    MINIMUM_EFFECT = "minimum_effect"
    MINIMUM_CHANGE = "minimum_change"
    MINIMUM_TRACES = "minimum_traces"


# Know which traces an alert watches, and which of them it judges as a group.
#
# A group has the same values of the params in ``group_by``.


GroupKey = tuple[str, ...]
"""Values of the params that an alert groups by, in their order."""


def watched_traces(store: Store, alert: Alert, repository: Repository) -> NDArray[np.int64]:
    """Return the ids of the traces of ``repository`` that ``alert`` watches, sorted.

    An alert without a query leaves out the traces of canary alerts: that a machine moved is not work. An alert whose
    query matches canaries watches them.

    Raises:
        QueryError: a query cannot be read.
    """
    if alert.repository not in {"", repository.name}:
        return np.empty(0, dtype=np.int64)
    ids = store.traces.select(repository, parse_query(alert.query))
    if alert.query.strip() or alert.kind is AlertKind.CANARY:
        return ids
    for canary in store.findings.alerts_in_force.all().values():
        if canary.kind is AlertKind.CANARY and canary.query.strip() and canary.repository in {"", repository.name}:
            ids = np.setdiff1d(ids, store.traces.select(repository, parse_query(canary.query)), assume_unique=True)
    return ids


def group_key(alert: Alert, trace: Trace) -> GroupKey:
    """Return the values of the params that ``alert`` groups by, "" where the trace has none."""
    return values_in_key(trace.key, alert.group_by)


def depends_on_group(alert: Alert) -> bool:
    """Return True if what ``alert`` reports of a trace depends on the other traces of its group."""
    return alert.minimum_traces > 1 or judges_groups(alert.method)


def asks_family(alert: Alert) -> bool:
    """Return True if ``alert`` asks the family of a trace that steps, in ``watch/alert_run/family_members.py``."""
    return alert.method == "default" and not alert.window and not alert.reads_samples


def whole_groups(store: Store, alert: Alert, ids: NDArray[np.int64], touched: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of ``ids`` that are ``touched``, with the rest of their groups where these count for ``alert``.

    Both are sorted, without repetition. The time grows with ``touched``, not with ``ids``, where no group counts.
    """
    places = np.searchsorted(ids, touched)
    chosen: NDArray[np.int64] = touched[places < ids.size]
    chosen = chosen[ids[places[: chosen.size]] == chosen]
    if not depends_on_group(alert) or not chosen.size:
        return chosen
    keys = [group_key(alert, trace) for trace in store.traces.get(ids)]
    wanted = {keys[row] for row in np.flatnonzero(np.isin(ids, chosen)).tolist()}
    return ids[[key in wanted for key in keys]]


# Find the part of a history that an alert with a window detects in, and the part that it reports of.
#
# An alert reports changes after the first of its last ``window`` values. To judge these, it detects from further back:
# from as many values again, and from its last change point before the window where that lies further back. So the
# stable region before the first reported step is whole. Change points before the window stay as they are. See
# ``docs/decisions/runs-of-detection.md``.


@dataclass(frozen=True, slots=True)
class WindowColumns:
    """Where the window of an alert lies in a frame: arrays of columns, one entry for each row of the frame.

    A step is reported when its column is after ``reported``, the column of the first value of the window. ``start`` is
    the first column that detection reads. ``anchor`` is the column of the last known change point up to ``reported``,
    -1 without one.
    """

    reported: NDArray[np.int64]
    start: NDArray[np.int64]
    anchor: NDArray[np.int64]


def _first_true(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the first true column of each row, the number of columns where there is none."""
    return np.where(mask.any(axis=1), mask.argmax(axis=1) if mask.shape[1] else 0, mask.shape[1]).astype(np.int64)


def window_columns(held: NDArray[np.bool_], window: int, known: Sequence[Sequence[int]] = ()) -> WindowColumns:
    """Return the columns of a ``window`` (0 for everything) in the rows of ``held``, which is true where a value is.

    ``known`` has the columns of each row's change points that the alert knows; none are needed without a window.
    """
    measured = _first_true(held)
    anchor = np.full(len(held), -1, dtype=np.int64)
    if not window:
        return WindowColumns(measured, measured, anchor)

    # Count the values from the end: the window has the last `window` of them, detection reads twice as many.
    newer = np.cumsum(held[:, ::-1], axis=1)[:, ::-1]
    reported = _first_true(held & (newer <= window))
    start = _first_true(held & (newer <= 2 * window))

    # Reach back to the last change point before the window, so that the region that it begins is whole.
    for row, columns in enumerate(known):
        before = [column for column in columns if column <= reported[row]]
        if before and reported[row] > measured[row]:
            anchor[row] = max(before)
            start[row] = min(start[row], anchor[row])
    return WindowColumns(reported, start, anchor)


def blank_before_window(values: NDArray[np.floating[Any]], columns: WindowColumns) -> NDArray[np.floating[Any]]:
    """Return ``values`` (traces x commits) with nan before the first column that detection reads."""
    if not (columns.start > 0).any():
        return values
    return np.where(np.arange(values.shape[1]) < columns.start[:, None], np.nan, values)


def known_columns(
    store: Store, alert: Alert, line: Line, trace_ids: Sequence[int], *, first: int = 0
) -> Mapping[int, Sequence[int]]:
    """Return the columns, counted from position ``first`` of ``line``, of the steps that ``alert`` knows, by trace.

    Nothing is read for an alert without a window, because it needs none.
    """
    if not alert.window:
        return {}
    return {
        key: [line.positions[slot] - first for slot in slots if slot in line.positions]
        for key, slots in store.findings.sightings.slots(alert.name, trace_ids).items()
    }


# The parameters that an alert gives its method: its own, and what follows from its other settings.


_DRIFT_EFFECT: Final = "drift_effect"
_ADDS_UP: Final = 0.25
"""Share of the least effect from which on a drift counts that is not compared with its start, so that drifts add up."""


def method_parameters(alert: Alert) -> Mapping[str, float | int | str | bool]:
    """Return the parameters with which ``alert`` runs its method.

    Where the alert reports changes that are smaller than the least drift which the method reports, drifts are reported
    from the same effect on. A larger effect needs nothing: the alert leaves out what is smaller. A method that does not
    exist keeps its parameters, and running it says so.
    """
    try:
        usual = parameters_of(alert.method).get(_DRIFT_EFFECT)
    except InputError:
        return alert.parameters
    if not isinstance(usual, float) or _DRIFT_EFFECT in alert.parameters:
        return alert.parameters
    least = min(alert.minimum_effect or usual, usual)
    if alert.since != SINCE_START:
        return {**alert.parameters, _DRIFT_EFFECT: least * _ADDS_UP}
    return alert.parameters if least == usual else {**alert.parameters, _DRIFT_EFFECT: least}


def least_drift(alert: Alert) -> float:
    """Return the effect that a drift needs where it is not compared with its start, 0 where the method decides."""
    if alert.since == SINCE_START or alert.minimum_effect:
        return 0.0
    try:
        usual = parameters_of(alert.method).get(_DRIFT_EFFECT)
    except InputError:
        return 0.0
    return usual if isinstance(usual, float) else 0.0


# Find what an alert compares drifts with: nothing but their start, the best level before them, a date, or a release.


BEFORE_DRIFT: Final = -1
"""The position of a reference that is not a commit of its own: the best level before each drift."""

_MOST_NAMED: Final = 8
"""Releases that a message about an unknown one lists."""


@dataclass(frozen=True, slots=True)
class DriftReference:
    """What an alert compares drifts with on a line.

    ``text`` is the setting ``since``; ``position`` that of the last commit of the line before a date or in a release,
    and :data:`BEFORE_DRIFT` for the best level.
    """

    text: str
    position: int


def find_reference(alert: Alert, line: Line, lines: Lines) -> DriftReference | None:
    """Return the reference of ``alert`` for drifts on ``line``, None for their start.

    Raises:
        ConfigError: there is no such release, or the line has no commit so old.
    """
    if alert.since == SINCE_START:
        return None
    if alert.since == SINCE_BEST:
        return DriftReference(alert.since, BEFORE_DRIFT)
    position = _of_date(alert, line, lines) if is_day(alert.since) else _of_release(alert, line, lines)
    return DriftReference(alert.since, position)


def _of_date(alert: Alert, line: Line, lines: Lines) -> int:
    position = lines.last_before(line, datetime.fromisoformat(alert.since).replace(tzinfo=UTC))
    if position is None:
        raise ConfigError(
            f"since is {alert.since}, and no commit of the line {line.name} is that old",
            where=f"alert {alert.name!r}",
            remedy="Give a later date, or best to compare drifts with the best level before them.",
        )
    return position


def _of_release(alert: Alert, line: Line, lines: Lines) -> int:
    where, name = f"alert {alert.name!r}", lines.repository.name
    slot = lines.release(alert.since)
    if slot is None:
        known = lines.releases()
        listed = f"one of {', '.join(known[-_MOST_NAMED:])}" if known else "a date, as the repository has no tags"
        raise ConfigError(
            f"since is {alert.since!r}, and the repository {name} has no tag of that name",
            where=where,
            remedy=f"Create the tag, or give {listed}.",
        )
    position = line.positions.get(slot)
    if position is None:
        raise ConfigError(
            f"since is {alert.since!r}, and the line {line.name} of {name} has no commit of this release",
            where=where,
            remedy="Give the tag of a release that was made from this line, or a date.",
        )
    return position


def over_reference(
    values: NDArray[np.floating[Any]], steps: Sequence[Step], changes: Sequence[LocalChange], drift: int, column: int
) -> float:
    """Return the distance of the end of a drift from the level at ``column``, as a share of that level, with its sign.

    ``drift`` is the index of one of ``steps``, which are those of the trace in ``values`` (nan for missing ones), and
    ``changes`` have their levels. It is nan where the drift ended by then, or nothing was measured.
    """
    if column < 0 or steps[drift].after.last <= column:
        return math.nan
    level = _level_at(values, steps, changes, column)
    if math.isnan(level):
        return math.nan
    moved = changes[drift].after.median - level
    return moved / abs(level) if level else math.copysign(math.inf, moved)


def _level_at(
    values: NDArray[np.floating[Any]], steps: Sequence[Step], changes: Sequence[LocalChange], column: int
) -> float:
    """Return the level at ``column``: on the slope of a drift that holds it, else the median of values so far."""
    begin = 0
    for step, change in zip(steps, changes, strict=True):
        if step.index > column:
            break
        begin = step.index
        if step.kind is not FindingKind.DRIFT:
            continue
        if column < step.after.last:
            measured = ~np.isnan(values[step.previous : step.after.last + 1])
            passed = int(measured[: column - step.previous + 1].sum()) - 1
            return change.before.median + change.size * passed / max(int(measured.sum()) - 1, 1)
        begin = step.after.last
    near = values[begin : column + 1]
    near = near[~np.isnan(near)][-NEAR:]
    return float(np.median(near)) if near.size else math.nan
