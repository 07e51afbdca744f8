from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knickpoint.detect import catapult
from knickpoint.detect.methods.catapult.method import energies
from knickpoint.model.errors import InputError


def _energy(values: list[float], place: int) -> float:
    parts = values[:place], values[place:]

    def mean(pairs: list[tuple[float, float]]) -> float:
        return sum((one - other) ** 2 for one, other in pairs) / len(pairs) if pairs else 0.0

    inside = sum(mean(list(combinations(part, 2))) for part in parts)
    n, m = map(len, parts)
    return (2 * mean(list(product(*parts))) - inside) * n * m / (n + m)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=12))
def test_energies_are_those_of_all_pairs(values: list[float]) -> None:
    found = energies(np.array(values)[:, None])[:, 0]
    expected = [_energy(values, place) for place in range(1, len(values))]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_only_the_newest_values_are_looked_at() -> None:
    values = np.r_[np.full(40, 1.0), np.full(60, 5.0)]
    assert not catapult(values).steps
    assert [step.index for step in catapult(values, window=0).steps] == [40]


@pytest.mark.parametrize("values", [[], [1.0], [np.nan] * 40, [3.0] * 40])
def test_series_without_a_change_have_no_steps(values: list[float]) -> None:
    detection = catapult(np.array(values))
    assert (detection.steps, detection.candidates) == ((), ())


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="confidence 1"):
        catapult([1.0, 2.0], confidence=1.0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([2.0**-20, 2.0**20]))
def test_a_positive_scale_changes_nothing(seed: int, scale: float) -> None:
    values = 100 + np.random.default_rng(seed).normal(0, 1, 48)
    values[24:] += 30
    before, after = (catapult(each).steps for each in (values, values * scale))
    assert [step.index for step in before] == [step.index for step in after]


@pytest.mark.parametrize(("before", "after", "at"), [(61.92, 38.98, 19), (31.58, 27.71, 20), (14.52, 31.95, 13)])
def test_a_level_without_noise_has_no_split_by_rounding(before: float, after: float, at: int) -> None:
    steps = catapult(np.r_[np.full(at, before), np.full(25, after)]).steps
    assert [step.index for step in steps] == [at]
