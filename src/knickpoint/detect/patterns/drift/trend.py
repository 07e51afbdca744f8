"""Levels, steps and slow changes of a series: a model that is fitted robustly, and what it costs.

A *slope* leads in a straight line from one place to another; before and after it the level stands still. The model of a
series is a sum: a first level, a jump at each step, a rise along each slope. Values further than three deviations from
the model count as if they were three away, so no outlier bends it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.distribution import MAD

Floats = NDArray[np.float64]

SHORTEST: Final = 30
"""Measured values that a slow change takes at least: what takes fewer is a step."""

_FARTHEST: Final = 3.0
"""Deviations beyond which a value counts as if it were no further away."""

_ROUNDS: Final = 3
"""How often outliers are set aside and the model is fitted again."""


_STEP_COSTS: Final = 2
_SLOPE_COSTS: Final = 3
"""Numbers that describe a step (place, jump) and a slope (start, end, rise)."""

_MOST_PHI: Final = 0.9
_BLOCKS: Final = 5
_CLEARLY: Final = 2.0


@dataclass(frozen=True, slots=True)
class Slope:
    """A slow change between two places, given as indices of measured values: the last value before it, and its last."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Trend:
    """A fitted model.

    Attributes:
        places: first values of the levels after each step, ascending.
        slopes: the slow changes.
        coefficients: the first level, then the jump at each place, then the rise by value of each slope.
        covariance: that of the coefficients, for independent noise of variance 1.
        fitted: the model at each value.
        residuals: the values less the model.
        noise: robust standard deviation of the residuals.
        inflation: how much more a mean of many residuals varies than one of independent ones.
    """

    places: tuple[int, ...]
    slopes: tuple[Slope, ...]
    coefficients: Floats
    covariance: Floats
    fitted: Floats
    residuals: Floats
    noise: float
    inflation: float

    @property
    def jumps(self) -> Floats:
        """The jump at each place."""
        return self.coefficients[1 : 1 + len(self.places)]

    @property
    def rates(self) -> Floats:
        """The rise by value of each slope."""
        return self.coefficients[1 + len(self.places) :]

    @property
    def clipped(self) -> Floats:
        """The values, with outliers brought near."""
        return self.fitted + _clipped(self.residuals, self.noise)

    def moved(self, *, without: int | None = None) -> Floats:
        """Return the movement of each value by the slopes, perhaps ``without`` one of them."""
        kept = [number for number in range(len(self.slopes)) if number != without]
        columns = _slope_columns(self.fitted.size, [self.slopes[number] for number in kept])
        return np.asarray(self.rates[kept] @ columns, dtype=np.float64)

    def price(self) -> float:
        """Return the cost of the steps and slopes by the Bayesian information criterion."""
        described = _STEP_COSTS * len(self.places) + _SLOPE_COSTS * len(self.slopes)
        return described * math.log(self.fitted.size)

    def cost(self, noise: float, inflation: float) -> float:
        """Return misfit and price together, for noise of this deviation."""
        return float(np.square(_clipped(self.residuals, noise)).sum()) / (noise**2 * inflation) + self.price()


def _clipped(residuals: Floats, noise: float) -> Floats:
    return np.clip(residuals, -_FARTHEST * noise, _FARTHEST * noise)


def _slope_columns(size: int, slopes: list[Slope]) -> Floats:
    """Return the number of values of each slope up to each value: slopes x values."""
    places = np.arange(size, dtype=np.float64)
    columns = [np.clip(places, slope.start, slope.end) - slope.start for slope in slopes]
    return np.array(columns).reshape(len(slopes), size)


def _inflation(residuals: Floats, noise: float) -> float:
    """Return the factor by which similar neighbours raise the variance of a mean of many residuals.

    It is the larger one of what the autocorrelation at lag 1 says, and of what the means of blocks say where they vary
    at least twice as much as those of independent values.
    """
    kept = _clipped(residuals, noise)
    total = float(kept @ kept)
    if total <= 0:
        return 1.0
    first = float(kept[1:] @ kept[:-1]) / total
    phi = min(max(first + (1 + 3 * first) / kept.size, 0.0), _MOST_PHI)
    by_lag = (1 + phi) / (1 - phi)
    length = max(8, math.isqrt(kept.size))
    count = kept.size // length
    if count < _BLOCKS:
        return by_lag
    means = kept[: count * length].reshape(count, length).mean(axis=1)
    by_blocks = length * float(means.var(ddof=1)) / (total / kept.size)
    return max(by_lag, min(by_blocks, 3 * by_lag)) if by_blocks > _CLEARLY else by_lag


