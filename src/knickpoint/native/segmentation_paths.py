"""Where a level may begin, in NumPy: two cheapest paths, the noise around them, and the best place of each change.

The first half of what ``segmentation.c`` does; :mod:`knickpoint.native.segmentation_reference` is the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAD",
    "SHORTEST",
    "SIDE",
    "TIE",
    "Array",
    "Study",
    "apart",
    "best_place",
    "bounded",
    "find_places",
    "median",
    "quantile",
    "settle",
]

Array = NDArray[np.float64]

LEVELS: Final = 64
"""Levels that a path may take: half of them quantiles of the values, half evenly spaced."""

SHORTEST: Final = 3
"""Values that a level must have."""

REACH: Final = 8
"""How far a place may move to where the two levels explain the values best."""

SIDE: Final = 40
"""Values on each side that tell the two levels when a place moves."""

MAD: Final = 1.4826
"""Makes the median absolute deviation a standard deviation of normal noise."""

CAP: Final = 9.0
"""A value costs no more than one that is 3 standard deviations off."""

TIE: Final = 1e-9
"""What differs by less is equal: rounding decides nothing."""

FAR: Final = 5.0
"""Three values in a row so many standard deviations off are a candidate, whatever a path says."""


@dataclass(frozen=True, slots=True)
class Study:
    """Hold a series and what is known of its noise; ``noise`` is per point, ``scale`` for all."""

    x: Array
    noise: Array
    residual: Array
    scale: float
    phi: float
    square: float
    tail: float
    memory: float
    weight: float
    distinct: float
    drift: float


def quantile(ordered: Array, share: float) -> float:
    """Return the quantile of ascending values, between two of them in proportion."""
    place = share * (ordered.size - 1)
    low = int(place)
    if low >= ordered.size - 1:
        return float(ordered[-1])
    return float(ordered[low] + (place - low) * (ordered[low + 1] - ordered[low]))


def median(values: Array) -> float:
    """Return the median of values as a plain number."""
    return float(np.median(values))


def _difference_scale(x: Array) -> float:
    best = max(MAD * median(np.abs(x[lag:] - x[:-lag])) / np.sqrt(2.0) for lag in (1, 2))
    if best > 0:
        return float(best)
    # more than half of the differences are 0: the trimmed mean of the rest tells the grain
    kept = int(0.9 * (x.size - 1))
    return float(0.8862 * np.sort(np.abs(np.diff(x)))[:kept].sum() / kept) if kept else 0.0


def _cheapest_path(x: Array, grid: Array, noise: Array, penalty: float, cap: float) -> list[int]:
    """Return the places where the cheapest path over the grid changes its level."""
    loss = np.minimum(np.square((x[:, np.newaxis] - grid) * (1.0 / noise)[:, np.newaxis]), cap)
    cost = loss[0]
    switched = np.zeros((x.size, grid.size), dtype=bool)
    source = np.zeros(x.size, dtype=np.int64)
    for t in range(1, x.size):
        source[t] = cost.argmin()
        other = cost[source[t]] + penalty
        switched[t] = cost > other
        cost = np.minimum(cost, other) + loss[t]
    level = int(cost.argmin())
    places = []
    for t in range(x.size - 1, 0, -1):
        if switched[t, level]:
            places.append(t)
            level = int(source[t])
    return places[::-1]


def _residuals(x: Array, places: Sequence[int]) -> Array:
    return np.concatenate([part - median(part) for part in np.split(x, list(places))])


def _correlation(z: Array, lag: int) -> float:
    centred = z - z.mean()
    total = float((centred * centred).sum())
    return float((centred[lag:] * centred[:-lag]).sum()) / total if total > 0 and z.size > lag else 0.0


def _study(x: Array, residual: Array, floor: float, ordered: Array) -> Study:
    n = x.size
    size = np.abs(residual)
    everywhere = MAD * median(size)
    scale = min(max(everywhere, floor), 2.5 * floor)
    ratio = size / scale
    by_size = np.sort(size)
    half, most = quantile(by_size, 0.5), quantile(by_size, 0.9)
    clipped = np.clip(residual, -3 * scale, 3 * scale)
    first = _correlation(clipped, 1)
    memory = first
    for lag in range(2, 7):
        if lag < n // 4:
            memory += _correlation(clipped, lag)
    noise = np.full(n, max(everywhere, scale))
    if n >= 30:
        for t in range(0, n, 4):
            near = MAD * median(size[max(0, t - 20) : t + 21])
            mixed = 0.35 * everywhere + 0.65 * near
            noise[t : t + 4] = min(max(mixed, 0.5 * scale), 4 * max(scale, everywhere))
    parts = min(n // 8 + 1, 8)
    medians = [median(x[p * n // parts : (p + 1) * n // parts]) for p in range(parts)]
    return Study(
        x=x,
        noise=noise,
        residual=residual,
        scale=scale,
        phi=0.0 if n < 12 else min(max(first + 1.0 / n - 1.0 / np.sqrt(n), 0.0), 0.8),
        square=float(np.square(np.minimum(ratio, 8)).mean()),
        tail=float((ratio > 4).mean()),
        memory=memory,
        weight=min(max(most / half, 0.0), 20.0) if half > 0 else 20.0,
        distinct=float(1 + np.count_nonzero(np.diff(ordered))) / n,
        drift=(max(medians) - min(medians)) / scale,
    )


def find_places(x: Array) -> tuple[Study | None, list[int]]:
    """Return the series with its noise, and the places of a stiff and a loose path."""
    ordered = np.sort(x)
    width, largest = float(ordered[-1] - ordered[0]), max(abs(float(ordered[0])), abs(float(ordered[-1])))
    if not width > 1e-13 * largest:
        return None, []
    scale = max(_difference_scale(x), 1e-6 * width, 1e-12 * largest)
    low, high = quantile(ordered, 0.005), quantile(ordered, 0.995)
    half = LEVELS // 2
    quantiles = [quantile(ordered, 0.005 + 0.99 * j / (half - 1)) for j in range(half)]
    grid = np.array(quantiles + [low + (high - low) * j / (half - 1) for j in range(half)])
    stiff = _cheapest_path(x, grid, np.full(x.size, scale), 2.6 * np.log(x.size), 6.25)
    series = _study(x, _residuals(x, stiff), scale, ordered)
    penalty = 1.2 * np.log(x.size / 5) * np.sqrt((1 + series.phi) / (1 - series.phi))
    return series, _with_far_runs(series, sorted({*stiff, *_cheapest_path(x, grid, series.noise, penalty, 9.0)}))


def _with_far_runs(series: Study, places: list[int]) -> list[int]:
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


def bounded(distance: Array, noise: float) -> Array:
    """Return squared distances in noise, none beyond :data:`CAP`."""
    return np.minimum(np.square(distance * (1.0 / noise)), CAP)


def best_place(series: Study, first: int, place: int, stop: int) -> int:
    """Move a place to where the medians of its two sides explain the values best."""
    x = series.x
    before = median(x[max(place - SIDE, first) : place])
    after = median(x[place : min(place + SIDE, stop)])
    low, high = max(first + 1, place - REACH), min(stop - 1, place + REACH)
    if low > high:
        return place
    part = x[low : high + 1]
    lean = 1.0 / abs(after - before) if before != after else 0.0
    nearer = (np.abs(part - before) - np.abs(part - after)) * lean
    cost = np.cumsum(bounded(part - before, series.scale) - bounded(part - after, series.scale) + nearer)
    best, chosen = 0.0, low
    for step, total in enumerate(cost[:-1].tolist(), start=1):
        if total < best - TIE:
            best, chosen = total, low + step
    return chosen


def _gap(x: Array, place: int) -> float:
    """Return how far the values next to a place lie apart without any overlap; negative with."""
    before, after = x[place - SHORTEST : place], x[place : place + SHORTEST]
    return float(max(after.min() - before.max(), before.min() - after.max()))


def apart(series: Study, places: Sequence[int]) -> list[int]:
    """Drop places too close to an end; of two too close to each other keep the one with the wider gap."""
    kept: list[int] = []
    for place in places:
        if not SHORTEST <= place <= series.x.size - SHORTEST:
            continue
        if not kept or place - kept[-1] >= SHORTEST:
            kept.append(place)
        elif _gap(series.x, place) > _gap(series.x, kept[-1]) + TIE * series.scale:
            kept[-1] = place
    return kept


def settle(series: Study, places: list[int], i: int) -> None:
    """Move a place to the best one where that leaves all levels long enough."""
    bounds = [0, *places, series.x.size]
    before, after = bounds[i], bounds[i + 2]
    place = best_place(series, before, places[i], after)
    if place - before >= SHORTEST and after - place >= SHORTEST:
        places[i] = place
