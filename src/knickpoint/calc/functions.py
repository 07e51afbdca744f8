"""The functions of formulas that take traces and give traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.calc.folds import FOLDS

__all__ = ["PER_TRACE", "Change", "divide", "normalised"]

Values = NDArray[np.float64]
Change = Callable[[Values], Values]

_ROUNDING: Final = 1e-12
"""A standard deviation below this share of the mean is rounding."""


def _along(values: Values, fold: str) -> Values:
    """Fold each trace into one number, as a column."""
    return FOLDS[fold](values.T)[:, None]


def divide(left: Values, right: Values) -> Values:
    """Return ``left / right``, missing where either is missing or ``right`` is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = left / right
    return np.where(np.isfinite(ratio), ratio, np.nan)


def _fill(values: Values) -> Values:
    """Replace each missing value by the next measured one of its trace, at the end by the last one, else by 0."""
    columns = values.shape[1]
    missing = np.isnan(values)
    column = np.arange(columns)
    following = np.minimum.accumulate(np.where(missing, columns, column)[:, ::-1], axis=1)[:, ::-1]
    previous = np.maximum.accumulate(np.where(missing, -1, column), axis=1)
    source = np.where(following < columns, following, previous)
    return np.where(source < 0, 0.0, np.take_along_axis(values, np.maximum(source, 0), axis=1))


def normalised(values: Values, least: float | None = None) -> Values:
    """Subtract the mean, and divide by the population standard deviation if it is larger than ``least``.

    Without ``least`` it has to be larger than rounding.
    """
    level, deviation = _along(values, "avg"), _along(values, "std")
    bound = _ROUNDING * np.abs(level) if least is None else np.full_like(deviation, least)
    return (values - level) / np.where(deviation > bound, deviation, 1.0)


def _logarithm(values: Values) -> Values:
    """Return log10, missing where a value is not positive."""
    return np.log10(np.where(values > 0, values, np.nan))


def _spread_out(column: Values, values: Values) -> Values:
    return np.repeat(column, values.shape[1], axis=1)


def _trace_mean(values: Values) -> Values:
    """Return the mean of each trace in every column."""
    return _spread_out(_along(values, "avg"), values)


def _trace_deviation(values: Values) -> Values:
    """Return the population standard deviation of each trace in every column."""
    return _spread_out(_along(values, "std"), values)


def _trace_variation(values: Values) -> Values:
    """Return standard deviation / mean of each trace in every column; missing where the mean is 0."""
    return divide(_trace_deviation(values), _trace_mean(values))


def _trace_step(values: Values) -> Values:
    """Return mean of the first half / mean of the second half of each trace in every column."""
    half = values.shape[1] // 2
    before, after = (_along(part, "avg") for part in (values[:, :half], values[:, half:]))
    return _spread_out(divide(before, after), values)


def _scaled_by_mean(values: Values) -> Values:
    """Divide each trace by its mean."""
    return divide(values, _along(values, "avg"))


def _without_outliers(values: Values) -> Values:
    """Take out what lies more than 1.5 interquartile ranges outside the quartiles (Hyndman and Fan's 8th)."""
    kept = values.copy()
    for row in kept:
        measured = row[~np.isnan(row)]
        if measured.size:
            low, high = np.quantile(measured, [0.25, 0.75], method="median_unbiased")
            reach = 1.5 * (high - low)
            row[(row < low - reach) | (row > high + reach)] = np.nan
    return kept


PER_TRACE: Final[dict[str, tuple[str, Change]]] = {
    "fill": ("fill", _fill),
    "iqrr": ("iqrr", _without_outliers),
    "log": ("log", _logarithm),
    "scale_by_ave": ("scale_by_ave", _scaled_by_mean),
    "scale_by_avg": ("scale_by_ave", _scaled_by_mean),
    "step": ("trace_step", _trace_step),
    "trace_ave": ("trace_ave", _trace_mean),
    "trace_avg": ("trace_ave", _trace_mean),
    "trace_cov": ("trace_cov", _trace_variation),
    "trace_stddev": ("trace_stddev", _trace_deviation),
}
"""Name in a formula to the name in ids and the function."""
