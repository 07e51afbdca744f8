"""Find the cheapest level of each value in Python."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

MOST_LEVELS: Final = 64
"""The most levels that there may be."""


def likeliest_modes(
    values: NDArray[np.float64], levels: NDArray[np.float64], noise: float, furthest: float, switch: float
) -> NDArray[np.int64]:
    """Return the cheapest of ``levels`` for each of ``values``, with a price for distance and for switches.

    A value costs half the squared distance in ``noise``, at most ``furthest``. This is the algorithm of Viterbi; each
    switch costs the same, so a step of it takes time linear in the levels, of which there are at most 64.
    """
    distances = np.minimum(((values[:, None] - levels) / noise) ** 2 / 2, furthest).tolist()
    cheapest, came_from = list(distances[0]), []
    for row in distances[1:]:
        best = min(cheapest)
        origin, entry = cheapest.index(best), best + switch
        came_from.append([mode if cost <= entry else origin for mode, cost in enumerate(cheapest)])
        cheapest = [min(cost, entry) + distance for cost, distance in zip(cheapest, row, strict=True)]
    mode = cheapest.index(min(cheapest))
    backwards = [mode]
    for row_from in reversed(came_from):
        mode = row_from[mode]
        backwards.append(mode)
    return np.array(backwards[::-1], np.int64)
