"""Describe the level between two steps: count, extremes, median, mean, variance."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib


class Region(NamedTuple):
    """Hold the first and the last measured row of a level, how many rows were measured, and their statistics."""

    first: int
    last: int
    measured: int
    minimum: float
    maximum: float
    median: float
    mean: float
    variance: float


def describe_regions_in_numpy(values: NDArray[np.float64], bounds: Sequence[int]) -> list[Region | None]:
    """Describe the measured values from each of the ascending ``bounds`` to the next, None where there is none.

    The variance has the divisor ``count - 1``; it is 0 for one value and for equal values.
    """
    return [_region(values, first, stop) for first, stop in itertools.pairwise(bounds)]


def level_medians_in_numpy(values: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    """Return the median of each level of ``values``, the first of which begins at 0, the others at ``places``.

    It is ``nan`` where a level has no measured value.
    """
    regions = describe_regions_in_numpy(values, [0, *places, values.size])
    return np.array([np.nan if region is None else region.median for region in regions])


def _region(values: NDArray[np.float64], first: int, stop: int) -> Region | None:
    rows = np.flatnonzero(~np.isnan(values[first:stop]))
    if not rows.size:
        return None
    part = values[first:stop][rows]
    low, high = float(part.min()), float(part.max())
    with np.errstate(over="ignore", invalid="ignore"):
        mean = low if low == high else float(part.mean())
        variance = 0.0 if low == high else float(np.square(part - mean).sum() / (part.size - 1))
        median = float(np.median(part))
    return Region(first + int(rows[0]), first + int(rows[-1]), int(rows.size), low, high, median, mean, variance)


_COUNT, _MEDIAN = 2, 5
"""Columns of what the kernel says of a level."""


def describe_regions_in_c(values: NDArray[np.float64], bounds: Sequence[int]) -> list[Region | None]:
    """Describe the measured values between each two of the ``bounds``; see the reference."""
    return [
        Region(int(first), int(last), int(count), low, high, median, mean, variance) if count else None
        for first, last, count, low, high, median, mean, variance in _described(values, bounds).tolist()
    ]


def level_medians_in_c(values: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    """Return the median of each level of ``values``; see the reference."""
    described = _described(values, [0, *places, values.size])
    return np.where(described[:, _COUNT] > 0, described[:, _MEDIAN], np.nan)


def _described(values: NDArray[np.float64], bounds: Sequence[int]) -> NDArray[np.float64]:
    pieces = len(bounds) - 1
    out, work = np.empty((pieces, 8)), np.empty(values.size)
    lib.kp_regions(values, np.array(bounds, dtype=np.int64), pieces, out, work)
    return out


describe_regions = choose(describe_regions_in_numpy, describe_regions_in_c)
level_medians = choose(level_medians_in_numpy, level_medians_in_c)


def median_of(values: NDArray[np.float64]) -> float:
    """Return the median of ``values`` (1-D, not all missing) in a tenth of the time that NumPy takes for a few hundred."""
    return level_medians(values, ()).item()
