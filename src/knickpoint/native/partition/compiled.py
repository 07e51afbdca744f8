"""Extend partitions of sorted numbers in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib, pointer

__all__ = ["extend_partition"]


def extend_partition(
    former: NDArray[np.float64], weight: NDArray[np.float64], value: NDArray[np.float64], square: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return cost and beginning of the last group of every prefix; see the reference."""
    cost = np.full(former.size, np.inf)
    begin = np.zeros(former.size, np.int64)
    lib.kp_layer(
        pointer("double[]", former),
        pointer("double[]", weight),
        pointer("double[]", value),
        pointer("double[]", square),
        former.size,
        pointer("double[]", cost),
        pointer("int64_t[]", begin),
    )
    return cost, begin
