"""Find the cheapest level of each value, where a change of the level has a price."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.modes import reference
from knickpoint.native.modes.reference import MOST_LEVELS

__all__ = ["MOST_LEVELS", "likeliest_modes"]

likeliest_modes = choose(reference.likeliest_modes)
