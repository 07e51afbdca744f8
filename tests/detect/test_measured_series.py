from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import ArrayLike

from knickpoint.detect.measured_series import check_frame, check_series, drop_missing
from knickpoint.detect.samples import check_samples
from knickpoint.model.errors import SeriesError

NAN = math.nan


def test_missing_values_are_set_aside_and_their_rows_kept() -> None:
    series = drop_missing([NAN, 2, NAN, 4])
    assert series.length == 4
    assert series.rows.tolist() == [1, 3]
    assert series.values.tolist() == [2, 4]


def test_whole_numbers_become_float64() -> None:
    assert check_series([1, 2]).dtype == np.float64


def test_an_infinity_is_refused_with_its_index() -> None:
    with pytest.raises(SeriesError, match="index 2: the value is infinite"):
        check_series([1, NAN, math.inf])


def test_an_infinity_in_a_frame_is_refused_with_row_and_column() -> None:
    with pytest.raises(SeriesError, match="index 1, 0"):
        check_frame([[1.0, 2.0], [-math.inf, 3.0]])


@pytest.mark.parametrize("values", [3.0, [[1.0]], np.zeros((2, 2))])
def test_a_series_has_one_dimension(values: object) -> None:
    with pytest.raises(SeriesError, match="dimensions"):
        check_series(values)  # type: ignore[arg-type]


def test_a_column_of_dates_is_refused_instead_of_judged_as_seconds() -> None:
    with pytest.raises(SeriesError, match="the values are dates"):
        check_series(np.arange(30).astype("datetime64[s]"))


@pytest.mark.parametrize(
    "values", [np.array([1 + 2j, 3.0]), [1.0, 10**400], ["fast"]], ids=["complex", "beyond floats", "text"]
)
def test_what_floats_cannot_hold_is_refused(values: object) -> None:
    with pytest.raises(SeriesError, match=r"numbers.*fit 64-bit floats"):
        check_series(values)  # type: ignore[arg-type]


def test_masked_values_are_missing() -> None:
    assert drop_missing(np.ma.masked_equal([1.0, -1.0, 2.0], -1.0)).rows.tolist() == [0, 2]
    assert np.isnan(check_frame(np.ma.masked_equal([[1.0, -1.0]], -1.0))).tolist() == [[False, True]]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(pd.to_timedelta([1.5, None, 3.0], unit="s")),
        np.array([1500, "NaT", 3000], "timedelta64[ms]"),
        pl.Series([timedelta(seconds=1.5), None, timedelta(seconds=3)]),
        pd.Series([1.5, pd.NA, 3.0], dtype="Float64"),
        pd.Series([1.5, pd.NA, 3.0], dtype=object),
        pd.Series([1.5, None, 3.0], dtype="float64[pyarrow]"),
        pl.Series([1.5, None, 3.0]),
        [1.5, None, 3],
    ],
    ids=["pandas durations", "numpy durations", "polars durations", "nullable", "objects", "arrow", "polars", "list"],
)
def test_durations_are_seconds_and_what_is_missing_in_any_library_is_nan(values: ArrayLike) -> None:
    assert check_series(values).tolist() == pytest.approx([1.5, NAN, 3.0], nan_ok=True)


@pytest.mark.parametrize(
    "dates",
    [
        pd.Series(pd.date_range("2026-01-01", periods=9)),
        pd.Series(pd.date_range("2026-01-01", periods=9, tz="UTC")),
        pl.Series([date(2026, 1, day) for day in range(1, 10)]),
        pl.Series([datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 10)]),
    ],
    ids=["pandas", "pandas with zone", "polars dates", "polars times"],
)
def test_dates_of_any_library_are_refused(dates: ArrayLike) -> None:
    with pytest.raises(SeriesError, match="the values are dates"):
        check_series(dates)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_a_data_frame_is_refused_since_its_rows_may_be_commits_or_traces(library: Any) -> None:
    frame = library.DataFrame({"parse": [1.0, 2.0], "render": [3.0, 4.0]})
    with pytest.raises(SeriesError, match=r"data frame.*to_numpy\(\)\.T if its rows are commits"):
        check_frame(frame)
    with pytest.raises(SeriesError, match=r"data frame.*Give one of its columns"):
        check_series(frame)
    with pytest.raises(SeriesError, match=r"data frame.*list\(frame.to_numpy\(\)\)"):
        check_samples(frame, None)


def test_nothing_is_a_series_of_no_values() -> None:
    assert drop_missing([]).values.size == 0
