from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knickpoint.detect.steps import build_step, build_steps, stable_region
from knickpoint.model.errors import SeriesError
from knickpoint.model.step import Movement

NAN = math.nan


def test_a_region_counts_measured_values_only() -> None:
    region = stable_region(np.array([NAN, 1.0, NAN, 3.0, 5.0, NAN]), 0, 5)
    assert (region.first, region.last, region.count) == (1, 4, 3)
    assert (region.minimum, region.maximum, region.median, region.mean, region.variance) == (1, 5, 3, 3, 4)


def test_equal_values_have_no_variance_and_their_own_mean() -> None:
    region = stable_region(np.full(7, 0.1), 0, 6)
    assert region.mean == 0.1
    assert region.variance == 0


def test_a_region_of_values_whose_sum_is_no_float_has_its_mean() -> None:
    region = stable_region(np.array([1.0, 1.7e308, NAN, 1.6e308, 1.5e308]), 1, 4)
    assert (region.first, region.last, region.count, region.median) == (1, 4, 3, 1.6e308)
    assert region.mean == pytest.approx(1.6e308, rel=1e-15)
    assert region.variance == math.inf


def test_a_region_without_a_measurement_is_refused_with_its_place() -> None:
    with pytest.raises(SeriesError, match="index 1 to 2"):
        stable_region(np.array([1.0, NAN, NAN]), 1, 2)


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (2, 1), (0, 3)])
def test_bounds_outside_the_series_are_refused(first: int, last: int) -> None:
    with pytest.raises(SeriesError, match="not inside"):
        stable_region(np.arange(3.0), first, last)


def test_a_step_spans_the_missing_values_before_it() -> None:
    step = build_step(np.array([1.0, 1.0, NAN, NAN, 2.0, 2.0]), 3, method="m")
    assert (step.previous, step.index) == (1, 4)
    assert step.movement is Movement.UP
    assert step.size == 1
    assert step.relative_size == 1
    assert step.hazard == pytest.approx(-math.log(2))


def test_means_too_far_apart_for_their_ratio_have_a_hazard() -> None:
    step = build_step(np.array([1e-300, 1e-300, 1e300]), 2, method="m")
    assert step.hazard == pytest.approx(-600 * math.log(10))


def test_hazard_is_nan_when_a_mean_is_not_positive() -> None:
    assert math.isnan(build_step(np.array([0.0, 0.0, 1.0]), 2, method="m").hazard)


def test_relative_size_from_zero_is_infinite_with_its_sign() -> None:
    assert build_step(np.array([0.0, 0.0, -1.0]), 2, method="m").relative_size == -math.inf


def test_levels_reach_from_step_to_step_and_steps_are_sorted() -> None:
    values = np.repeat([1.0, 5.0, 2.0], 4)
    steps = build_steps(values, [8, 4], method="m", scores=[2.0, 7.0], p_values=[None, 0.01])
    assert [step.index for step in steps] == [4, 8]
    assert [step.order for step in steps] == [1, 0]
    assert [step.score for step in steps] == [7, 2]
    assert [step.p_value for step in steps] == [0.01, None]
    assert steps[0].after == steps[1].before


def test_no_places_make_no_steps() -> None:
    assert build_steps(np.arange(4.0), [], method="m") == ()


@settings(deadline=None)
@given(st.lists(st.floats(-1e9, 1e9) | st.just(NAN), min_size=1, max_size=40))
def test_a_region_equals_what_numpy_says(numbers: list[float]) -> None:
    values = np.array(numbers)
    measured = values[~np.isnan(values)]
    if not measured.size:
        return
    region = stable_region(values, 0, values.size - 1)
    assert region.count == measured.size
    assert (region.minimum, region.maximum) == (measured.min(), measured.max())
    assert region.median == pytest.approx(float(np.median(measured)), rel=1e-15)
    assert region.mean == pytest.approx(float(measured.mean()), rel=1e-9, abs=1e-6)
    if measured.size > 1:
        assert region.variance == pytest.approx(float(measured.var(ddof=1)), rel=1e-9, abs=1e-6)
