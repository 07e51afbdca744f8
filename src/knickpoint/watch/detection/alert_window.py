"""Find the part of a history that an alert with a window detects in, and the part that it reports of.

An alert reports changes after the first of its last ``window`` values. To judge these, it detects from further back: from
as many values again, and from its last change point before the window where that lies further back. So the stable
region before the first reported step is whole. Change points before the window stay as they are. See
``docs/decisions/runs-of-detection.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.store import Store

__all__ = ["WindowColumns", "blank_before_window", "known_columns", "window_columns"]


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
    """Return where a ``window`` (0 for everything) lies in the rows of ``held``, which is true where a value is.

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
