"""Pack the values of traces as binary numbers, thinned out where there are more than a chart can draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.store import Store

__all__ = ["MOST_TRACES", "pack_values", "thin", "window"]

MOST_TRACES: Final = 256
"""Traces in one answer."""

_WITH_ENDS: Final = 4
"""The least number of points that has room for the first and the last value in addition to the extremes."""


def window(line: Line, first: int | None, last: int | None) -> tuple[int, int]:
    """Return the positions ``first`` to ``last`` that ``line`` has, both inclusive.

    Where it has none of them, the range is empty: its last position is before its first.

    Raises:
        InputError: ``last`` is before ``first``.
    """
    end = len(line.slots) - 1
    begin = 0 if first is None else first
    stop = end if last is None else min(last, end)
    if last is not None and last < begin:
        raise InputError(f"last={last} is before first={begin}", where="first", remedy="Swap the two.")
    return min(begin, end + 1), stop


def thin(values: NDArray[np.float64], points: int) -> NDArray[np.int64]:
    """Return the indices of at most ``points`` of ``values`` that look the same when drawn.

    The values are cut into runs, and the least and the greatest of each are kept, so that no spike is lost; the
    first and the last value as well where ``points >= 4``. Needs ``points >= 2`` and finite values.
    """
    if len(values) <= points:
        return np.arange(len(values), dtype=np.int64)
    ends_kept = np.array([0, len(values) - 1] if points >= _WITH_ENDS else [], dtype=np.int64)
    runs = (points - len(ends_kept)) // 2
    begins = np.arange(runs, dtype=np.int64) * len(values) // runs
    run = np.repeat(np.arange(runs), np.diff(np.append(begins, len(values))))
    order = np.lexsort((values, run))
    ends = np.append(begins[1:], len(values)) - 1
    return np.unique(np.concatenate([ends_kept, order[begins], order[ends]]))


def pack_values(store: Store, line: Line, traces: Sequence[int], *, first: int, last: int, points: int) -> bytes:
    """Return the measured values of ``traces`` at the positions ``first`` to ``last``.

    Everything is little-endian float64. One trace after the other, in the order of ``traces``: the number n of
    points, the number of measured commits (more than n where values were thinned out), n positions, n values.
    """
    matrix = np.asarray(store.frames.values(line, traces, first=first, last=last), dtype=np.float64)
    pieces: list[NDArray[np.float64]] = []
    for row in matrix:
        positions = np.flatnonzero(~np.isnan(row))
        values = row[positions]
        kept = thin(values, points)
        pieces += [
            np.array([len(kept), len(positions)], dtype=np.float64),
            (positions[kept] + first).astype(np.float64),
            values[kept],
        ]
    return np.concatenate(pieces).astype("<f8").tobytes() if pieces else b""
