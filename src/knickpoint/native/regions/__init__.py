"""Describe the level between two steps: count, extremes, median, mean, variance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.choice import choose
from knickpoint.native.regions import reference
from knickpoint.native.regions.reference import Region

__all__ = ["Region", "describe_regions", "level_medians"]

describe_regions = choose(reference.describe_regions)


def level_medians(values: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    """Return the median of each level of ``values``, the first of which begins at 0, the others at ``places``.

    It is ``nan`` where a level has no measured value.
    """
    regions = describe_regions(values, [0, *places, values.size])
    return np.array([np.nan if region is None else region.median for region in regions])
