"""Extend partitions of sorted numbers in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib


def extend_partition(
    former: NDArray[np.float64], weight: NDArray[np.float64], value: NDArray[np.float64], square: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return cost and beginning of the last group of every prefix; see the reference."""
    cost = np.full(former.size, np.inf)
    begin = np.zeros(former.size, np.int64)
    lib.kp_layer(
        former,
        weight,
        value,
        square,
        former.size,
        cost,
        begin,
    )
    return cost, begin
