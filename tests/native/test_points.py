"""The compiled kernels of the store give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.native import COMPILED
from knickpoint.native.points import PointTiles, lay_in_c, lay_in_numpy, narrowed_in_c, narrowed_in_numpy

pytestmark = pytest.mark.skipif(not COMPILED, reason="the kernels were not built")

CHUNK = 16
SLOTS = 40


@given(st.lists(st.floats() | st.floats(width=32), max_size=70))
def test_values_become_small_only_where_nothing_is_lost(values: list[float]) -> None:
    given_values = np.array(values)
    small, exact, finite = narrowed_in_c(given_values)
    expected, expected_exact, expected_finite = narrowed_in_numpy(given_values)
    np.testing.assert_array_equal(small, expected)
    assert (exact, finite) == (expected_exact, expected_finite)


@st.composite
def tiles_of(draw: st.DrawFn) -> tuple[NDArray[np.int64], PointTiles, NDArray[np.int32], int]:
    ids = np.array(draw(st.lists(st.integers(0, 3 * CHUNK - 1), min_size=1, max_size=40).map(sorted)), dtype=np.int64)
    points, facts = [], []
    for chunk in np.unique(ids // CHUNK).tolist():
        width = draw(st.sampled_from([4, 8]))
        places = st.tuples(st.integers(0, CHUNK - 1), st.integers(0, SLOTS - 1))
        held = sorted(draw(st.sets(places, max_size=60)))
        record = np.dtype([("place", "<u2"), ("slot", "<u2"), ("value", f"<f{width}")])
        points.append(np.array([(*place, number + 0.1) for number, place in enumerate(held)], dtype=record).tobytes())
        begin, end = np.searchsorted(ids, [chunk * CHUNK, (chunk + 1) * CHUNK]).tolist()
        facts.append((width, draw(st.integers(0, 9)), begin, end, 0, draw(st.integers(0, 10))))
    tiles = PointTiles(points, *np.array(facts, dtype=np.int64).T)
    low = draw(st.integers(0, 12))
    columns = draw(st.lists(st.integers(-1, 9), min_size=1, max_size=SLOTS))
    return ids, tiles, np.array(columns, dtype=np.int32), low


def filled(shape: tuple[int, int], tiles: PointTiles) -> NDArray[np.floating]:
    wide = bool((tiles.widths == 8).any())
    return np.full(shape, -1.0, dtype=np.float64 if wide else np.float32)


@given(tiles_of())
def test_points_are_laid_out_as_numpy_does(
    drawn: tuple[NDArray[np.int64], PointTiles, NDArray[np.int32], int],
) -> None:
    ids, tiles, columns, low = drawn
    found, expected = filled((len(ids), 10), tiles), filled((len(ids), 10), tiles)
    lay_in_c(tiles, ids, CHUNK, columns, low, found)
    lay_in_numpy(tiles, ids, CHUNK, columns, low, expected)
    np.testing.assert_array_equal(found, expected)