def fit_trend(values: Floats, places: tuple[int, ...], slopes: tuple[Slope, ...]) -> Trend:
    """Fit the model with these places and slopes to ``values`` (finite, 1-D); O(n k^2) for k steps and slopes."""
    size = values.size
    indices = np.arange(size)
    columns = [np.ones(size), *((indices >= place).astype(np.float64) for place in places)]
    design = np.concatenate([np.array(columns), _slope_columns(size, list(slopes))]).T
    q, r = np.linalg.qr(design)
    # Fit, bring outliers near, and fit again.
    target = values
    fitted = q @ (q.T @ target)
    for _ in range(_ROUNDS):
        target = fitted + _clipped(values - fitted, _deviation(values - fitted))
        fitted = q @ (q.T @ target)
    inverse = np.linalg.inv(r)
    residuals = values - fitted
    noise = _deviation(residuals)
    return Trend(
        places=places,
        slopes=slopes,
        coefficients=inverse @ (q.T @ target),
        covariance=inverse @ inverse.T,
        fitted=fitted,
        residuals=residuals,
        noise=noise,
        inflation=_inflation(residuals, noise),
    )


def _deviation(residuals: Floats) -> float:
    """Return a robust standard deviation; where most residuals are 0 it is the ordinary one, and never 0."""
    robust = MAD * float(np.median(np.abs(residuals)))
    smallest = 1e-12 * float(np.abs(residuals).max(initial=0.0)) + 1e-300
    return max(robust, 1e-6 * float(residuals.std()), smallest)


def advantage(steps: Trend, sloped: Trend) -> float:
    """Return by how much the model with slopes is better than the one with ``steps`` alone: twice the logarithm of odds.

    Both are judged by the smaller noise, and by the smaller inflation: a model that does not fit makes noise of its
    misfit.
    """
    noise, inflation = min(steps.noise, sloped.noise), min(steps.inflation, sloped.inflation)
    return steps.cost(noise, inflation) - sloped.cost(noise, inflation)


@dataclass(frozen=True, slots=True)
class Rise:
    """A stretch of slopes in one direction, from the value ``start`` to the value ``end``.

    ``error`` is that of the size.
    """

    start: int
    end: int
    size: float
    error: float

    @property
    def slow(self) -> bool:
        """Whether it takes as many values as a slow change does."""
        return self.end - self.start >= SHORTEST


def rises_of(trend: Trend) -> list[Rise]:
    """Return the stretches of a trend in which the level moves in one direction, in order.

    A rest in between that is shorter than a slow change belongs to the stretch.
    """
    knots = sorted({knot for slope in trend.slopes for knot in (slope.start, slope.end)})
    slopes = list(zip(trend.slopes, trend.rates.tolist(), strict=True))
    stretches: list[tuple[int, int, bool]] = []
    for start, end in pairwise(knots):
        rate = sum(rate for slope, rate in slopes if slope.start <= start and end <= slope.end)
        if not rate:
            continue
        goes_on = stretches and stretches[-1][2] is (rate > 0) and start - stretches[-1][1] < SHORTEST
        stretches.append((stretches.pop()[0] if goes_on else start, end, rate > 0))
    return [_rise(trend, start, end) for start, end, _ in stretches]


def _rise(trend: Trend, start: int, end: int) -> Rise:
    overlaps = [max(0, min(end, slope.end) - max(start, slope.start)) for slope in trend.slopes]
    weights = np.concatenate([np.zeros(1 + len(trend.places)), overlaps])
    variance = float(weights @ trend.covariance @ weights) * trend.noise**2 * trend.inflation
    return Rise(start, end, float(weights @ trend.coefficients), math.sqrt(max(variance, 0.0)))


# Where a slope begins and ends: the best of all pairs of places on a grid, all compared at once.
#
# A slope between two places is the difference of two ramps, one that begins at each. With the levels between the steps
# taken out, what a slope explains follows from the products of the ramps with each other and with the values, so a grid
# of k places costs O(k n + k^2) and not O(k^2 n).


