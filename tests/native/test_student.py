from __future__ import annotations

import math

import pytest

from knickpoint.native.student import student_p_value, student_p_value_in_numpy


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 20, 48, 500, 20_000])
@pytest.mark.parametrize("t", [0.0, 1e-4, 0.3, 1.0, 2.5, 6.0, 20.0, -2.0])
def test_students_p_is_that_of_scipy(t: float, freedom: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = float(2 * stats.t.sf(abs(t), freedom))
    assert student_p_value(t, freedom) == pytest.approx(expected, rel=1e-9)
    assert student_p_value_in_numpy(t, freedom) == pytest.approx(expected, rel=1e-9)


def test_an_infinite_t_has_no_chance_and_no_t_has_no_p() -> None:
    assert student_p_value(math.inf, 5) == 0
    assert math.isnan(student_p_value(math.nan, 5))
