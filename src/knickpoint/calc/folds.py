"""Fold many values into one without the missing ones: the values of all traces at a commit, or those of one trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["FOLDS", "Fold"]

Fold = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _count(values: NDArray[np.float64]) -> NDArray[np.float64]:
    number: NDArray[np.float64] = (~np.isnan(values)).sum(axis=0).astype(np.float64)
    return number


def _of_measured(values: NDArray[np.float64], folded: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(_count(values) > 0, folded, np.nan)


def _sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return _of_measured(values, np.nansum(values, axis=0))


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return _of_measured(values, np.nansum(values, axis=0) / np.maximum(_count(values), 1))


def _deviation(values: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = np.nansum(np.square(values - _mean(values)), axis=0)
    return _of_measured(values, np.sqrt(squares / np.maximum(_count(values), 1)))


def _minimum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return _of_measured(values, np.where(np.isnan(values), np.inf, values).min(axis=0, initial=np.inf))


def _maximum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return _of_measured(values, np.where(np.isnan(values), -np.inf, values).max(axis=0, initial=-np.inf))


def _geometric(values: NDArray[np.float64]) -> NDArray[np.float64]:
    kept = np.where(values >= 0, values, np.nan)
    with np.errstate(divide="ignore"):
        return np.exp(_mean(np.log(kept)))


FOLDS: Final[dict[str, Fold]] = {
    "avg": _mean,
    "count": _count,
    "geo": _geometric,
    "max": _maximum,
    "min": _minimum,
    "std": _deviation,
    "sum": _sum,
}
"""Name to fold of a matrix along its first axis. Where no value is measured the result is ``nan``, and 0 for ``count``.

``std`` has the divisor count, ``geo`` leaves out negative values.
"""
