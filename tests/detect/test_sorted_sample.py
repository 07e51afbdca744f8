"""Removing the value furthest from the median, again and again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.detect.outliers import SortedSample
from knickpoint.model.distribution import MAD


def _furthest(values: NDArray[np.float64]) -> tuple[int, float] | None:
    """Return the answer by looking at every value."""
    distance = np.abs(values - np.median(values))
    deviation = MAD * float(np.median(distance))
    return (int(distance.argmax()), float(distance.max()) / deviation) if deviation > 0 else None


@given(st.lists(st.integers(-20, 20) | st.sampled_from([500, -500, 10**6]), min_size=3, max_size=60))
def test_each_removal_takes_the_first_of_the_values_furthest_from_the_median(numbers: list[int]) -> None:
    values = np.array(numbers, dtype=np.float64)
    places = np.arange(values.size)
    sample = SortedSample(values)
    while values.size > 2:
        expected, removed = _furthest(values), sample.remove_extreme()
        if expected is None or removed is None:
            assert removed == expected
            return
        assert removed == (places[expected[0]], expected[1])
        values, places = np.delete(values, expected[0]), np.delete(places, expected[0])
        assert len(sample) == values.size


def test_squares_that_are_no_floats_matter_to_no_removal() -> None:
    sample = SortedSample(np.array([1e300, 1.1e300, 0.9e300, 1.7e308, 1.05e300]))
    assert [(removed or (None,))[0] for removed in (sample.remove_extreme(), sample.remove_extreme())] == [3, 2]
