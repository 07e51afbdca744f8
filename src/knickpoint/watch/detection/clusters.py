"""Detect in the traces of a group together: clusters of one shape whose centroid steps, window by window.

A centroid has one step, so a history is cut into windows that overlap by half, of several widths: narrow ones tell
steps that are near each other apart, wide ones find small steps between long stable regions. Where the windows lie
depends on the number of measured commits alone: results that arrive later do not shift the windows of the past. The
record is ``docs/decisions/0053-alerts-that-need-many-traces.md``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_clusters
from knickpoint.detect.steps import build_steps
from knickpoint.model.alert import Alert
from knickpoint.model.cluster import Cluster
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.step import Step
from knickpoint.store import Store
from knickpoint.watch.detection.alert_groups import group_key
from knickpoint.watch.detection.alert_window import (
    WindowColumns,
    blank_before_window,
    known_columns,
    window_columns,
)

__all__ = ["GroupDetection", "detect_groups", "narrowest", "widths", "windows"]

_NARROWEST: Final = 50
"""Measured commits that the narrowest windows have."""

_EDGE: Final = 5
"""Commits on either side of a window in which :func:`knickpoint.detect.find_clusters` looks for no step, by default."""


@dataclass(frozen=True, slots=True)
class GroupDetection:
    """The steps of each trace of one group; the indices of ``steps[row]`` are columns of ``frame``.

    ``window`` is where the window of the alert lies in each row, and ``anchor`` the column of the change point from which
    detection begins, -1 without one.
    """

    frame: Frame
    steps: tuple[tuple[Step, ...], ...]
    window: WindowColumns
    anchor: int


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


def _steps_of(values: NDArray[np.float64], clusters: Mapping[int, Cluster], method: str) -> tuple[Step, ...]:
    """Return the steps of one trace at the columns where its clusters step, as far as it moved along.

    ``clusters`` is column to cluster. A column without a value stands for the next one with one.
    """
    held = np.flatnonzero(~np.isnan(values))
    moved: dict[int, Cluster] = {}
    for column in sorted(clusters):
        rank = int(np.searchsorted(held, column))
        if 0 < rank < held.size:
            moved.setdefault(int(held[rank]), clusters[column])
    columns = sorted(moved)
    steps = build_steps(
        values,
        columns,
        method=method,
        scores=[abs(moved[column].regression) for column in columns],
        evidence=[moved[column].evidence for column in columns],
    )
    return tuple(step for step in steps if step.size * moved[step.index].regression > 0)


@dataclass(frozen=True, slots=True)
class _ClusterStep:
    """A step of a cluster in the window of the columns from ``first`` to ``last``, ``width`` measured commits wide."""

    width: int
    column: int
    first: int
    last: int
    cluster: Cluster


def _steps_in_windows(
    values: NDArray[np.float64], columns: NDArray[np.int64], width: int, keys: list[str], alert: Alert
) -> Iterator[_ClusterStep]:
    """Yield the steps of the clusters in each window of ``width`` of the ``columns``."""
    for whole, part in windows(int(columns.size), width):
        block = values[:, columns[whole.start : whole.stop]]
        for found in find_clusters(block, keys, method=alert.method, **alert.parameters):
            if found.step is None or not found.interesting or whole.start + found.step.index not in part:
                continue
            column = int(columns[whole.start + found.step.index])
            yield _ClusterStep(width, column, int(columns[whole.start]), int(columns[whole.stop - 1]), found)


def _chosen(found: Sequence[_ClusterStep]) -> dict[int, Cluster]:
    """Choose the steps of one trace, column to cluster: narrow windows come first.

    A wide window counts for nothing where the trace steps within it in a narrower one: it would find that step again,
    less exactly. At one column the strongest cluster counts.
    """
    chosen: list[_ClusterStep] = []
    for step in sorted(found, key=lambda step: (step.width, -abs(step.cluster.regression), step.column)):
        if not any(other.width < step.width and step.first < other.column <= step.last for other in chosen):
            chosen.append(step)
    by_column: dict[int, Cluster] = {}
    for step in chosen:
        by_column.setdefault(step.column, step.cluster)
    return by_column


def _detect_group(frame: Frame, alert: Alert, known: Mapping[int, Sequence[int]]) -> GroupDetection:
    """Judge the traces of ``frame`` together; ``known`` has the columns of known change points by trace."""
    values = np.asarray(frame.values, dtype=np.float64)
    held = ~np.isnan(values)
    measured: NDArray[np.bool_] = np.any(held, axis=0)

    # Find the window of the group: that of the commits at which any of its traces has a value.
    together = sorted({column for columns in known.values() for column in columns})
    group = window_columns(measured[None, :], alert.window, [together])
    start, count = int(group.start[0]), len(values)
    window = window_columns(held, 0)
    if alert.window:
        window = WindowColumns(*(np.repeat(column, count) for column in (group.reported, group.start, group.anchor)))
    judged = np.asarray(blank_before_window(values, window), dtype=np.float64)
    columns = np.flatnonzero(measured)
    columns = columns[columns >= start]

    # Cluster in windows of each width: they find different steps.
    keys = [trace.key for trace in frame.traces]
    by_row: dict[int, list[_ClusterStep]] = defaultdict(list)
    for width in widths(int(columns.size), narrowest(alert.parameters)):
        for step in _steps_in_windows(judged, columns, width, keys, alert):
            for row in step.cluster.members:
                by_row[row].append(step)

    # Choose for each trace the steps of the narrowest windows that hold them.
    steps = tuple(
        _steps_of(judged[row], _chosen(by_row[row]), alert.method) if row in by_row else () for row in range(count)
    )
    return GroupDetection(frame, steps, window, int(group.anchor[0]))


def detect_groups(store: Store, alert: Alert, line: Line, trace_ids: NDArray[np.int64]) -> Iterator[GroupDetection]:
    """Yield the groups of ``trace_ids`` that ``alert`` judges together, in the order of their values.

    Raises:
        InputError: the parameters are not those of :func:`knickpoint.detect.find_clusters`.
    """
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    traces: list[Trace] = store.traces.get(trace_ids) if alert.group_by else []
    if alert.group_by:
        for trace in traces:
            groups[group_key(alert, trace)].append(trace.id)
    elif len(trace_ids):
        groups[()] = trace_ids.tolist()
    for key in sorted(groups):
        frame = store.frames.read(line, groups[key])
        known = known_columns(store, alert, line, groups[key], first=frame.first)
        yield _detect_group(frame, alert, known)
