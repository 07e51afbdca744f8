"""Describe the levels of a series in C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib
from knickpoint.native.regions.reference import Region


def describe_regions(values: NDArray[np.float64], bounds: Sequence[int]) -> list[Region | None]:
    """Describe the measured values between each two of the ``bounds``; see the reference."""
    pieces = len(bounds) - 1
    out, work = np.empty((pieces, 8)), np.empty(values.size)
    lib.kp_regions(values, np.array(bounds, dtype=np.int64), pieces, out, work)
    return [
        Region(int(first), int(last), int(count), low, high, median, mean, variance) if count else None
        for first, last, count, low, high, median, mean, variance in out.tolist()
    ]
