"""The numbers that the forest judges a candidate by, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from knickpoint.native.segmentation.noise import MAD, Array, Study, median, quantile
from knickpoint.native.segmentation.places import SHORTEST, SIDE, bounded

__all__ = ["WINDOW", "describe"]

WINDOW: Final = 100
"""Values of a level that take part in a description, next to the change."""


def _strongest_split(part: Array, centre: float, noise: float) -> float:
    """Return the largest standardised difference of means over the splits of a level."""
    m = part.size
    if m < 2 * SHORTEST:
        return 0.0
    clipped = np.clip(part - centre, -2.5 * noise, 2.5 * noise)
    i = np.arange(SHORTEST, m - SHORTEST + 1)
    d = np.cumsum(clipped)[i - 1] - clipped.sum() * i / m
    return float(np.sqrt((d * d * m / (i * (m - i)).astype(float)).max())) / noise


def _strongest_run(part: Array, m: int, centre: float, noise: float, sign: float) -> tuple[float, float]:
    """Return how far a mean of ``m`` values in a row strays: towards the sign, and either way."""
    sums = np.concatenate(([0.0], np.cumsum(np.clip(part - centre, -4 * noise, 4 * noise))))
    means = (sums[m:] - sums[:-m]) * sign / m
    return max(float(means.max()), 0.0) / noise, float(np.abs(means).max()) / noise


def _side(values: Array) -> tuple[float, float, float]:
    """Return the median, and the mean and the sum of squares of what is clipped at 2.5 deviations."""
    middle = median(values)
    mad = MAD * median(np.abs(values - middle))
    reach = 2.5 * mad if mad > 0 else np.inf
    clipped = np.clip(np.sort(values) - middle, -reach, reach)
    mean = float(clipped.mean())
    return middle, middle + mean, float(np.square(clipped - mean).sum())


def _uncertainty(series: Study, bounds: tuple[int, int, int], before: float, after: float) -> float:
    """Return the standard deviation of the place, in points, around the best one."""
    first, place, stop = bounds
    low, high = max(place - 10, first + 1), min(place + 10, stop - 1)
    if high <= low:
        return 0.0
    part = series.x[low:high]
    gains = bounded(part - before, series.scale) - bounded(part - after, series.scale)
    profile = np.concatenate(([0.0], np.cumsum(gains)))
    mass = np.exp(-0.5 * (profile - profile.min()))
    offset = np.arange(profile.size) - int(profile.argmin())
    return float(np.sqrt((mass * offset * offset).sum() / mass.sum()))


def _return(series: Study, bounds: Sequence[int], i: int, before: float, after: float) -> float:
    """Return how near the level beyond the next change, or the one before the last, is to the other side."""
    x, first, stop = series.x, bounds[i], bounds[i + 2]
    distances = []
    if i + 3 < len(bounds):
        distances.append(abs(median(x[stop : min(bounds[i + 3], stop + SIDE)]) - before) / series.scale)
    if i > 0:
        distances.append(abs(median(x[max(bounds[i - 1], first - SIDE) : first]) - after) / series.scale)
    return min(distances, default=0.0)


def describe(series: Study, places: Sequence[int], i: int) -> Array:
    """Return the features of candidate ``i``, in the order of ``detect/methods/default/forest.json``."""
    x, n, scale = series.x, series.x.size, series.scale
    bounds = [0, *places, n]
    first, place, stop = bounds[i], bounds[i + 1], bounds[i + 2]
    left, right = x[max(place - WINDOW, first) : place], x[place : min(place + WINDOW, stop)]
    na, nb = left.size, right.size
    m, whole = min(na, nb), min(place - first, stop - place)
    median_a, mean_a, square_a = _side(left)
    median_b, mean_b, square_b = _side(right)
    near = series.noise[max(place - 20, place - na) : min(place + 20, place + nb)]
    local = float(near.mean())
    variance_a = max((square_a + 6 * local * local) / (na + 5), 0.5 * local * local)
    variance_b = max((square_b + 6 * local * local) / (nb + 5), 0.5 * local * local)
    jump = mean_b - mean_a
    size, sign = abs(jump), 1.0 if jump >= 0 else -1.0
    t = size / np.sqrt(variance_a / na + variance_b / nb)
    inflate = np.sqrt((1 + series.phi) / (1 - series.phi))
    need = np.sqrt(2 * np.log(np.e * n / m))
    ordered = np.sort(left)
    low, high = np.searchsorted(ordered, right, "left"), np.searchsorted(ordered, right, "right")
    share = float((low + 0.5 * (high - low)).sum()) / (na * nb)
    z = abs(share - 0.5) * np.sqrt(12.0 * na * nb / (na + nb + 1.0))
    middle = 0.5 * (median_a + median_b)
    outside_a, outside_b = x[max(0, first - WINDOW) : first], x[stop : stop + WINDOW]
    seen = np.count_nonzero((outside_a - middle) * sign > 0) + np.count_nonzero((outside_b - middle) * sign < 0)
    outside = outside_a.size + outside_b.size
    inner = max(_strongest_split(left, median_a, local), _strongest_split(right, median_b, local))
    plain = size / (local * np.sqrt(1.0 / na + 1.0 / nb))
    nearest = (median(right[:8]) - median(left[-8:])) * sign / local
    trend_a = (median(left[na // 2 :]) - median(left[: na // 2])) * sign / scale if na >= 8 else 0.0
    trend_b = (median(right[nb // 2 :]) - median(right[: nb // 2])) * sign / scale if nb >= 8 else 0.0
    centre = median(np.concatenate((left, right)))
    gain = float(
        (bounded(left - centre, local) - bounded(left - median_a, local)).sum()
        + (bounded(right - centre, local) - bounded(right - median_b, local)).sum()
    )
    longest = max(na, nb)
    run = min(m, longest // 2)
    if na >= nb:
        runs = _strongest_run(left, run, median_a, local, sign)
        beyond = np.count_nonzero((left - median_b) * sign >= 0)
    else:
        runs = _strongest_run(right, run, median_b, local, -sign)
        beyond = np.count_nonzero((right - median_a) * sign <= 0)
    lower, upper = (left, right) if sign > 0 else (right, left)
    gap = quantile(np.sort(upper), 0.25) - quantile(np.sort(lower), 0.75)
    features = np.array(
        [
            t,
            t / inflate - need,
            z,
            z / inflate - need,
            size / scale,
            abs(median_b - median_a) / scale,
            size / local,
            abs(share - 0.5) * 2,
            na,
            nb,
            min(whole, WINDOW),
            min(n, 400),
            series.phi,
            series.square,
            series.tail,
            series.drift,
            _uncertainty(series, (first, place, stop), median_a, median_b),
            np.log(variance_a / variance_b),
            (float(right[:5].mean()) - median_a) * sign / scale,
            float(stop == n),
            _return(series, bounds, i, median_a, median_b),
            100.0 * len(places) / n,
            inner,
            plain - inner,
            float(((right[:3] - median_a) * sign / local).min()),
            float(((median_b - left[-3:]) * sign / local).min()),
            seen / outside if outside else -0.1,
            series.memory,
            nearest,
            np.count_nonzero((right - middle) * sign < 0) / nb,
            np.count_nonzero((left - middle) * sign > 0) / na,
            series.weight,
            gain / need,
            series.distinct,
            trend_a,
            trend_b,
            plain / inflate,
            size * m / scale,
            size / local - runs[0],
            size / local - runs[1],
            beyond / longest,
            gap / local,
            m * np.log((beyond + 1) / (longest + 1)),
        ]
    )
    clipped: Array = np.clip(features, -1e6, 1e6)
    return clipped
