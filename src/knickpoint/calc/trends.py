"""Sum up many traces as one: the geometric mean of their values relative to their beginning, with its uncertainty.

The traces may have any unit and any level: only ratios count. A trace for which higher is better counts by its inverse,
so that a rise of the sum is always a change for the worse. The guide is ``docs/guide/dashboard.md``, the design
``docs/decisions/plots-and-charts.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.distribution import MAD

_LEVEL_VALUES: Final = 20
"""Measured commits of the levels at both ends, as of the local levels of a finding."""

_MEDIAN_FACTOR: Final = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, for normal values."""


_FEWEST_COMMITS: Final = 4


@dataclass(frozen=True)
class Trend:
    """How a set of traces went.

    ``series`` is the mean log ratio to the level at the beginning, by commit: NaN where none was measured. ``change``
    is that of the level at the end, ``deviation`` its standard error; both are NaN without a trace that was measured at
    both ends. ``used`` traces were measured there, and ``population`` is how many there are, read or not.
    """

    series: NDArray[np.float64]
    change: float
    deviation: float
    used: int
    population: int


def trend_of(values: NDArray[np.floating], signs: NDArray[np.float64], population: int) -> Trend:
    """Return the trend of a sample of traces.

    Traces count that were measured in the first and in the last third of the measured commits. Between two values, a
    trace keeps the earlier one. The level at either end is the median of the mean of 20 measured commits, or of a third
    where there are fewer. Its standard error has two parts: the scatter of the mean from commit to commit, and, where
    not all of the population was read, that of a random sample without replacement.

    Args:
        values: shape (traces, commits), NaN for missing. Values that are not positive have no logarithm, and are
            missing.
        signs: by trace, 1 where a rise is worse, -1 where it is better.
        population: how many traces the sample stands for.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(values > 0, np.log(values.astype(np.float64)), np.nan) * signs[:, np.newaxis]
    logs[~np.isfinite(logs)] = np.nan
    measured = np.flatnonzero(~np.isnan(logs).all(axis=0)) if len(logs) else np.zeros(0, dtype=np.int64)
    series = np.full(values.shape[1], np.nan)
    if len(measured) < _FEWEST_COMMITS:
        return Trend(series, math.nan, math.nan, 0, population)

    # Traces that were measured at both ends, without gaps
    known = ~np.isnan(logs[:, measured])
    third = max(1, len(measured) // 3)
    rows = np.flatnonzero(known[:, :third].any(axis=1) & known[:, -third:].any(axis=1))
    if not len(rows):
        return Trend(series, math.nan, math.nan, 0, population)
    filled = _filled(logs[np.ix_(rows, measured)])

    # The mean, and the levels at its ends
    width = min(_LEVEL_VALUES, third)
    filled -= np.median(filled[:, :width], axis=1)[:, np.newaxis]
    mean = filled.mean(axis=0)
    changes = np.median(filled[:, -width:], axis=1)
    change = float(np.median(mean[-width:]) - np.median(mean[:width]))
    series[measured] = mean - np.median(mean[:width])
    variance = _scatter(mean) ** 2 * _MEDIAN_FACTOR**2 * 2 / width + _sampling_variance(changes, population)
    return Trend(series, change, math.sqrt(variance), len(rows), population)


def combine_trends(trends: Sequence[Trend]) -> Trend | None:
    """Return the trend of several sets together, each weighted by its population; None where none has a change."""
    known = [trend for trend in trends if not math.isnan(trend.change)]
    if not known:
        return None
    weights = np.array([trend.population for trend in known], dtype=np.float64)
    weights /= weights.sum()
    series = np.array([trend.series for trend in known])
    present = np.where(np.isnan(series), 0.0, weights[:, np.newaxis])
    with np.errstate(invalid="ignore"):
        mean = (np.nan_to_num(series) * present).sum(axis=0) / present.sum(axis=0)
    return Trend(
        mean,
        float(weights @ [trend.change for trend in known]),
        # The sets come from the same runs, so what scatters them scatters them together.
        float(weights @ [trend.deviation for trend in known]),
        sum(trend.used for trend in known),
        sum(trend.population for trend in trends),
    )


def _filled(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fill each gap with the value before it, and what comes before the first value with that value."""
    known = ~np.isnan(rows)
    columns = np.where(known, np.arange(rows.shape[1]), -1)
    last = np.maximum.accumulate(columns, axis=1)
    return np.take_along_axis(rows, np.where(last < 0, known.argmax(axis=1)[:, np.newaxis], last), axis=1)


def _scatter(mean: NDArray[np.float64]) -> float:
    """Return the standard deviation of a series from commit to commit; steps and drift leave it as it is."""
    steps = np.diff(mean)
    return float(MAD * np.median(np.abs(steps - np.median(steps))) / math.sqrt(2))


def _sampling_variance(changes: NDArray[np.float64], population: int) -> float:
    """Return the variance of the mean of a random sample without replacement."""
    count = len(changes)
    if count < 2 or population <= count:
        return 0.0
    return float(changes.var(ddof=1)) / count * (1 - count / population)
