"""Compare pairs of samples by ranks in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib

Floats = NDArray[np.float64]


def compare_ranks(values: Floats, rows: int, step: int, n: int, m: int) -> tuple[Floats, Floats, Floats]:
    """Compare pairs of samples; see the reference."""
    found = np.empty((3, rows))
    if lib.kp_ranks(values, rows, step, n, m, *found):
        raise MemoryError
    return found[0], found[1], found[2]
