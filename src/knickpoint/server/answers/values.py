"""Pack the values of traces as binary numbers, thinned out where there are more than a chart can draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.plots.reduction import thin
from knickpoint.store import Store
from knickpoint.watch.detection.commit_values import read_summaries

__all__ = ["MOST_TRACES", "WantedValues", "pack_compact_values", "pack_values", "value_factor", "window"]

MOST_TRACES: Final = 256
"""Traces in one answer."""

MOST_SUMMARISED: Final = 16
"""Traces in one answer whose samples are read: they take many times the memory of values."""


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


@dataclass(frozen=True, slots=True)
class WantedValues:
    """Which values of traces on ``line`` are sent: from the position ``first`` to ``last``, thinned out to ``points``.

    Another ``summary`` than the median is made of the samples of each commit; commits with too few have no value.
    """

    line: Line
    traces: Sequence[int]
    first: int
    last: int
    points: int
    summary: Summary = MEDIAN

    def read(self, store: Store) -> NDArray[np.float64]:
        """Return traces x positions, nan where there is no value.

        Raises:
            InputError: samples of more traces are asked for than may be read at a time.
        """
        if self.summary == MEDIAN:
            values = store.frames.values(self.line, self.traces, first=self.first, last=self.last)
            return np.asarray(values, dtype=np.float64)
        if len(self.traces) > MOST_SUMMARISED:
            raise InputError(
                f"the request asks for the samples of {len(self.traces)} traces",
                where="traces",
                remedy=f"Name at most {MOST_SUMMARISED} with a summary.",
            )
        frame = store.frames.read(self.line, self.traces, first=self.first, last=self.last)
        return read_summaries(store, frame, self.summary)


def pack_values(store: Store, wanted: WantedValues) -> bytes:
    """Return the measured values of some traces.

    Everything is little-endian float64. One trace after the other, in the order of ``traces``: the number n of
    points, the number of measured commits (more than n where values were thinned out), n positions, n values.
    """
    pieces: list[NDArray[np.float64]] = []
    for measured, positions, values in _thinned(store, wanted):
        pieces += [np.array([len(values), measured], dtype=np.float64), positions.astype(np.float64), values]
    return np.concatenate(pieces).astype("<f8").tobytes() if pieces else b""


def pack_compact_values(store: Store, wanted: WantedValues) -> bytes:
    """Return what ``pack_values`` returns in half as many bytes, with about seven digits of each value.

    Little-endian, one trace after the other: n and the number of measured commits as uint32, the factor that its
    values are multiplied with as float64 (1 unless they are out of the range of float32), n distances from the
    position before as uint32 (the first one from 0), n values as float32. Distances repeat, so they compress well.
    """
    pieces: list[bytes] = []
    for measured, positions, values in _thinned(store, wanted):
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


def _thinned(store: Store, wanted: WantedValues) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield the number of measured commits, the kept positions and their values of each trace."""
    for row in wanted.read(store):
        positions = np.flatnonzero(~np.isnan(row))
        kept = thin(row[positions], wanted.points)
        yield len(positions), positions[kept] + wanted.first, row[positions[kept]]
