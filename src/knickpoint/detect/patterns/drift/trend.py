"""Levels, steps and slow changes of a series: a model that is fitted robustly, and what it costs.

A *slope* leads in a straight line from one place to another; before and after it the level stands still. The model of a
series is a sum: a first level, a jump at each step, a rise along each slope. Values further than three deviations from
the model count as if they were three away, so no outlier bends it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.trend import best_slope, explain_slopes, fit_levels
from knickpoint.native.trend.reference import FARTHEST, GRID, SHORTEST, slope_columns

Floats = NDArray[np.float64]

_STEP_COSTS: Final = 2
_SLOPE_COSTS: Final = 3
"""Numbers that describe a step (place, jump) and a slope (start, end, rise)."""


class Slope(NamedTuple):
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
        fitted: the model at each value.
        residuals: the values less the model.
        clipped: the values, with outliers brought near.
        moved: the movement of each value by the slopes.
        noise: robust standard deviation of the residuals.
        inflation: how much more a mean of many residuals varies than one of independent ones.
    """

    places: tuple[int, ...]
    slopes: tuple[Slope, ...]
    coefficients: Floats
    fitted: Floats
    residuals: Floats
    clipped: Floats
    moved: Floats
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

    def variances_of_jumps(self) -> Floats:
        """Return the variance of the jump at each place, by the noise and its inflation."""
        means, unexplained = self._slopes_beside_levels()
        apart = np.diff(means, axis=0)
        own = 1 / np.diff([0, *self.places, self.fitted.size])
        variances = own[:-1] + own[1:] + np.einsum("ij,jk,ik->i", apart, unexplained, apart)
        return np.asarray(variances * self.noise**2 * self.inflation, np.float64)

    def variance_of_rise(self, overlaps: Floats) -> float:
        """Return the variance of the rise along so many values of each slope, by its noise and inflation."""
        _, unexplained = self._slopes_beside_levels()
        return max(float(overlaps @ unexplained @ overlaps), 0.0) * self.noise**2 * self.inflation

    def _slopes_beside_levels(self) -> tuple[Floats, Floats]:
        """Return the mean of each slope on each level (levels x slopes), and the covariance of their rates."""
        columns, firsts = slope_columns(self.fitted.size, self.slopes), np.array([0, *self.places])
        counts = np.diff(firsts, append=self.fitted.size)
        means = np.add.reduceat(columns, firsts, axis=1) / counts
        rest = columns - np.repeat(means, counts, axis=1)
        return means.T, np.asarray(np.linalg.pinv(rest @ rest.T), np.float64)

    def price(self) -> float:
        """Return the cost of the steps and slopes by the Bayesian information criterion."""
        described = _STEP_COSTS * len(self.places) + _SLOPE_COSTS * len(self.slopes)
        return described * math.log(self.fitted.size)

    def cost(self, noise: float, inflation: float) -> float:
        """Return misfit and price together, for noise of this deviation."""
        return float(np.square(_clipped(self.residuals, noise)).sum()) / (noise**2 * inflation) + self.price()


def _clipped(residuals: Floats, noise: float) -> Floats:
    return np.minimum(np.maximum(residuals, -FARTHEST * noise), FARTHEST * noise)  # np.clip takes thrice as long


def fit_trend(values: Floats, places: tuple[int, ...], slopes: tuple[Slope, ...]) -> Trend:
    """Fit the model with these places and slopes to ``values`` (finite, 1-D, contiguous); O(n s^2) for s slopes."""
    return Trend(places, slopes, *fit_levels(values, places, slopes))


def advantage(steps: Trend, sloped: Trend) -> float:
    """Return by how much slopes improve the model with ``steps`` alone: twice the logarithm of odds.

    Both are judged by the smaller noise, and by the smaller inflation: a model that does not fit makes noise of its
    misfit.
    """
    noise, inflation = min(steps.noise, sloped.noise), min(steps.inflation, sloped.inflation)
    return steps.cost(noise, inflation) - sloped.cost(noise, inflation)


class Rise(NamedTuple):
    """A stretch of slopes in one direction, from the value ``start`` to the value ``end``."""

    start: int
    end: int

    @property
    def slow(self) -> bool:
        """Whether it takes as many values as a slow change does."""
        return self.end - self.start >= SHORTEST


def rises_of(trend: Trend) -> list[Rise]:
    """Return the stretches of a trend in which the level moves in one direction, in order.

    A rest in between that is shorter than a slow change belongs to the stretch.
    """
    knots = sorted({knot for slope in trend.slopes for knot in slope})
    slopes = list(zip(trend.slopes, trend.rates.tolist(), strict=True))
    stretches: list[tuple[Rise, bool]] = []
    for start, end in pairwise(knots):
        rate = sum(rate for slope, rate in slopes if slope.start <= start and end <= slope.end)
        if not rate:
            continue
        goes_on = stretches and stretches[-1][1] is (rate > 0) and start - stretches[-1][0].end < SHORTEST
        stretches.append((Rise(stretches.pop()[0].start if goes_on else start, end), rate > 0))
    return [rise for rise, _ in stretches]


def size_of_rise(trend: Trend, rise: Rise) -> tuple[float, float]:
    """Return by how much the slopes move the level along a ``rise``, and the standard error of that."""
    overlaps = [max(0, min(rise.end, slope.end) - max(rise.start, slope.start)) for slope in trend.slopes]
    weights = np.array(overlaps, dtype=np.float64)
    return float(weights @ trend.rates), math.sqrt(trend.variance_of_rise(weights))


def further_slope(trend: Trend) -> tuple[Slope, float] | None:
    """Return the slope that explains most of what those of ``trend`` leave, and how much; None where none fits.

    How much is a sum of squares.
    """
    found = best_slope(trend.clipped, trend.places, trend.slopes, trend.rates)
    return None if found is None else (Slope(*found[:2]), found[2])


def fitted_slope(trend: Trend, number: int, places: tuple[int, ...]) -> Slope:
    """Return the best start and end of one slope of ``trend`` beside steps at ``places``, the others as they are."""
    slopes, rates = trend.slopes, trend.rates
    others = slopes[:number] + slopes[number + 1 :]
    found = best_slope(trend.clipped, places, others, np.concatenate([rates[:number], rates[number + 1 :]]))
    return slopes[number] if found is None else Slope(*found[:2])


def start_interval(values: Floats, places: tuple[int, ...], slope: Slope, worth: float) -> int:
    """Return by how many values the start of ``slope`` may be off: the farthest explains less by at most ``worth``."""
    reach = max(0, slope.end - SHORTEST)
    starts = np.unique(np.append(np.linspace(0, reach, 2 * GRID).round().astype(np.int64), (slope.start, slope.end)))
    explained = explain_slopes(values, places, starts)[:, np.searchsorted(starts, slope.end)]
    likely = starts[explained >= explained.max() - worth]
    return int(np.abs(likely - slope.start).max(initial=0))
