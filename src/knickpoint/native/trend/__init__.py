"""Fit levels, steps and slow changes robustly, and find the slope that explains most beside them."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.trend import reference
from knickpoint.native.trend.reference import SHORTEST

__all__ = ["SHORTEST", "best_slope", "explain_slopes", "fit_levels"]

fit_levels = choose(reference.fit_levels)
explain_slopes = choose(reference.explain_slopes)
best_slope = choose(reference.best_slope)
