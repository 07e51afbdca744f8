"""Fold many values into one without the missing ones: the values of all traces at a commit, or those of one trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.calc.traces import Traces, origin_params
from knickpoint.model.errors import QueryError
from knickpoint.model.params import encode_key

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


# The functions of formulas that take traces and give traces.


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


# Pivot tables: fold the traces that agree in some params into one, and these into the columns of a table.


@dataclass(frozen=True, eq=False)
class Pivot:
    """A row for each group: ``keys`` are trace keys of the params that define the group, sorted.

    ``values`` is groups x commits, or groups x ``columns`` with a summary, ``columns`` being the names of its folds.
    """

    keys: tuple[str, ...]
    values: NDArray[np.float64]
    columns: tuple[str, ...]


def _check(names: set[str], group_by: Sequence[str], operation: str, summary: Sequence[str]) -> None:
    if not group_by:
        raise QueryError("a pivot needs a param to group by", remedy="Name at least one.")
    for name in group_by:
        if name not in names:
            raise QueryError(
                f"no trace has the param {name!r} to group by", remedy=f"The params are: {', '.join(sorted(names))}."
            )
    for fold in (operation, *summary):
        if fold not in FOLDS:
            raise QueryError(f"there is no operation {fold!r}", remedy=f"The operations are: {', '.join(FOLDS)}.")


def pivot(traces: Traces, group_by: Sequence[str], operation: str, summary: Sequence[str] = ()) -> Pivot:
    """Fold the traces of equal ``group_by`` params commit by commit with ``operation``.

    With ``summary``, each folded trace is folded again, into one number for every operation named there.
    Calculated traces have the params of the one trace that they come from; traces that lack a param of
    ``group_by`` are left out.

    Raises:
        QueryError: no param to group by, one that no trace has, or an operation that does not exist.
    """
    params_of_rows = origin_params(traces)
    _check({name for params in params_of_rows for name in params}, group_by, operation, summary)
    groups: dict[str, list[int]] = {}
    for row, params in enumerate(params_of_rows):
        if all(name in params for name in group_by):
            groups.setdefault(encode_key({name: params[name] for name in group_by}), []).append(row)
    keys = tuple(sorted(groups))
    folded = np.array([FOLDS[operation](traces.values[groups[key]]) for key in keys])
    folded = folded.reshape(len(keys), traces.values.shape[1])
    if not summary:
        return Pivot(keys, folded, ())
    columns = [FOLDS[fold](folded.T) for fold in summary]
    return Pivot(keys, np.stack(columns, axis=1), tuple(summary))
