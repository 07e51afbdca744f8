# ruff: noqa: FBT001 - what is given is given by name

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.native.noisy_series import noisy_series, shapes

from knickpoint.native import COMPILED
from knickpoint.native.q_hat import q_hat, q_hat_in_numpy, scan_both, scan_both_in_numpy

compiled_only = pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled")


def _exact(values: NDArray[np.float64], tau: int, kappa: int, *, v_form: bool) -> float:
    """Work the definition out pair by pair, in whole numbers of sums."""
    left, right = values[:tau], values[tau:kappa]
    n, m = left.size, right.size
    across = math.fsum(abs(a - b) for a in left for b in right)
    inside = [math.fsum(abs(a - b) for i, a in enumerate(part) for b in part[:i]) for part in (left, right)]
    pairs = [(k * k / 2 if v_form else k * (k - 1) / 2) for k in (n, m)]
    means = [total / count if count else 0.0 for total, count in zip(inside, pairs, strict=True)]
    return n * m / (n + m) * (2 * across / (n * m) - means[0] - means[1])


@settings(deadline=None)
@given(seed=st.integers(0, 2**31), count=st.integers(2, 60), shape=shapes, v_form=st.booleans())
def test_every_q_hat_is_its_definition(seed: int, count: int, shape: str, v_form: bool) -> None:
    values = noisy_series(seed, count, shape)
    expected = [_exact(values, tau, count, v_form=v_form) for tau in range(1, count)]
    scale = max(float(np.abs(values - np.median(values)).sum()), 1e-300)
    assert q_hat(values, 1.0, v_form=v_form)[1:] == pytest.approx(expected, abs=1e-11 * scale)


@compiled_only
@settings(deadline=None)
@given(
    seed=st.integers(0, 2**31),
    count=st.integers(0, 700),
    shape=shapes,
    v_form=st.booleans(),
    alpha=st.sampled_from([1.0, 2.0, 0.5]),
)
def test_q_hat_compiled_equals_numpy(seed: int, count: int, shape: str, v_form: bool, alpha: float) -> None:
    values = noisy_series(seed, count, shape)
    theirs = q_hat_in_numpy(values, alpha, v_form=v_form)
    scale = float(np.power(np.abs(values - np.median(values)), alpha).sum()) if count else 1.0
    assert q_hat(values, alpha, v_form=v_form) == pytest.approx(theirs, abs=1e-8 * scale)


@compiled_only
@settings(deadline=None)
@given(
    seed=st.integers(0, 2**31),
    count=st.integers(1, 90),
    shape=shapes,
    v_form=st.booleans(),
    least=st.integers(1, 7),
)
def test_the_best_tau_and_kappa_compiled_are_as_good_as_in_numpy(
    seed: int, count: int, shape: str, v_form: bool, least: int
) -> None:
    values = noisy_series(seed, count, shape)
    tau, kappa, q = scan_both(values, 1.0, least, v_form=v_form)
    expected = scan_both_in_numpy(values, 1.0, least, v_form=v_form)
    if expected[0] < 0:
        assert (tau, kappa) == (-1, -1)
        return
    scale = float(np.abs(values - np.median(values)).sum()) + 1e-300
    assert q == pytest.approx(expected[2], abs=1e-10 * scale)
    assert tau >= least
    assert kappa - tau >= least
    assert _exact(values, tau, kappa, v_form=v_form) == pytest.approx(q, abs=1e-10 * scale)


@pytest.mark.parametrize("seed", range(40))
def test_the_first_of_equal_splits_is_taken_however_the_values_round(seed: int) -> None:
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 3, int(draw.integers(5, 60))).astype(float)
    expected = scan_both_in_numpy(values, 1.0, 1, v_form=False)[:2]
    for rounded in (values, values * 0.1 + 7.7, values * 3.3):
        for scan in (scan_both, scan_both_in_numpy):
            assert scan(rounded, 1.0, 1, v_form=False)[:2] == expected
