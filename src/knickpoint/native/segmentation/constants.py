"""The constants of the search of the default method; ``exports.h`` has the same for C, and a test compares the two."""

from __future__ import annotations

from typing import Final

WINDOW: Final = 100
"""Values of a level that take part in a description, next to the change."""

SHORTEST: Final = 3
"""Values that a level must have."""

REACH: Final = 8
"""Points that a place may move to where the two levels explain the values best."""

SIDE: Final = 40
"""Values on each side that give the two levels when a place moves."""

LEVELS: Final = 64
"""Levels that a path may take: half of them quantiles of the values, half evenly spaced."""

CAP: Final = 9.0
"""What a value costs at most: as much as 3 standard deviations off."""

TIE: Final = 1e-9
"""What differs by less is equal: rounding decides nothing."""

FAR: Final = 5.0
"""Three values in a row so many standard deviations off are a candidate, even where no path changes."""

LIKELY: Final = 6.0
"""Places that cost at most this much more than the best are in the interval of location: a likelihood ratio of 20."""

BARS: Final = ((7.0, 0.02), (20.0, 0.5))
"""What makes a change certain: a jump of so much noise, and at most so many runs per 1,000 values by chance."""

CERTAIN: Final = 10.0
"""What certainty adds to the log-odds."""
