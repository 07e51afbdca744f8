"""Look at traces together: clusters of one shape whose centroid steps, window by window.

A centroid has one step, so long histories are cut into windows that overlap by half. Their places depend on
the number of measured commits alone: what arrives later does not shift the windows of the past.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import cluster
from knickpoint.detect.regions import build_steps
from knickpoint.model.alert import Alert
from knickpoint.model.cluster import Cluster
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.step import Step
from knickpoint.store import Store
from knickpoint.watch.seeing import group_key

__all__ = ["WINDOW", "Grouped", "look_together", "windows"]

WINDOW: Final = 50
"""Measured commits that are clustered at a time, unless the alert says otherwise."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """The steps of each trace of one group: ``steps[row]`` are columns of ``frame``."""

    frame: Frame
    steps: tuple[tuple[Step, ...], ...]


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
    places: dict[int, Cluster] = {}
    for column in sorted(clusters):
        rank = int(np.searchsorted(held, column))
        if 0 < rank < held.size:
            places.setdefault(int(held[rank]), clusters[column])
    columns = sorted(places)
    steps = build_steps(
        values,
        columns,
        method=method,
        scores=[abs(places[column].regression) for column in columns],
        evidence=[places[column].evidence for column in columns],
    )
    return tuple(step for step in steps if step.size * places[step.index].regression > 0)


def _cluster_group(frame: Frame, alert: Alert, parameters: Mapping[str, Any]) -> Grouped:
    values = np.asarray(frame.values, dtype=np.float64)
    columns = np.flatnonzero(~np.isnan(values).all(axis=0))
    keys = [trace.key for trace in frame.traces]
    at: dict[int, dict[int, Cluster]] = defaultdict(dict)
    for whole, part in windows(int(columns.size), alert.window or WINDOW):
        block = values[:, columns[whole.start : whole.stop]]
        for found in cluster(block, keys, **parameters):
            if found.step is None or not found.interesting or whole.start + found.step.index not in part:
                continue
            column = int(columns[whole.start + found.step.index])
            for row in found.members:
                at[row][column] = found
    steps = tuple(_steps_of(values[row], at[row], alert.method) if row in at else () for row in range(len(values)))
    return Grouped(frame, steps)


def look_together(store: Store, alert: Alert, line: Line, trace_ids: NDArray[np.int64]) -> Iterator[Grouped]:
    """Yield the groups of ``trace_ids`` that ``alert`` judges together, in the order of their values.

    Raises:
        InputError: the parameters are not those of :func:`knickpoint.detect.cluster`.
    """
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    traces: list[Trace] = store.traces.get(trace_ids) if alert.group_by else []
    if alert.group_by:
        for trace in traces:
            groups[group_key(alert, trace)].append(trace.id)
    elif len(trace_ids):
        groups[()] = trace_ids.tolist()
    for key in sorted(groups):
        yield _cluster_group(store.frames.read(line, groups[key]), replace(alert, method="cluster"), alert.parameters)
