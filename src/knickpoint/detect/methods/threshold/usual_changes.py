"""How unusual each change is among all changes of a series, in robust standard deviations.

The scale is the median of absolute deviations, or their mean where most changes are equal (Iglewicz and Hoaglin 1993).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit
from knickpoint.model.normal_noise import MAD

__all__ = ["deviations_of", "usual_deviations"]

_MEAN: Final = 1.2533
"""Factors from the median and from the mean of absolute deviations to the standard deviation of normal noise."""

_FEWEST: Final = 14
"""How many changes define what is usual; with fewer, none is unusual."""

Floats = NDArray[np.float64]


def usual_deviations(changes: Floats) -> Floats:
    """Return |change - median of all| in robust standard deviations: 0 where there are too few changes, ``nan`` kept.

    The scale is the median of the absolute deviations; where that is 0, because most changes are equal, their mean.
    """
    known = changes[~np.isnan(changes)]
    if known.size < _FEWEST:
        return np.where(np.isnan(changes), np.nan, 0.0)
    deviations = np.abs(changes - np.median(known))
    scale = MAD * float(np.nanmedian(deviations)) or _MEAN * float(np.nanmean(deviations))
    return deviations / scale if scale else deviations


def deviations_of(values: Floats, before: Floats) -> Floats:
    """Return the usual deviations of the changes from ``before`` (``nan`` where there is none) to ``values``."""
    unit = safe_unit(values)
    return usual_deviations(values / unit - before / unit)
