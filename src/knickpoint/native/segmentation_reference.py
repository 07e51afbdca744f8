"""The search of the default method in NumPy: the oracle of the tests, and the fallback without a compiler.

``segmentation.c`` does the same in the same order of operations. In both, a *place* is the first point of a new level,
and *noise* is a standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from knickpoint.native.forest import BARS, CERTAIN, Forest, Segmentation
from knickpoint.native.segmentation_paths import (
    MAD,
    SHORTEST,
    SIDE,
    TIE,
    Array,
    Study,
    apart,
    best_place,
    bounded,
    find_places,
    median,
    quantile,
    settle,
)

__all__ = ["segment"]

WINDOW: Final = 100
"""Values of a level that take part in a description, next to the change."""

LIKELY: Final = 6.0
"""Places that cost at most this much more than the best are in the interval of location: a likelihood ratio of 20."""


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


def _describe(series: Study, places: Sequence[int], i: int) -> Array:
    """Return the features of candidate ``i``, in the order of ``detect/data/default.json``."""
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


def _judge(forest: Forest, features: Array, parts: Array | None = None) -> float:
    """Return the log-odds that a candidate is a change; ``parts`` gets what each feature added to it."""
    if not forest.root.size:
        return float(min(features[1], features[3] / 0.75))
    total = forest.base
    for root in forest.root.tolist():
        at = root
        while (by := int(forest.feature[at])) >= 0:
            after = int(forest.below[at] if features[by] <= forest.bound[at] else forest.above[at])
            if parts is not None:
                parts[by] += forest.value[after] - forest.value[at]
            at = after
        total += float(forest.value[at])
    return total


def _chance(x: Array, run: tuple[int, int], others: tuple[slice, slice], band: float) -> tuple[int, float]:
    """Return how many values of a run agree, and how often chance makes such a run, per 1,000 values.

    It is the share of the values beside the run, or on both its sides, that are found at its level, to the power of
    the values that agree; ``others`` are those beside it and those across.
    """
    part = x[run[0] : run[1]]
    centre = median(part)
    agree = int(np.count_nonzero(np.abs(part - centre) <= band))
    if agree < SHORTEST or 3 * agree < 2 * part.size:
        return agree, 1000.0
    beside, across = (x[other] for other in others)
    near, far = (int(np.count_nonzero(np.abs(values - centre) <= band)) for values in (beside, across))
    share = min((near + 0.5) / (beside.size + 1), (near + far + 0.5) / (beside.size + across.size + 1))
    return agree, 1000 * float(share) ** agree


def _prove(series: Study, places: Sequence[int], i: int) -> Array:
    """Return what makes a change certain without the forest, and the half width of its interval of location."""
    x = series.x
    bounds = [0, 0, *places, x.size, x.size]
    earlier, first, place, stop, later = bounds[i : i + 5]
    a, b = max(place - WINDOW, first), min(place + WINDOW, stop)
    local = float(series.noise[max(place - 20, a) : min(place + 20, b)].mean())
    before, after = median(x[a:place]), median(x[place:b])
    jump = abs(after - before)
    band = max(jump / 4, 4 * local)
    agree, chance = 0, 1000.0
    if b - place <= place - a:
        across = slice(stop, min(later, stop + WINDOW))
        agree, chance = _chance(x, (place, b), (slice(a, place), across), band)
    if place - a <= b - place:
        across = slice(max(earlier, first - WINDOW), first)
        other = _chance(x, (a, place), (slice(place, b), across), band)
        if place - a < b - place or other[1] < chance:
            agree, chance = other
    low, high = max(place - SIDE, first + 1), min(place + SIDE, stop - 1)
    part = x[low:high]
    gains = bounded(part - before, series.scale) - bounded(part - after, series.scale)
    profile = np.concatenate(([0.0], np.cumsum(gains)))
    near = np.flatnonzero(profile <= profile.min() + LIKELY) + low
    return np.array([jump / local, agree, chance, np.abs(near - place).max()])


def _certainty(proof: Array) -> float:
    return CERTAIN if any(proof[0] >= jump and proof[2] <= chance for jump, chance in BARS) else 0.0


@dataclass(frozen=True, slots=True)
class _Row:
    """Hold a candidate, examined."""

    features: Array
    proof: Array
    score: float


def _examine(series: Study, forest: Forest, places: Sequence[int], i: int) -> _Row:
    features, proof = _describe(series, places, i), _prove(series, places, i)
    return _Row(features, proof, _judge(forest, features) + _certainty(proof))


def _weakest(scores: Sequence[float]) -> int:
    weakest = 0
    for row, score in enumerate(scores):
        if score < scores[weakest] - TIE:
            weakest = row
    return weakest


def segment(values: Array, forest: Forest, threshold: float, whole_path: bool) -> Segmentation:  # noqa: FBT001
    """Find candidates and drop the weakest until all reach ``threshold``; see :func:`knickpoint.native.segmentation.segment`."""
    written: list[tuple[int, int, _Row]] = []
    n = values.size
    series, places = find_places(values) if n >= 2 * SHORTEST else (None, [])
    if series is not None:
        bounds = [0, *places, n]
        moved = {best_place(series, bounds[k], bounds[k + 1], bounds[k + 2]) for k in range(len(places))}
        places = apart(series, sorted(moved))
        for k in range(len(places)):  # what lost a neighbour has more room
            settle(series, places, k)
        held = [_examine(series, forest, places, k) for k in range(len(places))]
        rounds = 0
        while places and min(row.score for row in held) < threshold:
            weakest = _weakest([row.score for row in held])
            shown = range(len(places)) if whole_path else [weakest]
            written.extend((rounds, places[k], held[k]) for k in shown)
            rounds += 1
            del places[weakest], held[weakest]
            for k in range(max(weakest - 1, 0), min(weakest + 1, len(places))):
                settle(series, places, k)
            for k in range(max(weakest - 2, 0), min(weakest + 2, len(places))):
                held[k] = _examine(series, forest, places, k)
        written.extend((-1, place, row) for place, row in zip(places, held, strict=True))
    rows = [row for _, _, row in written]
    features, proofs = (np.array([getattr(row, name) for row in rows]) for name in ("features", "proof"))
    parts = np.zeros_like(features)
    for row, part in zip(rows, parts, strict=True):
        _judge(forest, row.features, part)
    return Segmentation(
        rounds=np.array([number for number, _, _ in written], np.int32),
        indices=np.array([place for _, place, _ in written], np.int32),
        scores=np.array([row.score for row in rows]),
        features=features.reshape(len(rows), -1) if rows else np.zeros((0, 0)),
        parts=parts.reshape(len(rows), -1) if rows else np.zeros((0, 0)),
        proofs=proofs.reshape(len(rows), 4),
        facts=(series.scale, series.phi, series.square, series.tail) if series else (0.0, 0.0, 0.0, 0.0),
    )
