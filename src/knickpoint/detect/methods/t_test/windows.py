"""The windows of the Talos t-test: their weighted means, their variances, and t between the two at each place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = [
    "Sample",
    "Scan",
    "Weights",
    "Windows",
    "scan_commits",
    "scan_values",
    "t_statistic",
    "weigh",
    "weigh_commits",
]

Weights = Literal["triangular", "uniform"]

_ROUNDING: Final = 1e-12
"""Differences below this share of the values are rounding, not measurement."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Describe windows, one element a window: weighted ``mean``, ``variance`` around it, ``count``, plain ``level``."""

    mean: Floats
    variance: Floats
    count: Floats
    level: Floats


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over the first 1, 2, … values of each window, as distances from its first value.

    That value is part of every sum, so the variance keeps its digits whatever the level.
    """

    origin: Floats
    plain: Floats
    placed: Floats
    squared: Floats

    @classmethod
    def of(cls, windows: Floats) -> _Sums:
        distance = windows - windows[:, :1]
        place = np.arange(windows.shape[1])
        return cls(
            windows[:, 0],
            np.cumsum(distance, axis=1),
            np.cumsum(distance * place, axis=1),
            np.cumsum(distance * distance, axis=1),
        )

    def first(self, lengths: NDArray[np.int64], weights: Weights) -> Sample:
        """Describe the first ``lengths[..., i]`` values of window i; none of them where that is 0."""
        rows = np.arange(lengths.shape[-1])
        last = np.maximum(lengths - 1, 0)
        count = np.where(lengths > 0, lengths, np.nan)
        total = self.plain[rows, last]
        offset = total / count
        if weights == "triangular":
            weighted = (count * total - self.placed[rows, last]) / (count * (count + 1) / 2)
        else:
            weighted = offset
        squares = self.squared[rows, last] - 2 * weighted * total + count * weighted * weighted
        variance = np.where(lengths > 1, np.maximum(squares, 0.0) / np.maximum(count - 1, 1), 0.0)
        return Sample(self.origin + weighted, variance, lengths.astype(np.float64), self.origin + offset)


def weigh(windows: Floats, lengths: NDArray[np.int64], weights: Weights) -> Sample:
    """Describe the first ``lengths[i]`` values of each row, the value nearest to the candidate first.

    Triangular weights fall from 1 to 1 / length. The variance takes every value as one, with divisor count - 1.
    """
    return _Sums.of(windows).first(lengths, weights)


def weigh_commits(window: list[Floats], weights: Weights) -> Sample:
    """Describe one window of commits with any number of values each, the nearest first.

    Every value has the weight of its commit, so a commit that was measured five times counts five times; the
    variance takes every value as one.
    """
    if not window:
        nothing = np.zeros(1)
        return Sample(nothing, nothing, nothing, nothing)
    values = np.concatenate(window)
    size = len(window)
    shares = (size - np.arange(size)) / size if weights == "triangular" else np.ones(size)
    weight = np.repeat(shares, [each.size for each in window])
    origin = values[0]
    distance = values - origin
    mean = float(weight @ distance) / float(weight.sum())
    variance = float(np.square(distance - mean).sum()) / max(values.size - 1, 1)
    return Sample(
        *(np.array([number]) for number in (origin + mean, variance, float(values.size), origin + distance.mean()))
    )


def t_statistic(before: Sample, after: Sample) -> Floats:
    """Return (after - before) in standard errors: infinite when nothing varies but the means differ, 0 when equal.

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
    """Hold |t| of every place, how many values its windows hold, and the change of level there."""

    strength: Floats
    back: Floats
    ahead: Floats
    size: Floats
    effect: Floats


@dataclass(frozen=True, slots=True)
class Windows:
    """Say how many values the windows hold, and the t from which the one before begins again at ``back``."""

    fore: int
    back: int
    longest_back: int
    threshold: float
    weights: Weights


def scan_values(values: Floats, windows: Windows) -> Scan:
    """Test every place of ``values`` (1-D, finite), where each is a commit of its own."""
    count = values.size
    fore, back, longest_back, weights = windows.fore, windows.back, windows.longest_back, windows.weights
    places = np.arange(count)
    behind = sliding_window_view(np.r_[np.full(longest_back, np.nan), values], longest_back)[:count, ::-1]
    forward = sliding_window_view(np.r_[values, np.full(fore - 1, np.nan)], fore)
    ahead = np.minimum(fore, count - places)
    after = weigh(forward, ahead, weights)
    widths = np.arange(back, longest_back + 1)[:, None]
    sample = _Sums.of(behind).first(np.minimum(widths, places), weights)
    table = t_statistic(sample, after)
    chosen = np.zeros(count, dtype=np.int64)
    calm = 0
    over = (np.abs(table) > windows.threshold).T.tolist()
    for place in range(1, count):
        choice = min(max(calm, back), longest_back) - back
        chosen[place] = choice
        calm = 0 if over[place][choice] else calm + 1
    size, effect = _effect(sample.level[chosen, places], after.level)
    return Scan(
        strength=np.abs(table[chosen, places]),
        back=np.minimum(chosen + back, places).astype(np.float64),
        ahead=ahead.astype(np.float64),
        size=size,
        effect=effect,
    )


def scan_commits(samples: list[Floats], windows: Windows) -> Scan:
    """Test every commit, ``samples`` being the values of each, one or more.

    The windows count values: the one before takes commits until it holds ``longest_back``, and no more commits than
    there were without a finding, ``back`` at least; the one after takes commits until it holds ``fore``.
    """
    count = len(samples)
    fore, back, longest_back, weights = windows.fore, windows.back, windows.longest_back, windows.weights
    scan = Scan(*(np.zeros(count) for _ in range(5)))
    calm = 0
    for place in range(count):
        furthest = max(0, place - min(max(calm, back), longest_back))
        before: list[Floats] = []
        held = 0
        for values in reversed(samples[furthest:place]):
            if held >= longest_back:
                break
            before.append(values)
            held += values.size
        after: list[Floats] = []
        ahead = 0
        for values in samples[place : place + fore]:
            if ahead >= fore:
                break
            after.append(values)
            ahead += values.size
        old, new = weigh_commits(before, weights), weigh_commits(after, weights)
        scan.strength[place] = abs(float(t_statistic(old, new)[0]))
        scan.back[place], scan.ahead[place] = held, ahead
        size, effect = _effect(old.level, new.level)
        scan.size[place], scan.effect[place] = float(size[0]), float(effect[0])
        if place:
            calm = 0 if scan.strength[place] > windows.threshold else calm + 1
    return scan
