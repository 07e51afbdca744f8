"""Describe the level between two steps: count, extremes, median, mean, variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.choice import choose
from knickpoint.native.regions import reference
from knickpoint.native.regions.reference import Region

__all__ = ["Region", "describe_regions", "level_medians", "median_of"]

describe_regions = choose(reference.describe_regions)
level_medians = choose(reference.level_medians)


def median_of(values: NDArray[np.float64]) -> float:
    """Return the median of ``values`` (1-D, not all missing) in a tenth of the time that NumPy takes for a few hundred."""
    return level_medians(values, ()).item()
