"""Describe the levels of a series in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


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


def describe_regions(values: NDArray[np.float64], bounds: Sequence[int]) -> list[Region | None]:
    """Describe the measured values from each of the ascending ``bounds`` to the next, None where there is none.

    The variance has the divisor ``count - 1``; it is 0 for one value and for equal values.
    """
    return [_region(values, first, stop) for first, stop in itertools.pairwise(bounds)]


def level_medians(values: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    """Return the median of each level of ``values``, the first of which begins at 0, the others at ``places``.

    It is ``nan`` where a level has no measured value.
    """
    regions = describe_regions(values, [0, *places, values.size])
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
