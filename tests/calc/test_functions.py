"""The functions of formulas against the standard library, on generated traces with missing values."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.calc import FOLDS
from knickpoint.calc.traces import PER_TRACE, normalised

Row = list[float]

_VALUES = st.floats(min_value=0.001, max_value=1000.0)
_ROWS = st.lists(st.one_of(_VALUES, st.just(math.nan)), min_size=1, max_size=12)


def _measured(row: Row) -> Row:
    return [value for value in row if not math.isnan(value)]


def _filled(row: Row) -> Row:
    """Give each missing value the next one, at the end the last one, 0 where there is none."""
    measured = _measured(row)
    return [next(iter(_measured(row[index:])), measured[-1] if measured else 0.0) for index in range(len(row))]


def _halves(row: Row) -> float:
    before, after = (_measured(part) for part in (row[: len(row) // 2], row[len(row) // 2 :]))
    return statistics.fmean(before) / statistics.fmean(after) if before and after else math.nan


def _everywhere(of: Callable[[Row], float]) -> Callable[[Row], Row]:
    return lambda row: [of(_measured(row)) if _measured(row) else math.nan] * len(row)


_EXPECTED: dict[str, Callable[[Row], Row]] = {
    "fill": _filled,
    "log": lambda row: [math.log10(value) for value in row],
    "scale_by_ave": lambda row: [value / statistics.fmean(_measured(row) or [math.nan]) for value in row],
    "step": lambda row: [_halves(row)] * len(row),
    "trace_ave": _everywhere(statistics.fmean),
    "trace_cov": _everywhere(lambda row: statistics.pstdev(row) / statistics.fmean(row)),
    "trace_stddev": _everywhere(statistics.pstdev),
}


@pytest.mark.parametrize("name", sorted(_EXPECTED))
@given(row=_ROWS)
def test_a_function_of_one_trace_is_what_its_name_says(name: str, row: Row) -> None:
    found = PER_TRACE[name][1](np.array([row]))[0]
    np.testing.assert_allclose(found, _EXPECTED[name](row), rtol=1e-9, atol=1e-9)


@given(row=_ROWS)
def test_norm_gives_mean_0_and_deviation_1_where_the_values_differ(row: Row) -> None:
    found = _measured(normalised(np.array([row]))[0].tolist())
    if found:
        assert statistics.fmean(found) == pytest.approx(0.0, abs=1e-6)
        assert statistics.pstdev(found) == pytest.approx(1.0, abs=1e-6) or max(found) == pytest.approx(
            min(found), abs=1e-6
        )


@given(row=st.lists(_VALUES, min_size=5, max_size=20))
def test_what_lies_far_outside_the_quartiles_is_taken_out_and_nothing_else(row: Row) -> None:
    far = 10_000.0 + 10.0 * max(row)
    found = PER_TRACE["iqrr"][1](np.array([[*row, *row, far]]))[0]
    low, high = np.quantile([*row, *row, far], [0.25, 0.75], method="median_unbiased")
    reach = 1.5 * (high - low)
    outside = [value < low - reach or value > high + reach for value in [*row, *row, far]]
    assert np.isnan(found).tolist() == outside
    assert outside[-1]


_FOLDED: dict[str, Callable[[Row], float]] = {
    "avg": statistics.fmean,
    "count": len,
    "geo": statistics.geometric_mean,
    "max": max,
    "min": min,
    "std": statistics.pstdev,
    "sum": math.fsum,
}


@pytest.mark.parametrize("name", sorted(FOLDS))
@given(row=_ROWS)
def test_a_fold_is_what_its_name_says(name: str, row: Row) -> None:
    measured = _measured(row)
    nothing = 0.0 if name == "count" else math.nan
    expected = _FOLDED[name](measured) if measured else nothing
    np.testing.assert_allclose(FOLDS[name](np.array([row]).T), [expected], rtol=1e-9, atol=1e-9)
