"""Find clusters of one shape whose centroid steps, window by window.

A centroid has one step, so a history is cut into windows that overlap by half, of several widths: narrow ones tell
steps that are near each other apart, wide ones find small steps between long stable regions. Where the windows lie
depends on the number of measured commits alone: results that arrive later do not shift the windows of the past. See
``docs/decisions/traces-together.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_clusters
from knickpoint.model.alert import Alert
from knickpoint.model.cluster import Cluster

__all__ = ["Window", "WindowStep", "chosen_steps", "narrowest", "steps_in_window", "widths", "windows", "windows_over"]

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
    """Some measured ``columns`` of a frame, neighbours of each other; a step counts at the places ``counted`` of them."""

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
