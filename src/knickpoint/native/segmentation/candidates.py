"""Describe a series and its noise, find candidates, place each where it fits best, and prove some without the forest.

Each stage explains its idea in its twin: ``noise.c``, ``paths.c``, ``places.c`` and ``proof.c``. Candidates lie where
cheapest paths over a grid of levels change, and at the ends of runs that lie far off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.distribution import MAD
from knickpoint.native.segmentation.constants import (
    BARS,
    CAP,
    CERTAIN,
    FAR,
    LEVELS,
    LIKELY,
    REACH,
    SHORTEST,
    SIDE,
    TIE,
    WINDOW,
)

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Series:
    """Hold a series and what is known of its noise.

    ``noise`` is per point and ``scale`` for all, both standard deviations; ``residual`` is what remains of the values
    ``x`` without their levels. The rest describes the residuals in units of ``scale``: ``phi`` their autocorrelation at
    lag one, ``memory`` its sum over six lags, ``square`` their mean square, ``tail`` the share beyond 4, ``weight`` the
    90 % quantile of their size over the median; and the values: ``distinct`` the share of distinct ones, ``drift`` how
    far the medians of eighths lie apart, ``two`` the share of their squares that two levels explain, and how often they
    go from one to the other.
    """

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
    two: tuple[float, float]


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


def _noise_between(x: Array) -> float:
    """Return the noise between neighbours, from differences at lag 1 and 2."""
    best = max(MAD * median(np.abs(x[lag:] - x[:-lag])) / np.sqrt(2.0) for lag in (1, 2))
    if best > 0:
        return float(best)
    # More than half of the differences are 0: the trimmed mean of all shows how coarse the values are.
    kept = int(0.9 * (x.size - 1))
    return float(0.8862 * np.sort(np.abs(np.diff(x)))[:kept].sum() / kept) if kept else 0.0


def study_values(x: Array, ordered: Array) -> float:
    """Return the noise between neighbours, 0 where nothing varies; ``ordered`` are the values, ascending."""
    width, largest = float(ordered[-1] - ordered[0]), max(abs(float(ordered[0])), abs(float(ordered[-1])))
    if not width > 1e-13 * largest:
        return 0.0
    return max(_noise_between(x), 1e-6 * width, 1e-12 * largest)


def _take_residuals(x: Array, places: Sequence[int]) -> Array:
    """Return the residuals of the values around the median of each level."""
    return np.concatenate([part - median(part) for part in np.split(x, list(places))])


def _autocorrelation(z: Array, lag: int) -> float:
    """Return the autocorrelation at a lag, 0 where nothing varies."""
    centred = z - z.mean()
    total = float((centred * centred).sum())
    return float((centred[lag:] * centred[:-lag]).sum()) / total if total > 0 and z.size > lag else 0.0


def study_noise(x: Array, places: Sequence[int], floor: float, ordered: Array) -> Series:
    """Describe the noise around the levels that begin at ``places``; ``floor`` is that between neighbours.

    ``ordered`` are the values, ascending.
    """
    n, residual = x.size, _take_residuals(x, places)
    size = np.abs(residual)
    everywhere = MAD * median(size)
    scale = min(max(everywhere, floor), 2.5 * floor)

    # The tails
    ratio = size / scale
    by_size = np.sort(size)
    half, most = quantile(by_size, 0.5), quantile(by_size, 0.9)

    # Autocorrelation at lag 1 and over all lags
    clipped = np.clip(residual, -3 * scale, 3 * scale)
    first = _autocorrelation(clipped, 1)
    memory = first
    for lag in range(2, 7):
        if lag < n // 4:
            memory += _autocorrelation(clipped, lag)

    # The noise around each point, every 4 points, drawn towards that of the whole series
    noise = np.full(n, max(everywhere, scale))
    if n >= 30:
        for t in range(0, n, 4):
            near = MAD * median(size[max(0, t - 20) : t + 21])
            mixed = 0.35 * everywhere + 0.65 * near
            noise[t : t + 4] = min(max(mixed, 0.5 * scale), 4 * max(scale, everywhere))

    # The medians of eighths of the series
    parts = min(n // 8 + 1, 8)
    medians = [median(x[p * n // parts : (p + 1) * n // parts]) for p in range(parts)]
    return Series(
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
        two=_two_levels(x, ordered),
    )


def _two_levels(x: Array, ordered: Array) -> tuple[float, float]:
    """Return the share of the squares that the best two levels explain, and how often ``x`` goes from one to the other.

    Each has a tenth of the values or more. A fiftieth at either end does not count: these may be outliers.
    """
    cut = ordered.size // 50
    kept = ordered[cut : ordered.size - cut]
    fewest = max(6, (kept.size + 5) // 10)
    if kept.size < 2 * fewest:
        return 0.0, 0.0
    centred = kept - kept.mean()
    places = np.arange(fewest, kept.size - fewest + 1)
    between = np.square(np.cumsum(centred)[places - 1]) * kept.size / (places * (kept.size - places))
    squares, best = float(centred @ centred), int(np.argmax(between))
    above = x >= kept[places[best]]
    return float(between[best]) / squares if squares > 0 else 0.0, float(np.count_nonzero(above[1:] != above[:-1]))


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


def bounded(distance: Array, noise: float) -> Array:
    """Return squared distances in noise, none beyond ``CAP``."""
    return np.minimum(np.square(distance * (1.0 / noise)), CAP)


def _best_place(series: Series, first: int, place: int, stop: int) -> int:
    """Return the cheapest place within ``REACH``, given the medians of its two sides."""
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


def _gap_at(x: Array, place: int) -> float:
    """Return the gap between the values next to a place without any overlap; negative with."""
    before, after = x[place - SHORTEST : place], x[place : place + SHORTEST]
    return float(max(after.min() - before.max(), before.min() - after.max()))


def _keep_apart(series: Series, places: Sequence[int]) -> list[int]:
    """Drop places too close to an end; of two too close to each other keep the one with the wider gap."""
    kept: list[int] = []
    for place in places:
        if not SHORTEST <= place <= series.x.size - SHORTEST:
            continue
        if not kept or place - kept[-1] >= SHORTEST:
            kept.append(place)
        elif _gap_at(series.x, place) > _gap_at(series.x, kept[-1]) + TIE * series.scale:
            kept[-1] = place
    return kept


def relocate(series: Series, places: list[int], i: int) -> None:
    """Move a place to the best one where that leaves all levels long enough."""
    bounds = [0, *places, series.x.size]
    before, after = bounds[i], bounds[i + 2]
    place = _best_place(series, before, places[i], after)
    if place - before >= SHORTEST and after - place >= SHORTEST:
        places[i] = place


def place_candidates(series: Series, places: Sequence[int]) -> list[int]:
    """Move each to its best place, and drop what is then too close to another or to an end."""
    bounds = [0, *places, series.x.size]
    moved = {_best_place(series, *bounds[i : i + 3]) for i in range(len(places))}
    kept = _keep_apart(series, sorted(moved))
    for i in range(len(kept)):  # a candidate that lost a neighbour has more room
        relocate(series, kept, i)
    return kept


def _chance_of_run(x: Array, run: tuple[int, int], others: tuple[slice, slice], band: float) -> tuple[int, float]:
    """Return the number of values of a run that agree, and the chance of such a run, per 1,000 values.

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


