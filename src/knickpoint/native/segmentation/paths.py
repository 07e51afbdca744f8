"""Find candidates: where cheapest paths over a grid of levels change, and the ends of runs that lie far off.

``paths.c`` is the twin, and explains the idea.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from knickpoint.native.segmentation.constants import FAR, LEVELS, SHORTEST
from knickpoint.native.segmentation.noise import Array, Series, quantile, study_noise


def _cheapest_path(x: Array, grid: Array, noise: Array, penalty: float, cap: float) -> list[int]:
    """Return the places where the cheapest path over the grid changes its level."""
    # Recursion: each level is kept, or reached from the cheapest one for the penalty
    loss = np.minimum(np.square((x[:, np.newaxis] - grid) * (1.0 / noise)[:, np.newaxis]), cap)
    cost = loss[0]
    switched = np.zeros((x.size, grid.size), dtype=bool)
    source = np.zeros(x.size, dtype=np.int64)
    for t in range(1, x.size):
        source[t] = cost.argmin()
        other = cost[source[t]] + penalty
        switched[t] = cost > other
        cost = np.minimum(cost, other) + loss[t]

    # Backtracking from the cheapest end
    level = int(cost.argmin())
    places = []
    for t in range(x.size - 1, 0, -1):
        if switched[t, level]:
            places.append(t)
            level = int(source[t])
    return places[::-1]


def _add_far_runs(series: Series, places: list[int]) -> list[int]:
    """Add the ends of runs of values that lie far off on one side, instead of places too close to them.

    A level may be too short, or too far off the grid, for either path.
    """
    ratio = series.residual / series.noise
    sides = np.sign(ratio) * (np.abs(ratio) > FAR)
    edges = [0, *(np.flatnonzero(np.diff(sides)) + 1).tolist(), ratio.size]
    for first, stop in pairwise(edges):
        if sides[first] and stop - first >= SHORTEST:
            for end in (first, stop):
                if 0 < end < ratio.size:
                    places = [*(place for place in places if abs(place - end) >= SHORTEST), end]
    return sorted(places)


def find_candidates(x: Array, ordered: Array, scale: float) -> tuple[Series, list[int]]:
    """Return the series with its noise, and the candidates of a stiff and a loose path and of far runs, ascending.

    ``ordered`` are the values, ascending, and ``scale`` is the noise between neighbours.
    """
    low, high = quantile(ordered, 0.005), quantile(ordered, 0.995)
    half = LEVELS // 2
    quantiles = [quantile(ordered, 0.005 + 0.99 * j / (half - 1)) for j in range(half)]
    grid = np.array(quantiles + [low + (high - low) * j / (half - 1) for j in range(half)])
    stiff = _cheapest_path(x, grid, np.full(x.size, scale), 2.6 * np.log(x.size), 6.25)
    series = study_noise(x, stiff, scale, ordered)
    penalty = 1.2 * np.log(x.size / 5) * np.sqrt((1 + series.phi) / (1 - series.phi))
    return series, _add_far_runs(series, sorted({*stiff, *_cheapest_path(x, grid, series.noise, penalty, 9.0)}))
