"""Q-hat of points of several dimensions, compiled and in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.native.joint import joint_q, joint_q_in_numpy
from knickpoint.native.q_hat import q_hat, scan_both

Floats = NDArray[np.float64]


def _by_definition(points: Floats, alpha: float, least: int, *, v_form: bool, both: bool) -> Floats:
    """Return the largest Q of each tau, from the mean distances of the definition."""
    count = points.shape[1]
    distances = np.linalg.norm(points[:, :, None] - points[:, None, :], axis=0) ** alpha
    best = np.full(count, -np.inf)
    for tau in range(least, count):
        for kappa in range(tau + least, count + 1) if both else (count,):
            n, m = tau, kappa - tau
            if m < least:
                continue
            inside = []
            for block, size in ((slice(0, tau), n), (slice(tau, kappa), m)):
                total = distances[block, block].sum()
                inside.append(total / size**2 if v_form else total / (size * (size - 1)) if size > 1 else 0.0)
            across = 2 * distances[:tau, tau:kappa].mean()
            best[tau] = max(best[tau], n * m / (n + m) * (across - sum(inside)))
    return best


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 25),
    dimensions=st.integers(1, 4),
    alpha=st.sampled_from([0.5, 1.0, 1.7, 2.0]),
    least=st.integers(1, 4),
    forms=st.tuples(st.booleans(), st.booleans()),
)
def test_q_of_points_is_its_definition(  # noqa: PLR0917 - drawn by name
    seed: int, count: int, dimensions: int, alpha: float, least: int, forms: tuple[bool, bool]
) -> None:
    v_form, both = forms
    points = np.random.default_rng(seed).normal(size=(dimensions, count)).round(1)
    expected = _by_definition(points, alpha, least, v_form=v_form, both=both)
    for kernel in (joint_q, joint_q_in_numpy):
        assert kernel(points, alpha, least, v_form=v_form, both=both) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("v_form", [False, True])
def test_points_of_one_dimension_are_values(v_form: bool) -> None:  # noqa: FBT001 - named by pytest
    values = np.random.default_rng(2).normal(size=60)
    curve = q_hat(values, 1.0, v_form=v_form)
    found = joint_q(values[np.newaxis], 1.0, 1, v_form=v_form, both=False)
    assert found[1:] == pytest.approx(curve[1:], abs=1e-10)
    tau, _, q = scan_both(values, 1.0, 2, v_form=v_form)
    both = joint_q(values[np.newaxis], 1.0, 2, v_form=v_form, both=True)
    assert (int(both.argmax()), both.max()) == (tau, pytest.approx(q))


def test_no_points_have_no_q() -> None:
    for kernel in (joint_q, joint_q_in_numpy):
        assert kernel(np.empty((2, 0)), 1.0, 1, v_form=False, both=True).size == 0
        assert kernel(np.empty((0, 3)), 1.0, 1, v_form=False, both=True).max() == 0
