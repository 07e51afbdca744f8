from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knickpoint.native import COMPILED
from knickpoint.native.forest import Forest, judge, take_parts, take_parts_in_numpy
from knickpoint.native.segmentation import CERTAIN, Segmentation, segment, segment_many
from knickpoint.native.segmentation.search import segment_in_numpy, segment_many_in_numpy

NONE = np.zeros(0, np.int32)
RULE = Forest(0.0, NONE, NONE, NONE, NONE, np.zeros(0), np.zeros(0))
STUMPS = Forest(
    base=-0.5,
    root=np.array([0, 3], np.int32),
    feature=np.array([0, -1, -1, 9, -1, -1], np.int32),
    below=np.array([1, 0, 0, 4, 0, 0], np.int32),
    above=np.array([2, 0, 0, 5, 0, 0], np.int32),
    bound=np.array([4.0, 0.0, 0.0, 10.5, 0.0, 0.0]),
    value=np.array([0.2, -1.0, 2.0, 0.1, -0.25, 0.5]),
)
UNEVEN = Forest(
    base=0.25,
    root=np.array([0, 1, 4], np.int32),
    feature=np.array([-1, 2, -1, -1, 9, 4, -1, 22, -1, -1, -1], np.int32),
    below=np.array([0, 2, 0, 0, 5, 6, 0, 8, 0, 0, 0], np.int32),
    above=np.array([0, 3, 0, 0, 10, 7, 0, 9, 0, 0, 0], np.int32),
    bound=np.array([0.0, 1.5, 0.0, 0.0, 60.5, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0]),
    value=np.array([0.125, 0.0, -0.5, 0.75, 0.1, 0.2, -0.3, 0.4, 0.6, -0.7, 0.9]),
)
"""A leaf alone, a stump, and a tree of which one side ends early."""
BEYOND = dataclasses.replace(
    STUMPS,
    feature=np.array([20, -1, -1, 21, -1, -1], np.int32),
    bound=np.array([3.0, 0.0, 0.0, 8.0, 0.0, 0.0]),
)
"""Trees that ask for what changes when levels beyond those of a candidate do: the way back, and the density."""

pytestmark = pytest.mark.skipif(not COMPILED, reason="the kernels were not built")


def compiled(values: np.ndarray, forest: Forest, threshold: float, whole_path: bool) -> Segmentation:  # noqa: FBT001
    from knickpoint.native.segmentation.search import segment_in_c as segment

    return segment(values, forest, threshold, whole_path)


