from __future__ import annotations

import math

import numpy as np
import pytest

from knickpoint.detect.measured_series import check_frame, check_series, drop_missing
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


def test_nothing_is_a_series_of_no_values() -> None:
    assert drop_missing([]).values.size == 0
