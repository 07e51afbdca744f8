from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster import vq

from knickpoint.detect import find_steps, modes
from knickpoint.detect.methods.modes.method import best_partitions, find_modes, flatten
from knickpoint.model.errors import InputError
from knickpoint.model.step import Movement


def _levels(*parts: tuple[float, int], seed: int = 5, noise: float = 1.0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.concatenate([level + rng.normal(0, noise, length) for level, length in parts])


def _indices(values: NDArray[np.float64], window: int = 5) -> list[int]:
    return [step.index for step in modes(values, window=window).steps]


def _brute_force(values: NDArray[np.float64], groups: int) -> float:
    ordered = np.sort(values)
    costs = []
    for cuts in combinations(range(1, ordered.size), groups - 1):
        parts = [ordered[first:last] for first, last in pairwise([0, *cuts, ordered.size])]
        costs.append(sum(float(np.square(part - part.mean()).sum()) for part in parts))
    return min(costs)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=10), st.integers(1, 5))
def test_no_division_is_better_than_the_partition(numbers: list[int], most: int) -> None:
    values = np.array(numbers, dtype=np.float64)
    partitions = best_partitions(values, most)
    assert len(partitions) == min(most, len(set(numbers)))
    for groups, partition in enumerate(partitions, start=1):
        assert partition.squares == pytest.approx(_brute_force(values, groups), abs=1e-9)
        again = float(np.square(values - partition.means[partition.labels]).sum())
        assert again == pytest.approx(partition.squares, abs=1e-9)
        assert partition.counts.tolist() == np.bincount(partition.labels, minlength=groups).tolist()


def test_lloyd_from_many_starts_never_beats_the_partition() -> None:
    values = np.random.default_rng(2).normal(size=300)
    best = best_partitions(values, 5)[4].squares
    for seed in range(10):
        centroids, _ = vq.kmeans2(values[:, None], 5, seed=seed, minit="points")
        distances = np.abs(values[:, None] - centroids.ravel()).min(axis=1)
        assert best <= float(np.square(distances).sum()) + 1e-9


def test_a_move_between_modes_is_found_with_its_direction() -> None:
    steps = find_steps(_levels((10, 40), (20, 40), (10, 40)), method="modes")
    assert [(step.index, step.movement) for step in steps] == [(40, Movement.UP), (80, Movement.DOWN)]


@pytest.mark.parametrize(("window", "strays", "found"), [(4, 2, 0), (4, 3, 2), (3, 1, 0), (3, 2, 2), (2, 1, 2)])
def test_the_window_ignores_visits_two_shorter_than_itself(window: int, strays: int, found: int) -> None:
    values = _levels((10, 30), (30, strays), (10, 30))
    assert len(_indices(values, window)) == found


def test_a_staircase_without_noise_has_all_its_steps_though_its_levels_are_evenly_apart() -> None:
    assert _indices(_levels((50, 25), (60, 25), (70, 25), (60, 25), noise=0.0)) == [25, 50, 75]


def test_an_ignored_visit_is_a_candidate_with_its_length() -> None:
    detection = modes(_levels((10, 30), (30, 2), (10, 30)))
    (candidate,) = detection.candidates
    assert (candidate.index, candidate.accepted, candidate.reason) == (30, False, "a visit of 2, shorter than 4")


def test_a_visit_that_the_series_begins_with_is_a_candidate_where_it_ends() -> None:
    (candidate,) = modes(_levels((30, 2), (10, 30))).candidates
    assert (candidate.index, candidate.accepted, candidate.reason) == (2, False, "a visit of 2, shorter than 4")


def test_a_visit_at_the_newest_values_waits() -> None:
    detection = modes(_levels((10, 30), (30, 2)))
    assert not detection.steps
    assert "it may go on" in detection.candidates[0].reason


def test_a_stray_between_two_modes_goes_to_the_nearer() -> None:
    values = _levels((10, 30), (28, 1), (30, 30), noise=0.1)
    assert _indices(values) == [30]
    values = _levels((10, 30), (12, 1), (30, 30), noise=0.1)
    assert _indices(values) == [31]


def test_missing_values_do_not_interrupt_a_visit() -> None:
    values = _levels((10, 30), (20, 30))
    spread = np.full(120, np.nan)
    spread[::2] = values
    (step,) = find_steps(spread, method="modes")
    assert (step.index, step.previous) == (60, 58)


def test_flattened_levels_are_constant_between_steps() -> None:
    values = _levels((10, 30), (20, 30))
    values[5] = np.nan
    flat = flatten(values)
    assert np.isnan(flat[5])
    assert len(set(flat[~np.isnan(flat)].tolist())) == 2
    assert np.unique(flat[30:]).tolist() == pytest.approx([20], abs=0.5)


@pytest.mark.parametrize("law", ["normal", "uniform", "laplace"])
def test_one_noisy_level_is_one_mode(law: str) -> None:
    values = getattr(np.random.default_rng(6), law)(size=200)
    partition, _ = find_modes(values)
    assert partition.means.size == 1 or not _indices(values)


def test_values_on_a_grid_are_not_a_mode_each() -> None:
    values = np.round(_levels((100, 200), noise=1.2))
    assert modes(values).facts["modes"] == 1


def test_two_exact_levels_are_two_modes() -> None:
    detection = modes(np.r_[np.full(20, 5000.0), np.full(20, 5001.0)])
    assert [step.index for step in detection.steps] == [20]
    assert (detection.facts["mode 1"], detection.facts["mode 2"]) == (5000.0, 5001.0)


def test_three_modes_in_turn_make_no_step_and_no_delay() -> None:
    values = np.tile([1.0, 9.0, 20.0], 2000)
    assert _indices(values) == []


def test_a_small_effect_is_rejected_with_its_size() -> None:
    detection = modes(_levels((100, 30), (110, 30)), minimum_effect=0.5)
    assert not detection.steps
    assert "less than 0.5" in detection.candidates[0].reason


@pytest.mark.parametrize("values", [[], [1.0], [np.nan] * 40, [3.0] * 40])
def test_series_without_a_change_have_no_steps(values: list[float]) -> None:
    assert _indices(np.array(values)) == []


@pytest.mark.parametrize("parameters", [{"window": 1}, {"most": 0}, {"separation": 0.0}])
def test_impossible_parameters_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(InputError):
        modes(_levels((1, 9)), **parameters)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([2.0**-30, 2.0**20]), shift=st.sampled_from([-64.0, 1024.0]))
def test_shift_and_scale_change_nothing(seed: int, scale: float, shift: float) -> None:
    values = _levels((10, 30), (18, 30), seed=seed)
    assert _indices(values) == _indices((values + shift) * scale)


def test_a_stray_at_the_end_of_the_range_of_floats_breaks_nothing() -> None:
    values = _levels((100, 30), (110, 30))
    expected = _indices(values)
    values[10] = np.finfo(np.float64).max
    assert _indices(values) in ([], expected)


def test_modes_of_values_whose_squares_are_too_large_are_found() -> None:
    values = _levels((100, 30), (110, 30))
    assert _indices(values * 2.0**900) == _indices(values)
