"""Describe the levels of a series in C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib
from knickpoint.native.regions.reference import Region

_COUNT, _MEDIAN = 2, 5
"""Columns of what the kernel says of a level."""


def describe_regions(values: NDArray[np.float64], bounds: Sequence[int]) -> list[Region | None]:
    """Describe the measured values between each two of the ``bounds``; see the reference."""
    return [
        Region(int(first), int(last), int(count), low, high, median, mean, variance) if count else None
        for first, last, count, low, high, median, mean, variance in _described(values, bounds).tolist()
    ]


def level_medians(values: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    """Return the median of each level of ``values``; see the reference."""
    described = _described(values, [0, *places, values.size])
    return np.where(described[:, _COUNT] > 0, described[:, _MEDIAN], np.nan)


def _described(values: NDArray[np.float64], bounds: Sequence[int]) -> NDArray[np.float64]:
    pieces = len(bounds) - 1
    out, work = np.empty((pieces, 8)), np.empty(values.size)
    lib.kp_regions(values, np.array(bounds, dtype=np.int64), pieces, out, work)
    return out
