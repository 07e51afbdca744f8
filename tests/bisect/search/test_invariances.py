"""What must not matter to a posterior: the order of observations, the unit of values, the direction of the range."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.bisect.search import explain, posterior
from knickpoint.bisect.search.problem import Level, Observation, Problem
from knickpoint.model.posterior import Posterior

PLACES = st.lists(st.tuples(st.integers(0, 12), st.sampled_from("ab"), st.floats(-6, 6)), min_size=1, max_size=12)
PROBLEM = Problem(12, before=Level(0.0, 1.0, 20), after=Level(3.0, 1.0, 20), movement=1)


def observed(rows: list[tuple[int, str, float]]) -> list[Observation]:
    return [Observation(place, device, value) for place, device, value in rows]


def numbers(result: Posterior) -> list[float]:
    return [*result.single, *result.marginal, result.none, result.several]


@pytest.mark.thorough
@settings(max_examples=examples(8), deadline=None)
@given(PLACES)
def test_the_order_of_observations_changes_nothing(rows: list[tuple[int, str, float]]) -> None:
    shuffled = sorted(rows, key=lambda row: (row[2], row[0]))
    assert numbers(posterior(PROBLEM, observed(shuffled))) == numbers(posterior(PROBLEM, observed(rows)))


@pytest.mark.thorough
@settings(max_examples=examples(8), deadline=None)
@given(PLACES)
def test_probabilities_are_a_distribution(rows: list[tuple[int, str, float]]) -> None:
    result = posterior(PROBLEM, observed(rows))
    assert result.single.sum() + result.none + result.several == pytest.approx(1.0)
    assert np.all(result.marginal >= result.single - 1e-12)
    assert result.marginal.sum() == pytest.approx(result.single.sum() + 2 * result.several)


@pytest.mark.thorough
@settings(max_examples=examples(8), deadline=None)
@given(PLACES, st.sampled_from([1e-6, 0.5, 1000.0]), st.sampled_from([0.0, -40.0]))
def test_the_unit_of_values_changes_nothing(rows: list[tuple[int, str, float]], factor: float, shift: float) -> None:
    def level(known: Level) -> Level:
        return Level(known.mean * factor + shift * factor, known.deviation * factor, known.count)

    scaled = replace(PROBLEM, before=level(PROBLEM.before), after=level(PROBLEM.after))
    moved = [replace(o, value=(o.value + shift) * factor) for o in observed(rows)]
    assert numbers(posterior(scaled, moved)) == pytest.approx(numbers(posterior(PROBLEM, observed(rows))), abs=1e-4)


@pytest.mark.thorough
@settings(max_examples=examples(8), deadline=None)
@given(PLACES)
def test_a_mirrored_problem_has_the_mirrored_answer(rows: list[tuple[int, str, float]]) -> None:
    mirrored = replace(PROBLEM, before=PROBLEM.after, after=PROBLEM.before, movement=-1)
    turned = [replace(o, place=12 - o.place) for o in observed(rows)]
    here, there = posterior(PROBLEM, observed(rows)), posterior(mirrored, turned)
    assert here.marginal == pytest.approx(there.marginal[::-1], abs=1e-5)
    assert here.none == pytest.approx(there.none, abs=1e-5)


def test_offsets_of_devices_are_part_of_the_model() -> None:
    rows = [(p, d, 3.0 * (p >= 6) + 5.0 * (d == "b") + 0.1 * (p % 3)) for p in (0, 3, 5, 6, 9, 12) for d in "ab"]
    found = explain(PROBLEM, observed(rows))
    assert found is not None
    offsets = dict(found.offsets)
    assert offsets["b"] - offsets["a"] == pytest.approx(5.0, abs=0.5)
    assert int(np.argmax(posterior(PROBLEM, observed(rows)).marginal)) + 1 == 6


def test_a_gross_outlier_has_no_weight() -> None:
    rows = [(p, "a", 3.0 * (p >= 6) + 0.3 * (p % 3)) for p in (0, 1, 3, 5, 6, 9, 12)]
    found = explain(PROBLEM, observed([*rows, (2, "a", 300.0)]))
    assert found is not None
    assert found.weights[-1] < 0.01
    assert min(found.weights[:-1]) > 0.5


def test_exactly_equal_values_find_a_step_of_a_counter() -> None:
    counter = Problem(12, before=Level(1000.0, 0.0, 20), after=Level(1001.0, 0.0, 20), movement=1)
    result = posterior(counter, [Observation(p, "a", 1000.0 + (p >= 6)) for p in (0, 5, 6, 12)])
    assert result.marginal[5] > 0.95


def test_a_change_in_the_other_direction_is_not_the_change() -> None:
    result = posterior(PROBLEM, observed([(p, "a", 3.0 - 3.0 * (p >= 6)) for p in (0, 0, 3, 5, 6, 9, 12, 12)]))
    assert result.none > 0.95
