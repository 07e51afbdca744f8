"""Pack the values of traces as binary numbers, thinned out where there are more than a chart can draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.plots.reduction import thin
from knickpoint.store import Store

__all__ = ["MOST_TRACES", "pack_compact_values", "pack_values", "value_factor", "window"]

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
    pieces: list[NDArray[np.float64]] = []
    for measured, positions, values in _thinned(store, line, traces, first=first, last=last, points=points):
        pieces += [np.array([len(values), measured], dtype=np.float64), positions.astype(np.float64), values]
    return np.concatenate(pieces).astype("<f8").tobytes() if pieces else b""


def pack_compact_values(
    store: Store, line: Line, traces: Sequence[int], *, first: int, last: int, points: int
) -> bytes:
    """Return what ``pack_values`` returns in half as many bytes, with about seven digits of each value.

    Little-endian, one trace after the other: n and the number of measured commits as uint32, the factor that its
    values are multiplied with as float64 (1 unless they are out of the range of float32), n distances from the
    position before as uint32 (the first one from 0), n values as float32. Distances repeat, so they compress well.
    """
    pieces: list[bytes] = []
    for measured, positions, values in _thinned(store, line, traces, first=first, last=last, points=points):
        factor = value_factor(values)
        pieces += [
            np.array([len(values), measured], dtype="<u4").tobytes(),
            np.array([factor], dtype="<f8").tobytes(),
            np.diff(positions, prepend=0).astype("<u4").tobytes(),
            (values / factor).astype("<f4").tobytes(),
        ]
    return b"".join(pieces)


def value_factor(values: NDArray[np.float64]) -> float:
    """Return what to divide values by so that the greatest magnitude is in the range of float32."""
    limits = np.finfo(np.float32)
    greatest = float(np.abs(values).max(initial=0.0))
    return 1.0 if greatest == 0 or float(limits.tiny) <= greatest <= float(limits.max) else greatest


def _thinned(
    store: Store, line: Line, traces: Sequence[int], *, first: int, last: int, points: int
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield the number of measured commits, the kept positions and their values of each trace."""
    matrix = np.asarray(store.frames.values(line, traces, first=first, last=last), dtype=np.float64)
    for row in matrix:
        positions = np.flatnonzero(~np.isnan(row))
        kept = thin(row[positions], points)
        yield len(positions), positions[kept] + first, row[positions[kept]]