def prove(series: Series, places: Sequence[int], i: int) -> Array:
    """Return the proof of a change without the forest, and the half width of its interval of location."""
    x = series.x
    bounds = [0, 0, *places, x.size, x.size]
    earlier, first, place, stop, later = bounds[i : i + 5]
    a, b = max(place - WINDOW, first), min(place + WINDOW, stop)
    local = float(series.noise[max(place - 20, a) : min(place + 20, b)].mean())
    before, after = median(x[a:place]), median(x[place:b])
    jump = abs(after - before)
    band = max(jump / 4, 4 * local)

    # The run is the shorter side, or of two equal ones the less likely
    agree, chance = 0, 1000.0
    if b - place <= place - a:
        across = slice(stop, min(later, stop + WINDOW))
        agree, chance = _chance_of_run(x, (place, b), (slice(a, place), across), band)
    if place - a <= b - place:
        across = slice(max(earlier, first - WINDOW), first)
        other = _chance_of_run(x, (a, place), (slice(place, b), across), band)
        if place - a < b - place or other[1] < chance:
            agree, chance = other

    # The places whose cost, next to the least, is still likely
    low, high = max(place - SIDE, first + 1), min(place + SIDE, stop - 1)
    part = x[low:high]
    gains = bounded(part - before, series.scale) - bounded(part - after, series.scale)
    profile = np.concatenate(([0.0], np.cumsum(gains)))
    near = np.flatnonzero(profile <= profile.min() + LIKELY) + low
    return np.array([jump / local, agree, chance, np.abs(near - place).max()])


def certainty(proof: Array) -> float:
    """Return the contribution of the proof to the log-odds."""
    return CERTAIN if any(proof[0] >= jump and proof[2] <= chance for jump, chance in BARS) else 0.0
