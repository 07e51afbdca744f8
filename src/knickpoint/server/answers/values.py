"""Pack the values of traces as binary numbers, thinned out where there are more than a chart can draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.plots.reduction import thin
from knickpoint.store import Store

__all__ = ["MOST_TRACES", "pack_values", "window"]

MOST_TRACES: Final = 256
"""Traces in one answer."""


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
