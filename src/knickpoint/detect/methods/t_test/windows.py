"""The windows of the Talos t-test: their weighted means, their variances, and t between the two at each place.

The window before a place is read from the place backwards, so that cumulative sums over one matrix of windows give the
statistics for every length of the window at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Weights = Literal["triangular", "uniform"]

_ROUNDING: Final = 1e-12
"""Differences below this share of the values are rounding, not measurement."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Statistics of windows, one element a window: weighted ``mean``, ``variance`` around it, ``count``, plain ``level``."""

    mean: Floats
    variance: Floats
    count: Floats
    level: Floats


@dataclass(frozen=True, slots=True)
class _Sums:
    """Cumulative sums over the first 1, 2, … values of each window, of distances from its first value.

    Distances keep the digits of the variance whatever the level is. ``placed`` weighs each distance by its position.
    """

    origin: Floats
    plain: Floats
    placed: Floats
    squared: Floats

    @classmethod
    def of(cls, windows: Floats) -> _Sums:
        distance = windows - windows[:, :1]
        position = np.arange(windows.shape[1])
        return cls(
            windows[:, 0],
            np.cumsum(distance, axis=1),
            np.cumsum(distance * position, axis=1),
            np.cumsum(distance * distance, axis=1),
        )

    def first(self, lengths: NDArray[np.int64], weights: Weights) -> Sample:
        """Return the statistics of the first ``lengths[..., i]`` values of window i, a count of 0 where that is 0."""
        rows = np.arange(lengths.shape[-1])
        last = np.maximum(lengths - 1, 0)
        count = np.where(lengths > 0, lengths, np.nan)
        total = self.plain[rows, last]
        offset = total / count
        # The sum of (length - position) * distance over the sum of these weights.
        if weights == "triangular":
            weighted = (count * total - self.placed[rows, last]) / (count * (count + 1) / 2)
        else:
            weighted = offset
        # The sum of (distance - weighted)^2, multiplied out.
        squares = self.squared[rows, last] - 2 * weighted * total + count * weighted * weighted
        variance = np.where(lengths > 1, np.maximum(squares, 0.0) / np.maximum(count - 1, 1), 0.0)
        return Sample(self.origin + weighted, variance, lengths.astype(np.float64), self.origin + offset)


def weighted_sample(windows: Floats, lengths: NDArray[np.int64], weights: Weights) -> Sample:
    """Return the statistics of the first ``lengths[i]`` values of each row, the value nearest to the candidate first.

    Triangular weights fall from 1 to 1 / length. In the variance every value has the same weight, with divisor count -
    1.
    """
    return _Sums.of(windows).first(lengths, weights)


def weighted_commits(window: list[Floats], weights: Weights) -> Sample:
    """Return the statistics of one window of commits with any number of values each, the nearest commit first.

    Every value has the weight of its commit, so a commit that was measured five times counts five times. In the
    variance every value has the same weight.
    """
    if not window:
        empty = np.zeros(1)
        return Sample(empty, empty, empty, empty)
    values = np.concatenate(window)
    size = len(window)
    shares = (size - np.arange(size)) / size if weights == "triangular" else np.ones(size)
    weight = np.repeat(shares, [sample.size for sample in window])
    origin = values[0]
    distance = values - origin
    mean = float(weight @ distance) / float(weight.sum())
    variance = float(np.square(distance - mean).sum()) / max(values.size - 1, 1)
    return Sample(
        *(np.array([number]) for number in (origin + mean, variance, float(values.size), origin + distance.mean()))
    )


def t_statistic(before: Sample, after: Sample) -> Floats:
    """Return (after - before) in standard errors: infinite when the means differ without any variance, 0 when equal.

    An empty window gives 0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        step = after.mean - before.mean
        scale = np.maximum(np.abs(after.mean), np.abs(before.mean))
        step = np.where(np.abs(step) <= _ROUNDING * scale, 0.0, step)
        error = np.sqrt(before.variance / before.count + after.variance / after.count)
        t = np.where(step == 0, 0.0, step / error)
    return np.where((before.count > 0) & (after.count > 0), t, 0.0)


def _effect(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Return the size of the change of level, and its share of the level before."""
    size = np.abs(after - before)
    with np.errstate(divide="ignore", invalid="ignore"):
        return size, np.where(size == 0, 0.0, size / np.abs(before))


