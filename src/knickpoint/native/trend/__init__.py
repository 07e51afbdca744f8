"""Fit levels, steps and slow changes robustly, and find the slope that explains most beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib
from knickpoint.native.trend import reference
from knickpoint.native.trend.reference import NO_RATES, Fit, Slopes

SHORTEST: Final = reference.SHORTEST

Floats = NDArray[np.float64]


def fit_levels_in_c(values: Floats, places: Sequence[int], slopes: Slopes) -> Fit:
    """Fit the levels and slopes of ``values``; see the reference."""
    size, steps, count = values.size, len(places), len(slopes)
    series = np.empty((4, size))
    coefficients, facts = np.empty(1 + steps + count), np.empty(2)
    begins, ends = np.array(places, np.int64), np.array(slopes, np.int64)
    if lib.kp_fit_trend(values, size, begins, steps, ends, count, coefficients, series, facts):
        raise MemoryError
    return Fit(coefficients, *series, *facts.tolist())


def explain_slopes_in_c(values: Floats, places: Sequence[int], starts: NDArray[np.int64]) -> Floats:
    """Compute the sum of squares that each slope explains; see the reference."""
    explained = np.empty((starts.size, starts.size))
    begins = np.array(places, np.int64)
    if lib.kp_explain_slopes(values, values.size, begins, begins.size, starts, starts.size, explained):
        raise MemoryError
    return explained


def best_slope_in_c(
    values: Floats, places: Sequence[int], slopes: Slopes = (), rates: Floats = NO_RATES
) -> tuple[int, int, float] | None:
    """Return the slope that explains most of what ``slopes`` leave of ``values``, and how much; see the reference."""
    begins, slope, explained = np.array(places, np.int64), np.empty(2, np.int64), np.empty(1)
    ends, count = np.array(slopes, np.int64), len(slopes)
    found = lib.kp_best_slope(values, values.size, begins, begins.size, ends, rates, count, slope, explained)
    if found < 0:
        raise MemoryError
    return (int(slope[0]), int(slope[1]), explained.item()) if found else None


fit_levels = choose(reference.fit_levels_in_numpy, fit_levels_in_c)
explain_slopes = choose(reference.explain_slopes_in_numpy, explain_slopes_in_c)
best_slope = choose(reference.best_slope_in_numpy, best_slope_in_c)
