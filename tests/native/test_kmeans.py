from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.native.extension import choose
from knickpoint.native.kmeans import (
    Lloyd,
    Packed,
    approach_in_c,
    approach_in_numpy,
    assign_in_c,
    assign_in_numpy,
    choose_start,
    lloyd,
    move_in_c,
    move_in_numpy,
    pack_in_c,
    pack_in_numpy,
)

approach = choose(approach_in_numpy, approach_in_c)
assign = choose(assign_in_numpy, assign_in_c)
move = choose(move_in_numpy, move_in_c)
pack = choose(pack_in_numpy, pack_in_c)


def _matrix(seed: int, rows: int, columns: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 150),
    columns=st.integers(1, 40),
    k=st.integers(1, 30),
)
def test_the_nearest_centroid_is_the_one_numpy_finds(seed: int, rows: int, columns: int, k: int) -> None:
    matrix, centroids = _matrix(seed, rows, columns), _matrix(seed + 1, k, columns)
    labels, near = np.empty(rows, np.int32), np.empty(rows, np.float32)
    assign(pack(matrix), matrix.shape, 0, rows, centroids, labels, near)
    exact = (matrix.astype(float)[:, np.newaxis] - centroids[np.newaxis]) ** 2
    squared = exact.sum(axis=2)
    assert np.take_along_axis(squared, labels[:, np.newaxis], 1)[:, 0] == pytest.approx(squared.min(axis=1), abs=1e-4)
    norms = np.square(matrix.astype(float)).sum(axis=1)
    assert norms + 2 * near.astype(float) == pytest.approx(squared.min(axis=1), abs=1e-4)


def test_equally_near_centroids_give_the_first() -> None:
    matrix = np.ones((40, 5), np.float32)
    labels, near = np.empty(40, np.int32), np.empty(40, np.float32)
    assign(pack(matrix), matrix.shape, 0, 40, np.ones((7, 5), np.float32), labels, near)
    assert not labels.any()


@settings(deadline=None)
@given(seed=st.integers(0, 2**31), rows=st.integers(1, 80), k=st.integers(1, 9))
def test_sums_follow_the_rows_that_move(seed: int, rows: int, k: int) -> None:
    draw = np.random.default_rng(seed)
    matrix = _matrix(seed, rows, 7)
    before = draw.integers(-1, k, rows).astype(np.int32)
    after = draw.integers(0, k, rows).astype(np.int32)
    mine, theirs = (np.zeros((k, 7)), np.zeros(k, np.int64)), (np.zeros((k, 7)), np.zeros(k, np.int64))
    assert move(matrix, 0, rows, before, after, *mine) == (before != after).sum()
    move_in_numpy(matrix, 0, rows, before, after, *theirs)
    assert mine[0] == pytest.approx(theirs[0], abs=1e-9)
    assert mine[1].tolist() == theirs[1].tolist()


def test_the_number_of_threads_changes_nothing() -> None:
    matrix = _matrix(1, 9000, 12)
    one = lloyd(matrix, matrix[:17], threads=1)
    three = lloyd(matrix, matrix[:17], threads=3)
    assert one.labels.tobytes() == three.labels.tobytes()
    assert one.centroids.tobytes() == three.centroids.tobytes()
    assert one.iterations == three.iterations


@pytest.mark.parametrize(("iterations", "packed"), [(300, [5000]), (2, [5000]), (1, [2048, 2048, 904] * 2)])
def test_a_matrix_is_packed_once_where_iterations_follow_and_by_blocks_for_two_passes(
    iterations: int, packed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix, packs = _matrix(4, 5000, 6), list[int]()

    def counted(rows: NDArray[np.float32]) -> NDArray[np.float32]:
        packs.append(len(rows))
        return pack(rows)

    monkeypatch.setattr(sys.modules["knickpoint.native.kmeans"], "pack", counted)
    lloyd(matrix, matrix[:20], iterations=iterations)
    assert packs == packed


def test_at_the_end_every_centroid_is_the_mean_of_its_rows() -> None:
    matrix = _matrix(2, 500, 6)
    found = lloyd(matrix, matrix[:5])
    assert found.converged
    for cluster in range(5):
        members = matrix[found.labels == cluster]
        assert len(members) == found.counts[cluster]
        assert found.centroids[cluster] == pytest.approx(members.mean(axis=0, dtype=float), abs=1e-5)


def test_iterations_stop_at_the_limit() -> None:
    matrix = _matrix(3, 2000, 6)
    found = lloyd(matrix, matrix[:20], iterations=2)
    assert found.iterations == 2
    assert not found.converged


def test_a_cluster_without_rows_keeps_its_centroid() -> None:
    matrix = np.zeros((10, 3), np.float32)
    start = np.array([[0, 0, 0], [9, 9, 9]], np.float32)
    found = lloyd(matrix, start)
    assert found.centroids.tolist() == start.tolist()
    assert found.counts.tolist() == [10, 0]


def test_distances_are_euclidean() -> None:
    matrix = np.array([[3, 4], [0, 0]], np.float32)
    state = Lloyd(matrix, 1)
    state.assign(np.zeros((1, 2), np.float32))
    assert state.distances().tolist() == [5, 0]


@settings(deadline=None)
@given(seed=st.integers(0, 2**31), rows=st.integers(1, 100), columns=st.integers(1, 40), first=st.sampled_from([0, 32]))
def test_how_near_a_row_is_has_the_same_bits_as_in_numpy(seed: int, rows: int, columns: int, first: int) -> None:
    matrix = _matrix(seed, first + rows, columns)
    centroid = matrix[0] + 1
    ours, theirs = (np.full(len(matrix), 2.0 * columns, np.float32) for _ in range(2))
    approach(pack(matrix), matrix.shape, first, len(matrix), centroid, ours)
    approach_in_numpy(matrix, matrix.shape, first, len(matrix), centroid, theirs)
    assert ours.tobytes() == theirs.tobytes()
    exact = ((matrix[first:].astype(float) - centroid) ** 2).sum(axis=1)
    assert ours[first:] == pytest.approx(np.minimum(exact, 2.0 * columns), rel=1e-4)
    assert (ours[:first] == 2.0 * columns).all()


def test_rows_chosen_are_different_and_do_not_depend_on_the_threads() -> None:
    matrix = _matrix(4, 5000, 12)
    chosen = choose_start(matrix, 30, np.random.default_rng(1))
    assert len(set(chosen)) == 30
    assert chosen == choose_start(Packed.of(matrix), 30, np.random.default_rng(1), threads=2)


def test_no_more_rows_are_chosen_than_differ() -> None:
    matrix = np.repeat(_matrix(4, 3, 5), 40, axis=0)
    assert len({chosen // 40 for chosen in choose_start(matrix, 10, np.random.default_rng(0))}) == 3
