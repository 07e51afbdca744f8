# ruff: noqa: FBT001, PLR0917 - what is given is given by name

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.noisy_series import noisy_series, shapes

from knickpoint.native import COMPILED
from knickpoint.native.permutation import draw_permutations, permute, permute_in_numpy

compiled_only = pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled")


@settings(deadline=None)
@given(seed=st.integers(0, 2**64 - 1), turn=st.integers(0, 9), count=st.integers(1, 50))
def test_a_shuffle_has_every_place_once(seed: int, turn: int, count: int) -> None:
    for order in draw_permutations(seed, turn, range(3), 5, count):
        assert sorted(order) == list(range(count))


def test_shuffles_are_uniform() -> None:
    orders = draw_permutations(1, 0, range(24_000), 0, 4)
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert counts.size == 24
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # chi-squared, 23 degrees of freedom: p = 0.001 at 49.7


@compiled_only
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**64 - 1),
    count=st.integers(4, 420),
    shape=shapes,
    v_form=st.booleans(),
    both=st.booleans(),
    least=st.integers(1, 4),
)
def test_permuted_maxima_compiled_equal_numpy(
    seed: int, count: int, shape: str, v_form: bool, both: bool, least: int
) -> None:
    count = min(count, 60) if both else count
    values = noisy_series(seed % 1000, count, shape)
    bounds = np.array([0, count // 3, count])
    ordered = np.concatenate([np.sort(values[: count // 3]), np.sort(values[count // 3 :])])
    mine, theirs = np.empty(11), np.empty(11)
    for twin, tops in ((permute, mine), (permute_in_numpy, theirs)):
        twin(ordered, bounds, 1.0, v_form=v_form, both=both, least=least, seed=seed, turn=3, count=11, tops=tops)
    scale = float(np.abs(values - np.median(values)).sum()) + 1e-300
    assert mine == pytest.approx(theirs, abs=1e-9 * scale)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32), allowed=st.integers(0, 12), place=st.integers(0, 99))
def test_stopping_early_never_changes_the_decision(seed: int, allowed: int, place: int) -> None:
    values = np.sort(np.random.default_rng(seed).normal(size=30))
    bounds = np.array([0, 30])
    tops = np.empty(100)
    count = partial(permute, values, bounds, 1.0, v_form=True, both=False, least=1, seed=seed, turn=0, count=100)
    count(tops=tops)
    reach = float(np.sort(tops)[place])
    hits, judged = count(reach=reach, allowed=allowed)
    assert judged <= 100
    assert (hits <= allowed) == (int((tops >= reach).sum()) <= allowed)


@compiled_only
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32), allowed=st.integers(0, 6))
def test_stopping_early_happens_at_the_same_permutation_as_in_numpy(seed: int, allowed: int) -> None:
    values = np.sort(np.random.default_rng(seed).normal(size=40))
    bounds = np.array([0, 40])
    answers = [
        twin(
            values,
            bounds,
            1.0,
            v_form=False,
            both=False,
            least=2,
            seed=seed,
            turn=1,
            count=99,
            reach=3.0,
            allowed=allowed,
        )
        for twin in (permute, permute_in_numpy)
    ]
    assert answers[0] == answers[1]
