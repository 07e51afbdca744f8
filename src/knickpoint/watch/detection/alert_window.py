"""Say which part of a history an alert with a window looks at, and in which part of that it reports.

It reports changes after the first of its last ``window`` values. To judge these it looks further back: at as many values
again, and to its last change point before the window where that lies further back, so that the stable region before the
first step is whole. What stands before the window is neither judged nor taken back. The record is
``docs/decisions/0126-what-an-alert-with-a-window-looks-at.md``.
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

__all__ = ["Spans", "known_columns", "spans_of", "within"]


@dataclass(frozen=True, slots=True)
class Spans:
    """Columns of a frame, one of each kind for each of its rows.

    A step counts when its column is after ``reported``, the first value of the window. ``start`` is the first column
    that is looked at, and ``anchor`` that of the last known change point up to ``reported``, -1 without one.
    """

    reported: NDArray[np.int64]
    start: NDArray[np.int64]
    anchor: NDArray[np.int64]


def _first(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the first true column of each row, the number of columns where there is none."""
    return np.where(mask.any(axis=1), mask.argmax(axis=1) if mask.shape[1] else 0, mask.shape[1]).astype(np.int64)


def spans_of(held: NDArray[np.bool_], window: int, known: Sequence[Sequence[int]] = ()) -> Spans:
    """Say where an alert with ``window`` (0 for all) looks in rows of which ``held`` says what is measured.

    ``known`` has the columns of each row's change points that the alert knows; none are needed without a window.
    """
    measured = _first(held)
    anchor = np.full(len(held), -1, dtype=np.int64)
    if not window:
        return Spans(measured, measured, anchor)
    newer = np.cumsum(held[:, ::-1], axis=1)[:, ::-1]
    reported = _first(held & (newer <= window))
    start = _first(held & (newer <= 2 * window))
    for row, columns in enumerate(known):
        before = [column for column in columns if column <= reported[row]]
        if before and reported[row] > measured[row]:
            anchor[row] = max(before)
            start[row] = min(start[row], anchor[row])
    return Spans(reported, start, anchor)


def within(values: NDArray[np.floating[Any]], spans: Spans) -> NDArray[np.floating[Any]]:
    """Return ``values`` (traces x commits) without those before the start of their span."""
    if not (spans.start > 0).any():
        return values
    return np.where(np.arange(values.shape[1]) < spans.start[:, None], np.nan, values)


def known_columns(
    store: Store, alert: Alert, line: Line, trace_ids: Sequence[int], *, first: int = 0
) -> Mapping[int, Sequence[int]]:
    """Return the columns, counted from position ``first`` of ``line``, at which ``alert`` saw changes, by trace.

    Nothing is read for an alert without a window, because it needs none.
    """
    if not alert.window:
        return {}
    return {
        key: [line.positions[slot] - first for slot in slots if slot in line.positions]
        for key, slots in store.findings.sightings.slots(alert.name, trace_ids).items()
    }
