"""Find the cheapest level of each value, and the stretches that flip between levels."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.modes import reference
from knickpoint.native.modes.reference import MOST_LEVELS, VisitChances, price_flipping

__all__ = ["MOST_LEVELS", "VisitChances", "divide_visits", "likeliest_modes", "price_flipping"]

likeliest_modes = choose(reference.likeliest_modes)
divide_visits = choose(reference.divide_visits)
