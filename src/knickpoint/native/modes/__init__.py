"""Sort values into modes, and find the stretches that flip between them."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.modes import reference
from knickpoint.native.modes.reference import MOST_LEVELS, VisitChances, price_flipping

__all__ = ["MOST_LEVELS", "VisitChances", "divide_visits", "medians_of_modes", "price_flipping", "sort_into_modes"]

sort_into_modes = choose(reference.sort_into_modes)
medians_of_modes = choose(reference.medians_of_modes)
divide_visits = choose(reference.divide_visits)
