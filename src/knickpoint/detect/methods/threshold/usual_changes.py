"""How far changes are from what changes usually are, in robust standard deviations."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit

__all__ = ["deviations_of", "usual_deviations"]

_MEDIAN: Final = 1.4826
_MEAN: Final = 1.2533
"""What makes the median and the mean of absolute deviations the standard deviation, where noise is normal."""

_FEWEST: Final = 14
"""How many changes it takes to know what is usual; with fewer, none is unusual."""

Floats = NDArray[np.float64]


def usual_deviations(changes: Floats) -> Floats:
    """Return |change - median of all| in robust standard deviations: 0 where there are too few to know, ``nan`` kept.

    The scale is the median of the absolute deviations; where that is 0, because most changes are equal, their mean.
    """
    known = changes[~np.isnan(changes)]
    if known.size < _FEWEST:
        return np.where(np.isnan(changes), np.nan, 0.0)
    away = np.abs(changes - np.median(known))
    scale = _MEDIAN * float(np.nanmedian(away)) or _MEAN * float(np.nanmean(away))
    return away / scale if scale else away


def deviations_of(values: Floats, before: Floats) -> Floats:
    """Return the usual deviations of the changes from ``before`` (``nan`` where there is none) to ``values``."""
    unit = safe_unit(values)
    return usual_deviations(values / unit - before / unit)
