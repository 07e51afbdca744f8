"""Narrow values where that loses nothing, and lay stored points out as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib


@dataclass(frozen=True, slots=True)
class PointTiles:
    """Hold the points of neighbouring traces, tile by tile, and where they belong in a matrix.

    Each of ``points`` holds packed records (uint16 place, uint16 slot, little-endian float of its width in
    ``widths``), by place and then slot; slots count from ``firsts``. They are of the rows ``begins … ends - 1``,
    whose columns ``lefts … rights - 1`` are emptied before. Arrays are int64, one entry a tile.
    """

    points: Sequence[bytes]
    widths: NDArray[np.int64]
    firsts: NDArray[np.int64]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    lefts: NDArray[np.int64]
    rights: NDArray[np.int64]


def narrowed_in_numpy(values: NDArray[np.float64]) -> tuple[NDArray[np.float32], bool, bool]:
    """Return contiguous ``values`` as float32, whether that is lossless (NaN stays NaN), and whether all are finite."""
    with np.errstate(over="ignore"):
        small = values.astype(np.float32)
    finite = bool(np.isfinite(values).all())
    same = small == values
    return small, bool(same.all()) or bool((same | np.isnan(values)).all()), finite


def lay_in_numpy(
    tiles: PointTiles,
    ids: NDArray[np.int64],
    chunk: int,
    columns: NDArray[np.int32],
    low: int,
    values: NDArray[np.floating[Any]],
) -> None:
    """Write the points of ``tiles`` into the matrix ``values`` (contiguous; rows are the sorted ``ids``).

    A trace's place is its id modulo ``chunk``. ``columns[slot - low]`` is the column of a slot, -1 for none. No tile
    may be wider than ``values``.
    """
    facts = (tiles.widths, tiles.firsts, tiles.begins, tiles.ends, tiles.lefts, tiles.rights)
    for number, listed in enumerate(tiles.points):
        width, first, begin, end, left, right = (int(fact[number]) for fact in facts)
        record = np.dtype([("place", "<u2"), ("slot", "<u2"), ("value", f"<f{width}")])
        points = np.frombuffer(listed, dtype=record)
        values[begin:end, left:right] = np.nan
        places = ids[begin:end] % chunk
        starts = np.searchsorted(points["place"], places, "left")
        counts = np.searchsorted(points["place"], places, "right") - starts
        rows = np.repeat(np.arange(begin, end), counts)
        which = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)
        slots = points["slot"][which].astype(np.int64) + first - low
        known = (slots >= 0) & (slots < len(columns))
        rows, which, slots = rows[known], which[known], slots[known]
        here = columns[slots] >= 0
        values[rows[here], columns[slots[here]]] = points["value"][which[here]]


LOST, WILD = 1, 2
"""The flags that C returns; ``exports.h`` has the same."""


def narrowed_in_c(values: NDArray[np.float64]) -> tuple[NDArray[np.float32], bool, bool]:
    """Return ``values`` as float32, whether that lost nothing, and whether all are finite; see the reference."""
    values = np.ascontiguousarray(values)
    small = np.empty(values.shape, dtype=np.float32)
    flags = int(lib.kp_narrow(values, values.size, small))
    return small, not flags & LOST, not flags & WILD


def lay_in_c(
    tiles: PointTiles,
    ids: NDArray[np.int64],
    chunk: int,
    columns: NDArray[np.int32],
    low: int,
    values: NDArray[np.floating[Any]],
) -> None:
    """Write the points of ``tiles`` into the matrix ``values``; see the reference."""
    held = [np.frombuffer(points, dtype=np.uint8) for points in tiles.points]  # keeps alive what C reads
    sizes = np.array([len(points) for points in tiles.points], dtype=np.int64)
    counts = sizes // (4 + tiles.widths)
    facts = np.stack(
        [counts, tiles.widths, tiles.firsts, tiles.begins, tiles.ends, tiles.lefts, tiles.rights],
        axis=1,
        dtype=np.int64,
    )
    lib.kp_lay(
        np.array([points.ctypes.data for points in held], dtype=np.uintp),
        facts,
        len(held),
        ids,
        chunk,
        columns,
        low,
        len(columns),
        values.shape[1],
        values.itemsize == np.dtype(np.float64).itemsize,
        values,
    )


lay = choose(lay_in_numpy, lay_in_c)
narrowed = choose(narrowed_in_numpy, narrowed_in_c)