@dataclass(frozen=True, slots=True)
class Scan:
    """For every place: ``t`` without sign, values in its windows, size of the change and its share of the level before."""

    t: Floats
    values_before: Floats
    values_after: Floats
    size: Floats
    effect: Floats


@dataclass(frozen=True, slots=True)
class Windows:
    """The lengths of the windows, the t above which the window before starts again at ``back``, and the weights."""

    fore: int
    back: int
    longest_back: int
    threshold: float
    weights: Weights


def scan_values(values: Floats, windows: Windows) -> Scan:
    """Compute t at every place of ``values`` (1-D, finite), where each value is a commit of its own."""
    count = values.size
    fore, back, longest_back, weights = windows.fore, windows.back, windows.longest_back, windows.weights
    places = np.arange(count)
    # Windows before each place, read backwards, and windows from it on; nan beyond the ends.
    backward = sliding_window_view(np.r_[np.full(longest_back, np.nan), values], longest_back)[:count, ::-1]
    forward = sliding_window_view(np.r_[values, np.full(fore - 1, np.nan)], fore)
    # t for every length of the window before, a row a length.
    values_after = np.minimum(fore, count - places)
    after = weighted_sample(forward, values_after, weights)
    lengths = np.arange(back, longest_back + 1)[:, None]
    before = _Sums.of(backward).first(np.minimum(lengths, places), weights)
    table = t_statistic(before, after)
    # The length at each place: it grows with every place since the last detection.
    chosen = np.zeros(count, dtype=np.int64)
    since_detection = 0
    above = (np.abs(table) > windows.threshold).T.tolist()
    for place in range(1, count):
        row = min(max(since_detection, back), longest_back) - back
        chosen[place] = row
        since_detection = 0 if above[place][row] else since_detection + 1
    size, effect = _effect(before.level[chosen, places], after.level)
    return Scan(
        t=np.abs(table[chosen, places]),
        values_before=np.minimum(chosen + back, places).astype(np.float64),
        values_after=values_after.astype(np.float64),
        size=size,
        effect=effect,
    )


def _take(commits: Iterable[Floats], most: int) -> tuple[list[Floats], int]:
    """Return the first commits until they hold ``most`` values, and how many values they hold."""
    taken: list[Floats] = []
    held = 0
    for values in commits:
        if held >= most:
            break
        taken.append(values)
        held += values.size
    return taken, held


def scan_commits(samples: list[Floats], windows: Windows) -> Scan:
    """Compute t at every commit; ``samples`` are the values of each commit, one or more.

    The windows count values. The one after takes commits until it holds ``fore``. The one before takes commits until it
    holds ``longest_back``, but no more commits than since the last detection, and ``back`` at least.
    """
    count = len(samples)
    back, longest_back = windows.back, windows.longest_back
    t, size, effect, values_before, values_after = (np.zeros(count) for _ in range(5))
    since_detection = 0
    for place in range(count):
        furthest = max(0, place - min(max(since_detection, back), longest_back))
        before, values_before[place] = _take(reversed(samples[furthest:place]), longest_back)
        after, values_after[place] = _take(samples[place : place + windows.fore], windows.fore)
        old, new = weighted_commits(before, windows.weights), weighted_commits(after, windows.weights)
        t[place] = abs(float(t_statistic(old, new)[0]))
        changes, shares = _effect(old.level, new.level)
        size[place], effect[place] = float(changes[0]), float(shares[0])
        if place:
            since_detection = 0 if t[place] > windows.threshold else since_detection + 1
    return Scan(t, values_before, values_after, size, effect)