_GRID: Final = 40
_NEAR: Final = 12
"""Places of the coarse grid, and of the fine one to each side of what the coarse one found."""

_PART: Final = 80
"""Values that are multiplied at a time."""

_EXPLAINABLE: Final = 1e-9
"""Slopes of which the levels leave a smaller share are set aside."""


@dataclass(frozen=True, slots=True)
class _Ramps:
    """Ramps from each place of a grid on, less the levels between the steps: what pairs of them explain."""

    starts: NDArray[np.int64]
    products: Floats
    gram: Floats

    def explained(self) -> Floats:
        """Return the part of the sum of squares that the slope from each place to each other explains, -1 for too short ones."""
        rises = np.diag(self.gram)
        spread = rises[:, None] + rises[None, :] - 2 * self.gram
        share = np.square(self.products[:, None] - self.products[None, :])
        long_enough = self.starts[None, :] - self.starts[:, None] >= SHORTEST
        usable = long_enough & (spread > _EXPLAINABLE * spread.max(initial=0.0))
        return np.where(usable, share / np.where(usable, spread, 1.0), -1.0)


def _ramps(values: Floats, places: tuple[int, ...], starts: NDArray[np.int64]) -> _Ramps:
    firsts = np.array([0, *places])
    counts = np.diff(np.array([0, *places, values.size]))
    ramps = np.maximum(np.arange(values.size) - starts[:, None], 0.0)
    ramps -= np.repeat(np.add.reduceat(ramps, firsts, axis=1) / counts, counts, axis=1)
    # The ramps have no mean on any level, so the values need not be free of levels, only of a large offset.
    products = _products(np.vstack([ramps, values - values.mean()]))
    return _Ramps(starts, products[-1, :-1], products[:-1, :-1])


def _products(rows: Floats) -> Floats:
    """Return the products of all pairs of ``rows``, from parts so small that a linear algebra library starts no threads.

    Its threads wait for each other actively, which costs many times the work where other processes keep the cores busy.
    """
    parts = (rows[:, first : first + _PART] for first in range(0, rows.shape[1], _PART))
    return np.asarray(sum((part @ part.T for part in parts), np.zeros((len(rows), len(rows)))))


def _best_on(values: Floats, places: tuple[int, ...], starts: NDArray[np.int64]) -> tuple[Slope, float]:
    ramps = _ramps(values, places, starts)
    explained = ramps.explained()
    start, end = np.unravel_index(int(np.argmax(explained)), explained.shape)
    return Slope(int(starts[start]), int(starts[end])), float(explained[start, end])


def _around(slope: Slope, reach: int, size: int) -> NDArray[np.int64]:
    offsets = np.linspace(-reach, reach, 2 * min(reach, _NEAR) + 1).round().astype(np.int64)
    return np.unique(np.clip(np.concatenate([slope.start + offsets, slope.end + offsets]), 0, size - 1))


def best_slope(values: Floats, places: tuple[int, ...]) -> tuple[Slope, float] | None:
    """Return the slope that explains most of ``values`` beside free levels between ``places``, and how much.

    None where no slope fits. ``values`` are finite, 1-D; how much is a sum of squares.
    """
    size = values.size
    if size <= SHORTEST:
        return None
    step = max(1, size // _GRID)
    slope, explained = _best_on(values, places, np.unique(np.linspace(0, size - 1, _GRID + 1).round().astype(np.int64)))
    # The grid becomes finer until it has every place.
    while explained > 0:
        slope, explained = max(
            (slope, explained), _best_on(values, places, _around(slope, step, size)), key=lambda each: each[1]
        )
        if step <= _NEAR:
            return slope, explained
        step = -(-step // _NEAR)
    return None


def start_interval(values: Floats, places: tuple[int, ...], slope: Slope, worth: float) -> int:
    """Return the number of values that the start of ``slope`` may be off: the farthest one that explains less by at most ``worth``."""
    reach = max(0, slope.end - SHORTEST)
    starts = np.unique(np.append(np.linspace(0, reach, 2 * _GRID).round().astype(np.int64), (slope.start, slope.end)))
    explained = _ramps(values, places, starts).explained()[:, np.searchsorted(starts, slope.end)]
    likely = starts[explained >= explained.max() - worth]
    return int(np.abs(likely - slope.start).max(initial=0))
