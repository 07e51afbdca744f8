"""What the store does with every value: make it small where that loses nothing, and lay points out as a matrix."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.kernel import COMPILED
from knickpoint.native.point_tiles import PointTiles

__all__ = ["lay", "narrowed"]


def narrowed(values: NDArray[np.float64]) -> tuple[NDArray[np.float32], bool, bool]:
    """Return contiguous ``values`` as float32, whether that lost nothing (NaN stays NaN), and whether all are finite."""
    if COMPILED:
        from knickpoint.native.points_compiled import narrowed as chosen
    else:
        from knickpoint.native.points_reference import narrowed as chosen
    return chosen(values)


def lay(  # noqa: PLR0917  # as the kernel
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
    if COMPILED and sys.byteorder == "little":
        from knickpoint.native.points_compiled import lay as chosen
    else:
        from knickpoint.native.points_reference import lay as chosen
    chosen(tiles, ids, chunk, columns, low, values)
