"""Find the cheapest level of each value in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib


def likeliest_modes(
    values: NDArray[np.float64], levels: NDArray[np.float64], noise: float, furthest: float, switch: float
) -> NDArray[np.int64]:
    """Return the cheapest of ``levels`` for each value; see the reference."""
    labels = np.empty(values.size, np.int64)
    if lib.kp_likeliest_modes(values, values.size, levels, levels.size, noise, furthest, switch, labels):
        raise MemoryError
    return labels
