from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knickpoint.native import COMPILED
from knickpoint.native.trend import best_slope, explain_slopes, fit_levels, reference

pytestmark = pytest.mark.skipif(not COMPILED, reason="the kernels were not built")


def series(seed: int, size: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return noise with a slope and steps, at places that leave levels of 3 values or more."""
    draw = np.random.default_rng(seed)
    places = tuple(sorted(set((3 * draw.integers(1, size // 3, draw.integers(0, 6))).tolist())))
    values: np.ndarray = draw.normal(size=size) + 1000 * (seed % 2)
    values += np.clip(np.arange(size) - size // 3, 0, size // 2) * draw.normal() * 0.1
    for place in places:
        values[place:] += 5 * draw.normal()
    return values, places


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(31, 500))
def test_compiled_and_numpy_find_slopes_that_explain_as_much(seed: int, size: int) -> None:
    values, places = series(seed, size)
    found, expected = best_slope(values, places), reference.best_slope_in_numpy(values, places)
    assert found is not None
    assert expected is not None
    assert found[2] == pytest.approx(expected[2], rel=1e-8)
    starts = np.unique(np.random.default_rng(seed).integers(0, size, 50))
    explained, other = (
        explain(values, places, starts) for explain in (explain_slopes, reference.explain_slopes_in_numpy)
    )
    assert np.allclose(explained, other, rtol=1e-6, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(31, 500))
def test_compiled_and_numpy_fit_alike(seed: int, size: int) -> None:
    values, places = series(seed, size)
    for slopes in ([], [(0, 30)], [(0, 30), (5, size - 1), (size // 4, size // 2)]):
        fit, expected = (fitting(values, places, slopes) for fitting in (fit_levels, reference.fit_levels_in_numpy))
        for found, other in zip(fit, expected, strict=True):
            assert np.allclose(np.asarray(found), np.asarray(other), rtol=1e-6, atol=1e-6)


def test_a_slope_is_found_at_every_place_of_a_series_of_any_length() -> None:
    for size in (100, 400, 5000, 60_000):
        values = np.clip(np.arange(size, dtype=np.float64) - size // 3, 0.0, size // 4 + 15)
        slope = best_slope(np.asarray(values, np.float64), ())
        assert slope is not None
        assert slope[:2] == (size // 3, size // 3 + size // 4 + 15)


def test_a_slope_that_is_there_twice_counts_once() -> None:
    values = np.arange(60.0)
    fit = fit_levels(values, (), [(0, 59), (0, 59)])
    assert np.allclose(fit.fitted, values)
    assert fit.coefficients.tolist() == pytest.approx([0.0, 1.0, 0.0])
