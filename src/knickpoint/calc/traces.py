"""The traces that formulas work on, a row of values each; and folds of many values into one without missing ones.

:func:`trend_of` sums many traces up as one: the geometric mean of their values relative to their beginning, with its
uncertainty. The traces may have any unit and any level: only ratios count. A trace for which higher is better counts by
its inverse, so that a rise of the sum is always a change for the worse. The guide is ``docs/guide/dashboard.md``, the
design ``docs/decisions/plots-and-charts.md``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.distribution import MAD
from knickpoint.model.errors import ParamsError, QueryError
from knickpoint.model.params import decode_key, encode_key

BLOCK: Final = 1 << 20
"""Values that are worked on at a time, so that what a function needs beside its result stays small."""

_MOST_ROWS: Final = 4096
"""Rows that are worked on at a time; some functions take a tenth of a millisecond for each."""

Checkpoint = Callable[[], None]
"""Is called between two blocks of work, and stops it with an error."""

FORMULA_SIGN = "@"
"""Ids of calculated traces begin with it; trace keys never do."""


@dataclass(frozen=True, eq=False)
class Traces:
    """Hold ``values`` (traces x commits, float64, ``nan`` for missing) and the id of each row.

    An id is a trace key, or the text of a formula behind ``@``. ``origins`` are the trace keys that the rows
    were calculated from, "" where that is not a single trace; by default they are the ids that are trace keys.
    """

    ids: tuple[str, ...]
    values: NDArray[np.float64]
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Fill in the origins."""
        if not self.origins:
            keys = tuple("" if identity.startswith(FORMULA_SIGN) else identity for identity in self.ids)
            object.__setattr__(self, "origins", keys)

    def __len__(self) -> int:
        """Count the traces."""
        return len(self.ids)

    def map_values(
        self, name: str, function: Callable[[NDArray[np.float64]], NDArray[np.float64]], checkpoint: Checkpoint
    ) -> Traces:
        """Return the traces with ``function`` of their values, some rows at a time; ids become ``name(id)``."""
        ids = tuple(formula_id(f"{name}({plain(identity)})") for identity in self.ids)
        values = np.empty_like(self.values)
        rows = min(_MOST_ROWS, max(1, BLOCK // max(1, values.shape[1])))
        for begin in range(0, len(values), rows):
            checkpoint()
            values[begin : begin + rows] = function(self.values[begin : begin + rows])
        return Traces(ids, values, self.origins)

    def fold_values(
        self, fold: Callable[[NDArray[np.float64]], NDArray[np.float64]], checkpoint: Checkpoint
    ) -> NDArray[np.float64]:
        """Return ``fold`` of all values at each commit, some commits at a time."""
        folded = np.empty(self.values.shape[1], dtype=np.float64)
        columns = max(1, BLOCK // max(1, len(self.values)))
        for begin in range(0, len(folded), columns):
            checkpoint()
            folded[begin : begin + columns] = fold(self.values[:, begin : begin + columns])
        return folded


def plain(identity: str) -> str:
    """Return an id without the sign of formulas, for use inside the text of another formula."""
    return identity.removeprefix(FORMULA_SIGN)


def formula_id(text: str) -> str:
    """Return the id of the trace that the formula ``text`` calculates."""
    return FORMULA_SIGN + text


# Pair the traces of two sides of an operator.


Params = dict[str, str]
Rest = tuple[tuple[str, str], ...]


def origin_params(traces: Traces) -> list[Params]:
    """Return the params of the trace that each row was calculated from, {} where that is not a single trace."""
    params: list[Params] = []
    for key in traces.origins:
        try:
            params.append(decode_key(key))
        except ParamsError:
            params.append({})
    return params


def _rows_by_rest(side: list[Params], distinguishing: set[str]) -> dict[Rest, list[int]]:
    rows: dict[Rest, list[int]] = defaultdict(list)
    for row, params in enumerate(side):
        rows[tuple(sorted((name, value) for name, value in params.items() if name not in distinguishing))].append(row)
    return rows


def pair(left: Traces, right: Traces) -> list[tuple[int, int]]:
    """Pair the rows of ``left`` and ``right`` that belong together.

    A single trace goes with every trace of the other side. Otherwise params that have no value in common on the two
    sides distinguish the sides and are ignored; traces that agree in all other params go together. A trace without a
    partner is left out.

    Raises:
        QueryError: several traces of one side would go with several of the other.
    """
    if len(left) == 1 or len(right) == 1:
        return [(i, j) for i in range(len(left)) for j in range(len(right))]
    sides = origin_params(left), origin_params(right)
    names = {name for side in sides for params in side for name in params}
    distinguishing = {
        name
        for name in names
        if {params.get(name) for params in sides[0]}.isdisjoint(params.get(name) for params in sides[1])
    }
    partners = _rows_by_rest(sides[1], distinguishing)
    pairs: list[tuple[int, int]] = []
    for rest, rows in _rows_by_rest(sides[0], distinguishing).items():
        others = partners.get(rest, [])
        if len(rows) > 1 and len(others) > 1:
            raise QueryError(
                f"{left.ids[rows[0]]} and {left.ids[rows[1]]} both match "
                f"{right.ids[others[0]]} and {right.ids[others[1]]}",
                remedy="Narrow a filter, or fold one side with ave(…).",
            )
        pairs += [(row, other) for row in rows for other in others]
    return pairs


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
