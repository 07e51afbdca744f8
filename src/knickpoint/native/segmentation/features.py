"""Describe candidates by the numbers that the forest judges; ``features.c`` is the twin, and explains the idea."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knickpoint.model.distribution import MAD
from knickpoint.native.segmentation.candidates import Array, Series, bounded, median, quantile
from knickpoint.native.segmentation.constants import SHORTEST, SIDE, WINDOW
from knickpoint.native.segmentation.feature_names import FEATURE_NAMES


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
    """Return the largest mean of ``m`` values in a row: towards the sign, and either way."""
    sums = np.concatenate(([0.0], np.cumsum(np.clip(part - centre, -4 * noise, 4 * noise))))
    means = (sums[m:] - sums[:-m]) * sign / m
    return max(float(means.max()), 0.0) / noise, float(np.abs(means).max()) / noise


def _summarise(values: Array) -> tuple[float, float, float]:
    """Return the median, and the mean and the sum of squares of what is clipped at 2.5 deviations."""
    middle = median(values)
    mad = MAD * median(np.abs(values - middle))
    reach = 2.5 * mad if mad > 0 else np.inf
    clipped = np.clip(np.sort(values) - middle, -reach, reach)
    mean = float(clipped.mean())
    return middle, middle + mean, float(np.square(clipped - mean).sum())


def _uncertainty(series: Series, bounds: tuple[int, int, int], before: float, after: float) -> float:
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


def _way_back(series: Series, bounds: Sequence[int], i: int, before: float, after: float) -> float:
    """Return the distance of the level beyond the next change, or before the last one, from the other side."""
    x, first, stop = series.x, bounds[i], bounds[i + 2]
    distances = []
    if i + 3 < len(bounds):
        distances.append(abs(median(x[stop : min(bounds[i + 3], stop + SIDE)]) - before) / series.scale)
    if i > 0:
        distances.append(abs(median(x[max(bounds[i - 1], first - SIDE) : first]) - after) / series.scale)
    return min(distances, default=0.0)


def describe(series: Series, places: Sequence[int], i: int) -> Array:
    """Return the features of candidate ``i``, in the order of ``FEATURE_NAMES``."""
    x, n, scale = series.x, series.x.size, series.scale
    bounds = [0, *places, n]
    first, place, stop = bounds[i], bounds[i + 1], bounds[i + 2]
    left, right = x[max(place - WINDOW, first) : place], x[place : min(place + WINDOW, stop)]
    na, nb = left.size, right.size
    m, whole = min(na, nb), min(place - first, stop - place)

    # The jump: its size and its sign, by which everything below points the same way
    median_a, mean_a, square_a = _summarise(left)
    median_b, mean_b, square_b = _summarise(right)
    near = series.noise[max(place - 20, place - na) : min(place + 20, place + nb)]
    local = float(near.mean())
    variance_a = max((square_a + 6 * local * local) / (na + 5), 0.5 * local * local)
    variance_b = max((square_b + 6 * local * local) / (nb + 5), 0.5 * local * local)
    jump = mean_b - mean_a
    size, sign = abs(jump), 1.0 if jump >= 0 else -1.0

    # t and the rank statistic, what chance over all places needs, and what autocorrelation takes away
    t = size / np.sqrt(variance_a / na + variance_b / nb)
    inflate = np.sqrt((1 + series.phi) / (1 - series.phi))
    need = np.sqrt(2 * np.log(np.e * n / m))
    ordered = np.sort(left)
    low, high = np.searchsorted(ordered, right, "left"), np.searchsorted(ordered, right, "right")
    share = float((low + 0.5 * (high - low)).sum()) / (na * nb)
    z = abs(share - 0.5) * np.sqrt(12.0 * na * nb / (na + nb + 1.0))

    # Values on the wrong side of the middle, beyond the two levels
    middle = 0.5 * (median_a + median_b)
    outside_a, outside_b = x[max(0, first - WINDOW) : first], x[stop : stop + WINDOW]
    seen = np.count_nonzero((outside_a - middle) * sign > 0) + np.count_nonzero((outside_b - middle) * sign < 0)
    outside = outside_a.size + outside_b.size

    # The levels themselves: splits inside them, and trends from half to half
    inner = max(_strongest_split(left, median_a, local), _strongest_split(right, median_b, local))
    plain = size / (local * np.sqrt(1.0 / na + 1.0 / nb))
    nearest = (median(right[:8]) - median(left[-8:])) * sign / local
    trend_a = (median(left[na // 2 :]) - median(left[: na // 2])) * sign / scale if na >= 8 else 0.0
    trend_b = (median(right[nb // 2 :]) - median(right[: nb // 2])) * sign / scale if nb >= 8 else 0.0

    # How much better two levels explain the values than one
    centre = median(np.concatenate((left, right)))
    gain = float(
        (bounded(left - centre, local) - bounded(left - median_a, local)).sum()
        + (bounded(right - centre, local) - bounded(right - median_b, local)).sum()
    )

    # A run as long as the shorter side, in the longer side, shows how far means stray without a change
    longest = max(na, nb)
    run = min(m, longest // 2)
    if na >= nb:
        runs = _strongest_run(left, run, median_a, local, sign)
        beyond = np.count_nonzero((left - median_b) * sign >= 0)
    else:
        runs = _strongest_run(right, run, median_b, local, -sign)
        beyond = np.count_nonzero((right - median_a) * sign <= 0)

    # The gap between the quartiles of the two sides that face each other
    lower, upper = (left, right) if sign > 0 else (right, left)
    gap = quantile(np.sort(upper), 0.25) - quantile(np.sort(lower), 0.75)

    features = {
        "t of the two sides": t,
        "t less chance and autocorrelation": t / inflate - need,
        "rank z": z,
        "rank z less chance and autocorrelation": z / inflate - need,
        "jump / noise": size / scale,
        "jump of medians / noise": abs(median_b - median_a) / scale,
        "jump / noise around it": size / local,
        "separation of the two sides": abs(share - 0.5) * 2,
        "values before": na,
        "values after": nb,
        "values in the shorter level": min(whole, WINDOW),
        "length of the series": min(n, 400),
        "autocorrelation": series.phi,
        "mean square of the noise": series.square,
        "share of outliers": series.tail,
        "drift of the whole series": series.drift,
        "uncertainty of the place": _uncertainty(series, (first, place, stop), median_a, median_b),
        "log ratio of the variances": np.log(variance_a / variance_b),
        "first five values after / noise": (float(right[:5].mean()) - median_a) * sign / scale,
        "reaches the newest value": float(stop == n),
        "return to a level nearby": _way_back(series, bounds, i, median_a, median_b),
        "candidates per 100 values": 100.0 * len(places) / n,
        "strongest split inside a level": inner,
        "lead over the strongest split inside": plain - inner,
        "least of the first three after": float(((right[:3] - median_a) * sign / local).min()),
        "least of the last three before": float(((median_b - left[-3:]) * sign / local).min()),
        "new level seen elsewhere": seen / outside if outside else -0.1,
        "memory over six lags": series.memory,
        "jump of the nearest eight": nearest,
        "wrong side after": np.count_nonzero((right - middle) * sign < 0) / nb,
        "wrong side before": np.count_nonzero((left - middle) * sign > 0) / na,
        "weight of the tails": series.weight,
        "saving over one level": gain / need,
        "share of distinct values": series.distinct,
        "trend before": trend_a,
        "trend after": trend_b,
        "certainty at the noise around it": plain / inflate,
        "jump x length": size * m / scale,
        "lead over the strongest run towards it": size / local - runs[0],
        "lead over the strongest run": size / local - runs[1],
        "share of the longer side beyond": beyond / longest,
        "gap between quartiles": gap / local,
        "log chance of the shorter side": m * np.log((beyond + 1) / (longest + 1)),
    }
    clipped: Array = np.clip([features[name] for name in FEATURE_NAMES], -1e6, 1e6)
    return clipped
