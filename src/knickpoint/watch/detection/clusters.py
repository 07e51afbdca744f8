"""Detect in the traces of a group together: where they step, which traces belong to each step, and why.

A method of the kind ``GROUP`` finds clusters of one shape in windows (:mod:`.cluster_windows`); one of the kind ``JOINT``
finds the commits at which the traces step together. Either way a trace has a step only where its own values moved
(:mod:`.member_checks`). The traces that step at one place the same way are one cluster. A method that decides about each
trace itself, after a look at all of them, makes no clusters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import MethodKind, explain_jointly, find_steps_jointly, load_method, makes_clusters
from knickpoint.detect.steps import build_steps
from knickpoint.model.alert import Alert
from knickpoint.model.cluster import FoundCluster, MemberVerdict
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.step import Check, Step
from knickpoint.store import Store
from knickpoint.watch.detection.alert_groups import group_key
from knickpoint.watch.detection.alert_window import (
    WindowColumns,
    blank_before_window,
    known_columns,
    window_columns,
)
from knickpoint.watch.detection.cluster_windows import (
    Window,
    WindowStep,
    chosen_steps,
    narrowest,
    steps_in_window,
    windows_over,
)
from knickpoint.watch.detection.found_clusters import GroupFrame, JudgedTrace, build_cluster
from knickpoint.watch.detection.member_checks import RowStep, judge_members, measure_own_steps
from knickpoint.watch.detection.method_parameters import method_parameters

__all__ = [
    "ClusterElsewhere",
    "GroupClusters",
    "GroupDetection",
    "PreparedGroup",
    "detect_group",
    "group_ids",
    "prepare_group",
]

Values = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class GroupClusters:
    """The clusters that an alert found in one group: ``key`` are the values of the params that it groups by.

    ``measured`` are the positions on the line of the alert at which any trace of the group has a value, ascending. Clusters
    come in the order of the line, up before down.
    """

    key: tuple[str, ...]
    measured: NDArray[np.int64]
    clusters: tuple[FoundCluster, ...]


@dataclass(frozen=True, slots=True)
class GroupDetection:
    """The steps of each trace of one group; the indices of ``steps[row]`` are columns of ``frame``.

    ``window`` is where the window of the alert lies in each row, and ``anchor`` the column of the change point from which
    detection begins, -1 without one. ``found`` is None where the method makes no clusters.
    """

    frame: Frame
    steps: tuple[tuple[Step, ...], ...]
    window: WindowColumns
    anchor: int
    found: GroupClusters | None


@dataclass(frozen=True, slots=True)
class _TraceStep:
    """A step that the method gives to one trace: where to judge it, how strong it is, and why the method found it."""

    at: RowStep
    score: float
    p_value: float | None
    evidence: tuple[Check, ...]


_Found = Mapping[tuple[int, int], Sequence[_TraceStep]]
"""The steps of traces by column and movement, those of one place in the order of the rows."""

_Verdicts = Mapping[tuple[int, int], Sequence[MemberVerdict]]
"""The verdict on each of these steps."""


ClusterElsewhere = Callable[[Sequence[Window]], Iterable[Sequence[WindowStep] | None]]
"""Finds the steps in each window on a worker that reads the values; None for a window that has to be clustered here."""


def _nowhere_else(windows: Sequence[Window]) -> Iterable[None]:
    return [None] * len(windows)


def _by_clusters(values: Values, columns: NDArray[np.int64], alert: Alert, elsewhere: ClusterElsewhere) -> _Found:
    """Return the steps of the clusters of ``alert``: each trace has those of the narrowest windows that hold them."""
    by_row: dict[int, list[WindowStep]] = defaultdict(list)
    windows = windows_over(columns, narrowest(alert.parameters))
    for window, found_there in zip(windows, elsewhere(windows), strict=True):
        steps = steps_in_window(values[:, window.columns], window, alert) if found_there is None else found_there
        for step in steps:
            for row in step.cluster.members:
                by_row[row].append(step)

    found: dict[tuple[int, int], list[_TraceStep]] = defaultdict(list)
    for row in sorted(by_row):
        chosen = chosen_steps(by_row[row])
        bounds = sorted(chosen)
        for number, column in enumerate(bounds):
            step = chosen[column]
            first = max([step.first, *bounds[max(0, number - 1) : number]])
            stop = min([step.last + 1, *bounds[number + 1 : number + 2]])
            movement = 1 if step.cluster.regression > 0 else -1
            found[column, movement].append(
                _TraceStep(RowStep(row, column, first, stop), abs(step.cluster.regression), None, step.cluster.evidence)
            )
    return found


def _jointly(values: Values, columns: NDArray[np.int64], alert: Alert) -> _Found:
    """Return the steps of a method that looks at the traces as one series of points: up for some, down for others."""
    first, stop = (int(columns[0]), int(columns[-1]) + 1) if columns.size else (0, 0)
    detections = explain_jointly(values[:, columns], method=alert.method, **alert.parameters) if columns.size else []
    found: dict[tuple[int, int], list[_TraceStep]] = defaultdict(list)
    for row, detection in enumerate(detections):
        bounds = [first, *(int(columns[step.index]) for step in detection.steps), stop]
        for number, step in enumerate(detection.steps, start=1):
            at = RowStep(row, bounds[number], bounds[number - 1], bounds[number + 1])
            found[bounds[number], 1 if step.size > 0 else -1].append(
                _TraceStep(at, step.score, step.p_value, step.evidence)
            )
    return found


def _judge(values: Values, steps: Sequence[_TraceStep], movement: int) -> list[MemberVerdict]:
    return judge_members(measure_own_steps(values, [step.at for step in steps]), movement)


def _steps(values: Values, found: _Found, verdicts: _Verdicts, method: str) -> dict[int, tuple[Step, ...]]:
    """Return the steps of each row that has any: where its clusters step, as far as it moved along.

    A column without a value stands for the next one with one. The evidence ends with the checks of membership.
    """
    by_row: dict[int, dict[int, tuple[int, _TraceStep, MemberVerdict]]] = defaultdict(dict)
    for (column, movement), steps in found.items():
        for step, verdict in zip(steps, verdicts[column, movement], strict=True):
            row = step.at.row
            rank = int(np.argmax(~np.isnan(values[row, column:]))) + column
            if verdict.belongs:
                by_row[row].setdefault(rank, (movement, step, verdict))
    built: dict[int, tuple[Step, ...]] = {}
    for row, placed in by_row.items():
        columns = sorted(placed)
        steps_of_row = build_steps(
            np.asarray(values[row], dtype=np.float64),
            columns,
            method=method,
            scores=[placed[column][1].score for column in columns],
            p_values=[placed[column][1].p_value for column in columns],
            evidence=[(*placed[column][1].evidence, *placed[column][2].checks) for column in columns],
        )
        built[row] = tuple(step for step in steps_of_row if step.size * placed[step.index][0] > 0)
    return built


def _clusters(frame: GroupFrame, found: _Found, verdicts: _Verdicts) -> tuple[FoundCluster, ...]:
    """Return a cluster for each place and movement at which a trace belongs, up before down at one column."""
    built = []
    for column, movement in sorted(found, key=lambda place: (place[0], -place[1])):
        judged = [
            JudgedTrace(step.at, verdict)
            for step, verdict in zip(found[column, movement], verdicts[column, movement], strict=True)
        ]
        if any(each.verdict.belongs for each in judged):
            built.append(build_cluster(frame, column, movement, judged))
    return tuple(built)


@dataclass(frozen=True, slots=True)
class PreparedGroup:
    """The traces of one group as a method gets them: ``values`` are those of the frame, without what the alert does not see.

    ``columns`` are those at which any of the traces has a value. ``window`` and ``anchor`` are as in :class:`GroupDetection`.
    """

    frame: Frame
    values: Values
    columns: NDArray[np.int64]
    window: WindowColumns
    anchor: int

    @property
    def keys(self) -> list[str]:
        """The trace keys of the rows."""
        return [trace.key for trace in self.frame.traces]


def prepare_group(store: Store, alert: Alert, line: Line, trace_ids: Sequence[int]) -> PreparedGroup:
    """Read the traces of one group; its window is that of the commits at which any of them has a value."""
    frame = store.frames.read(line, trace_ids)
    known = known_columns(store, alert, line, trace_ids, first=frame.first)
    held = ~np.isnan(frame.values)
    measured: NDArray[np.bool_] = np.any(held, axis=0)
    together = sorted({column for columns in known.values() for column in columns})
    group = window_columns(measured[None, :], alert.window, [together])
    window = window_columns(held, 0)
    if alert.window:
        window = WindowColumns(
            *(np.repeat(column, len(held)) for column in (group.reported, group.start, group.anchor))
        )
    columns = np.flatnonzero(measured)
    columns = columns[columns >= int(group.start[0])]
    return PreparedGroup(frame, blank_before_window(frame.values, window), columns, window, int(group.anchor[0]))


def _detect_group(group: PreparedGroup, alert: Alert, elsewhere: ClusterElsewhere) -> GroupDetection:
    """Judge the traces of ``group`` together."""
    frame, values = group.frame, group.values
    if not makes_clusters(alert.method):
        own = find_steps_jointly(values, group.keys, method=alert.method, **method_parameters(alert))
        return GroupDetection(frame, tuple(own), group.window, group.anchor, None)

    # Find where the method sees steps, and judge each trace there by its own values.
    if load_method(alert.method).kind is MethodKind.JOINT:
        found = _jointly(values, group.columns, alert)
    else:
        found = _by_clusters(values, group.columns, alert, elsewhere)
    verdicts = {(column, way): _judge(values, found[column, way], way) for column, way in found}

    # Traces that belong get their steps; each place and movement with such traces is a cluster.
    steps = _steps(values, found, verdicts, alert.method)
    key = group_key(alert, frame.traces[0])
    clusters = _clusters(GroupFrame(key, frame.traces, values, frame.slots, group.columns), found, verdicts)
    measured = np.flatnonzero(np.any(~np.isnan(frame.values), axis=0)) + frame.first
    return GroupDetection(
        frame,
        tuple(steps.get(row, ()) for row in range(len(values))),
        group.window,
        group.anchor,
        GroupClusters(key, measured, clusters),
    )


def detect_group(
    store: Store, alert: Alert, line: Line, trace_ids: Sequence[int], elsewhere: ClusterElsewhere = _nowhere_else
) -> GroupDetection:
    """Judge the traces of one group together; ``elsewhere`` may cluster them window by window.

    Raises:
        InputError: the parameters are not those of :func:`knickpoint.detect.find_clusters`.
    """
    return _detect_group(prepare_group(store, alert, line, trace_ids), alert, elsewhere)


def group_ids(store: Store, alert: Alert, trace_ids: NDArray[np.int64]) -> list[list[int]]:
    """Return the groups of ``trace_ids`` that ``alert`` judges together, in the order of their values."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    traces: list[Trace] = store.traces.get(trace_ids) if alert.group_by else []
    if alert.group_by:
        for trace in traces:
            groups[group_key(alert, trace)].append(trace.id)
    elif len(trace_ids):
        groups[()] = trace_ids.tolist()
    return [groups[key] for key in sorted(groups)]