def random_series(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) if seed % 2 else rng.standard_t(2, n)
    for _ in range(rng.integers(0, 4)):
        values[rng.integers(0, n) :] += rng.normal() * 4
    if seed % 3 == 0 and n > 30:
        first = int(rng.integers(0, n - 8))
        values[first : first + 5] += 40
    return values


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 300), st.booleans())
def test_compiled_and_numpy_walk_the_same_path(seed: int, n: int, whole_path: bool) -> None:  # noqa: FBT001
    values = random_series(seed, n)
    for forest in (RULE, STUMPS):
        found, expected = (find(values, forest, 2.0, whole_path) for find in (compiled, segment_in_numpy))
        assert found.indices.tolist() == expected.indices.tolist()
        assert found.rounds.tolist() == expected.rounds.tolist()
        assert np.allclose(found.scores, expected.scores, rtol=1e-8, atol=1e-8)
        assert np.allclose(found.facts, expected.facts, rtol=1e-8)
        if found.indices.size:
            assert np.allclose(found.features, expected.features, rtol=1e-8, atol=1e-8)
            assert np.allclose(found.proofs, expected.proofs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n", [1024, 1025, 1536, 1537, 2600])
def test_long_series_are_put_in_order_piece_by_piece_as_if_at_once(n: int) -> None:
    values = np.repeat(random_series(1, n // 40 + 1), 40)[:n] * 3 + random_series(n, n)
    found, expected = (find(values, RULE, 2.0, False) for find in (compiled, segment_in_numpy))
    assert found.indices.tolist() == expected.indices.tolist()
    assert np.allclose(found.features, expected.features, rtol=1e-8, atol=1e-8)
    assert np.allclose(found.proofs, expected.proofs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", [3, 4])
def test_candidates_whose_own_levels_stay_are_judged_as_if_described_anew(seed: int) -> None:
    values: np.ndarray = random_series(seed, 120) + np.repeat(np.random.default_rng(seed).permutation(20) * 3.0, 6)
    found, expected = (find(values, BEYOND, np.inf, True) for find in (compiled, segment_in_numpy))
    assert found.indices.tolist() == expected.indices.tolist()
    assert np.allclose(found.scores, expected.scores, rtol=0, atol=1e-9)
    assert np.allclose(found.features, expected.features, rtol=1e-8, atol=1e-8)
    assert np.allclose(found.proofs, expected.proofs, rtol=1e-8, atol=1e-8)


def parts_of(found: Segmentation, forest: Forest, take: Callable[[Forest, np.ndarray], np.ndarray]) -> np.ndarray:
    return take(forest, found.features)


def test_the_parts_of_a_score_add_up() -> None:
    found = compiled(random_series(3, 250), STUMPS, np.inf, whole_path=True)
    assert found.indices.size
    rest = found.scores - parts_of(found, STUMPS, take_parts).sum(axis=1) - STUMPS.base - 0.3
    assert np.all(np.isclose(rest, 0) | np.isclose(rest, CERTAIN))


@pytest.mark.parametrize("forest", [STUMPS, UNEVEN], ids=["stumps", "uneven"])
def test_trees_of_any_shape_score_as_in_numpy(forest: Forest) -> None:
    found = compiled(random_series(5, 290), forest, np.inf, whole_path=True)
    assert np.allclose(
        [judge(forest, row) for row in found.features],
        found.scores - CERTAIN * (found.scores > 5),
        rtol=0,
        atol=1e-12,
    )
    expected = parts_of(found, forest, take_parts_in_numpy)
    assert np.allclose(parts_of(found, forest, take_parts), expected, rtol=0, atol=1e-12)


@pytest.fixture
def threads_in_quick_turns() -> Iterator[None]:
    """Let each thread run for a microsecond, then another one."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("threads_in_quick_turns")
def test_threads_that_read_one_forest_for_the_first_time_at_once_get_the_same_parts() -> None:
    features = np.arange(40.0)[None]
    expected = take_parts(UNEVEN, features)
    for _ in range(40):
        forest, begin, found = dataclasses.replace(UNEVEN), threading.Barrier(4), list[np.ndarray]()

        def read(forest: Forest = forest, begin: threading.Barrier = begin, found: list[np.ndarray] = found) -> None:
            begin.wait()
            found.append(take_parts(forest, features))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert np.array_equal(found, [expected] * 4)


def test_a_series_with_more_candidates_than_expected_is_found_whole() -> None:
    values = np.repeat(np.random.default_rng(1).permutation(200) * 1.0, 4)
    found = compiled(values, RULE, np.inf, whole_path=True)
    assert found.rounds.max() > 10


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 120), max_size=6), st.sampled_from([1.0, 1e-150, 1e200]))
def test_series_end_to_end_are_segmented_as_each_by_itself(seed: int, sizes: list[int], scale: float) -> None:
    series = [random_series(seed + number, n) * (scale if number % 2 else 1.0) for number, n in enumerate(sizes) if n]
    series.append(np.empty(0))
    thresholds = np.linspace(-1, 3, len(series))
    ends = np.cumsum([values.size for values in series])
    together = segment_many(np.concatenate(series), ends, STUMPS, thresholds)
    for number, (values, threshold) in enumerate(zip(series, thresholds.tolist(), strict=True)):
        expected, found = segment(values, STUMPS, threshold), together.of(number)
        assert found.indices.tolist() == expected.indices.tolist()
        assert found.scores.tolist() == expected.scores.tolist()
        assert tuple(together.facts[number].tolist()) == found.facts == expected.facts
        assert together.stay[number] == np.count_nonzero(expected.rounds < 0)


def test_one_of_many_series_that_drops_more_than_expected_is_found_whole() -> None:
    steady, unsteady = random_series(1, 100), np.repeat(np.random.default_rng(1).permutation(200) * 1.0, 4)
    values, ends = np.concatenate([steady, unsteady, steady]), np.cumsum([100, 800, 100])
    together = segment_many(values, ends, RULE, np.full(3, np.inf))
    assert together.of(1).rounds.tolist() == segment(unsteady, RULE, np.inf).rounds.tolist()
    assert together.of(2).rounds.tolist() == segment(steady, RULE, np.inf).rounds.tolist()


def test_numpy_segments_many_series_as_the_kernel_does() -> None:
    from knickpoint.native.segmentation import search

    values, ends = np.concatenate([random_series(3, 100), random_series(4, 80)]), np.array([100, 180])
    found, expected = (
        find(values, ends, STUMPS, np.array([2.0, 1.0])) for find in (search.segment_many_in_c, segment_many_in_numpy)
    )
    assert found.stay.tolist() == expected.stay.tolist()
    assert np.allclose(found.facts, expected.facts, rtol=1e-8)
    assert [found.of(k).indices.tolist() for k in (0, 1)] == [expected.of(k).indices.tolist() for k in (0, 1)]
