"""Detect in the traces of a group together: where they step, which traces belong to each step, and why.

A method of the kind ``GROUP`` finds clusters of one shape in windows; one of the kind ``JOINT`` finds the commits at
which the traces step together. Either way a trace has a step only where its own values moved (:mod:`.member_checks`).
The traces that step at one place the same way are one cluster. A method that decides about each trace itself, after a
look at all of them, makes no clusters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import (
    MethodKind,
    explain_jointly,
    find_clusters,
    find_steps_jointly,
    load_method,
    makes_clusters,
)
from knickpoint.detect.steps import build_steps
from knickpoint.model.alert import Alert
from knickpoint.model.cluster import Cluster, FoundCluster, MemberVerdict
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.step import Check, Step
from knickpoint.store import Store
from knickpoint.watch.detection.alert_settings import (
    WindowColumns,
    blank_before_window,
    group_key,
    known_columns,
    method_parameters,
    window_columns,
)
from knickpoint.watch.detection.member_checks import (
    GroupFrame,
    JudgedTrace,
    RowStep,
    build_cluster,
    judge_members,
    measure_own_steps,
)

# Find clusters of one shape whose centroid steps, window by window.
#
# A centroid has one step, so a history is cut into windows that overlap by half, of several widths: narrow ones tell
# steps that are near each other apart, wide ones find small steps between long stable regions. Where the windows lie
# depends on the number of measured commits alone: results that arrive later do not shift the windows of the past. See
# ``docs/decisions/traces-together.md``.


_NARROWEST: Final = 50
"""Measured commits that the narrowest windows have."""

_EDGE: Final = 5
"""Commits on either side of a window in which :func:`knickpoint.detect.find_clusters` looks for no step, by default."""


def narrowest(parameters: Mapping[str, Any]) -> int:
    """Return the width of the narrowest windows: the parts of them in which a step counts leave out the edges."""
    return max(_NARROWEST, 4 * int(parameters.get("edge", _EDGE)))


def widths(count: int, least: int) -> list[int]:
    """Return the widths of the windows over ``count`` measured commits: ``least``, doubled until one holds them all."""
    found = [least]
    while found[-1] < count:
        found.append(2 * found[-1])
    return found


def windows(count: int, width: int) -> list[tuple[range, range]]:
    """Cut ``count`` commits into windows and say in which part of each a step counts.

    The parts adjoin and cover everything. Every window but the last begins at a multiple of half the width.
    """
    if count <= width:
        return [(range(count), range(count))]
    half, quarter = max(1, width // 2), width // 4
    found: list[tuple[range, range]] = []
    taken = 0
    for begin in range(0, count - width, half):
        end = begin + width - quarter
        found.append((range(begin, begin + width), range(taken, end)))
        taken = end
    found.append((range(count - width, count), range(taken, count)))
    return [(whole, part) for whole, part in found if part]


@dataclass(frozen=True, slots=True)
class Window:
    """Some measured ``columns`` of a frame, neighbours of each other.

    A step counts at the places ``counted`` of them.
    """

    width: int
    columns: NDArray[np.int64]
    counted: range


@dataclass(frozen=True, slots=True)
class WindowStep:
    """A step of a cluster in the window of the columns from ``first`` to ``last``, ``width`` measured commits wide."""

    width: int
    column: int
    first: int
    last: int
    cluster: Cluster


def windows_over(columns: NDArray[np.int64], least: int) -> list[Window]:
    """Return all windows over the measured ``columns``: those of ``least`` commits first, the widest one last."""
    return [
        Window(width, columns[whole.start : whole.stop], range(part.start - whole.start, part.stop - whole.start))
        for width in widths(int(columns.size), least)
        for whole, part in windows(int(columns.size), width)
    ]


def steps_in_window(
    block: NDArray[np.floating[Any]], window: Window, alert: Alert, *, threads: int | None = None
) -> list[WindowStep]:
    """Return the steps of the clusters in ``block``, the values at the columns of ``window``."""
    columns = window.columns
    clusters = find_clusters(block, None, method=alert.method, threads=threads, **alert.parameters)
    return [
        WindowStep(window.width, int(columns[found.step.index]), int(columns[0]), int(columns[-1]), found)
        for found in clusters
        if found.step is not None and found.interesting and found.step.index in window.counted
    ]


def chosen_steps(found: Sequence[WindowStep]) -> dict[int, WindowStep]:
    """Choose the steps of one trace, column to step: narrow windows come first.

    A wide window counts for nothing where the trace steps within it in a narrower one: it would find that step again,
    less exactly. At one column the strongest cluster counts.
    """
    chosen: list[WindowStep] = []
    for step in sorted(found, key=lambda step: (step.width, -abs(step.cluster.regression), step.column)):
        if not any(other.width < step.width and step.first < other.column <= step.last for other in chosen):
            chosen.append(step)
    by_column: dict[int, WindowStep] = {}
    for step in chosen:
        by_column.setdefault(step.column, step)
    return by_column


Values = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class GroupClusters:
    """The clusters that an alert found in one group: ``key`` are the values of the params that it groups by.

    ``measured`` are the positions on the line of the alert at which any trace of the group has a value, ascending.
    Clusters come in the order of the line, up before down.
    """

    key: tuple[str, ...]
    measured: NDArray[np.int64]
    clusters: tuple[FoundCluster, ...]


@dataclass(frozen=True, slots=True)
class GroupDetection:
    """The steps of each trace of one group; the indices of ``steps[row]`` are columns of ``frame``.

    ``window`` is where the window of the alert lies in each row, and ``anchor`` the column of the change point from
    which detection begins, -1 without one. ``found`` is None where the method makes no clusters.
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
    """The traces of one group as a method gets them, with the ``values`` that the alert sees.

    ``columns`` are those at which any of the traces has a value. ``window`` and ``anchor`` are as in
    :class:`GroupDetection`.
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
