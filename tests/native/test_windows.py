# ruff: noqa: FBT001, PLR0917 - what is given is given by name

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.noisy_series import noisy_series, shapes

from knickpoint.native import COMPILED
from knickpoint.native.windows import Note, split_windows, split_windows_in_numpy

compiled_only = pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled")


@compiled_only
@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(0, 130),
    shape=shapes,
    population=st.booleans(),
    stale=st.booleans(),
    p=st.sampled_from([0.001, 0.01, 0.2]),
)
def test_windows_compiled_do_what_numpy_does(
    seed: int, count: int, shape: str, population: bool, stale: bool, p: float
) -> None:
    values = noisy_series(seed, count, "heavy" if shape == "ties" else shape)
    answers = [
        twin(
            values,
            1.0,
            v_form=False,
            least=1,
            window=30,
            stride=15,
            first_p=10 * p if p < 0.05 else 2 * p,
            max_p=p,
            least_magnitude=0.0,
            population=population,
            stale=stale,
        )
        for twin in (split_windows, split_windows_in_numpy)
    ]
    assert [note[:2] for note in answers[0]] == [note[:2] for note in answers[1]]
    for mine, theirs in zip(*answers, strict=True):
        assert mine[2:] == pytest.approx(theirs[2:], rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("twin", [split_windows, split_windows_in_numpy], ids=["chosen", "numpy"])
def test_windows_without_what_was_refused_return_what_stays(twin: Callable[..., list[Note]]) -> None:
    values = np.repeat([1.0, 4.0, 2.0], 60) + np.random.default_rng(5).normal(size=180)
    arguments = {"v_form": False, "least": 1, "window": 50, "stride": 25, "first_p": 0.1, "max_p": 0.01}
    find = partial(twin, values, 1.0, **arguments, least_magnitude=0.0, population=False, stale=False)
    notes = find()
    stay = [note for note in notes if note[0] == 4]
    assert 0 < len(stay) < len(notes)
    assert find(refused=False) == stay
