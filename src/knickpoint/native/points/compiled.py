"""Narrow values and lay out points in C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib
from knickpoint.native.points.tiles import PointTiles

LOST, WILD = 1, 2
"""The flags that C returns; ``exports.h`` has the same."""


def narrowed(values: NDArray[np.float64]) -> tuple[NDArray[np.float32], bool, bool]:
    """Return ``values`` as float32, whether that lost nothing, and whether all are finite; see the reference."""
    values = np.ascontiguousarray(values)
    small = np.empty(values.shape, dtype=np.float32)
    flags = int(lib.kp_narrow(values, values.size, small))
    return small, not flags & LOST, not flags & WILD


def lay(
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
