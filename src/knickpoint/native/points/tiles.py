"""Hold points tile by tile, and where they belong in a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
