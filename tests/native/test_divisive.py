# ruff: noqa: FBT001, PLR0917 - what is given is given by name

from __future__ import annotations

import math
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.native import reference
from knickpoint.native.kernel import COMPILED, kernel

compiled_only = pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled")


def _series(seed: int, count: int, shape: str) -> NDArray[np.float64]:
    draw = np.random.default_rng(seed)
    values = draw.normal(size=count)
    match shape:
        case "ties":
            return np.round(values)
        case "offset":
            return values + 1e9
        case "tiny":
            return values * 1e-9
        case "heavy":
            return draw.standard_t(2, count)
        case _:
            return np.repeat([0.0, 5.0], [count // 2, count - count // 2]) + values


shapes = st.sampled_from(["ties", "offset", "tiny", "heavy", "step"])


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
    values = _series(seed, count, shape)
    expected = [_exact(values, tau, count, v_form=v_form) for tau in range(1, count)]
    scale = max(float(np.abs(values - np.median(values)).sum()), 1e-300)
    assert kernel.q_hat(values, 1.0, v_form=v_form)[1:] == pytest.approx(expected, abs=1e-11 * scale)


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
    values = _series(seed, count, shape)
    theirs = reference.q_hat(values, alpha, v_form=v_form)
    scale = float(np.power(np.abs(values - np.median(values)), alpha).sum()) if count else 1.0
    assert kernel.q_hat(values, alpha, v_form=v_form) == pytest.approx(theirs, abs=1e-8 * scale)


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
    values = _series(seed, count, shape)
    tau, kappa, q = kernel.scan_both(values, 1.0, least, v_form=v_form)
    expected = reference.scan_both(values, 1.0, least, v_form=v_form)
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
    expected = reference.scan_both(values, 1.0, 1, v_form=False)[:2]
    for rounded in (values, values * 0.1 + 7.7, values * 3.3):
        for kernels in (kernel, reference):
            assert kernels.scan_both(rounded, 1.0, 1, v_form=False)[:2] == expected


@settings(deadline=None)
@given(seed=st.integers(0, 2**64 - 1), turn=st.integers(0, 9), count=st.integers(1, 50))
def test_a_shuffle_has_every_place_once(seed: int, turn: int, count: int) -> None:
    for order in reference.permutations(seed, turn, range(3), 5, count):
        assert sorted(order) == list(range(count))


def test_shuffles_are_uniform() -> None:
    orders = reference.permutations(1, 0, range(24_000), 0, 4)
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
    values = _series(seed % 1000, count, shape)
    bounds = np.array([0, count // 3, count])
    ordered = np.concatenate([np.sort(values[: count // 3]), np.sort(values[count // 3 :])])
    mine, theirs = np.empty(11), np.empty(11)
    for room, tops in ((kernel, mine), (reference, theirs)):
        room.permute(
            ordered, bounds, 1.0, v_form=v_form, both=both, least=least, seed=seed, turn=3, count=11, tops=tops
        )
    scale = float(np.abs(values - np.median(values)).sum()) + 1e-300
    assert mine == pytest.approx(theirs, abs=1e-9 * scale)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32), allowed=st.integers(0, 12), place=st.integers(0, 99))
def test_stopping_early_never_changes_the_decision(seed: int, allowed: int, place: int) -> None:
    values = np.sort(np.random.default_rng(seed).normal(size=30))
    bounds = np.array([0, 30])
    tops = np.empty(100)
    shared = {"v_form": True, "both": False, "least": 1, "seed": seed, "turn": 0, "count": 100}
    kernel.permute(values, bounds, 1.0, tops=tops, **shared)
    reach = float(np.sort(tops)[place])
    hits, judged = kernel.permute(values, bounds, 1.0, reach=reach, allowed=allowed, **shared)
    assert judged <= 100
    assert (hits <= allowed) == (int((tops >= reach).sum()) <= allowed)


@compiled_only
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32), allowed=st.integers(0, 6))
def test_stopping_early_happens_at_the_same_permutation_as_in_numpy(seed: int, allowed: int) -> None:
    values = np.sort(np.random.default_rng(seed).normal(size=40))
    bounds = np.array([0, 40])
    answers = [
        room.permute(
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
        for room in (kernel, reference)
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 20, 48, 500, 20_000])
@pytest.mark.parametrize("t", [0.0, 1e-4, 0.3, 1.0, 2.5, 6.0, 20.0, -2.0])
def test_students_p_is_that_of_scipy(t: float, freedom: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = float(2 * stats.t.sf(abs(t), freedom))
    assert kernel.student(t, freedom) == pytest.approx(expected, rel=1e-9)
    assert reference.student(t, freedom) == pytest.approx(expected, rel=1e-9)


def test_an_infinite_t_has_no_chance_and_no_t_has_no_p() -> None:
    assert kernel.student(math.inf, 5) == 0
    assert math.isnan(kernel.student(math.nan, 5))


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
    values = _series(seed, count, "heavy" if shape == "ties" else shape)
    answers = [
        room.windows(
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
        for room in (kernel, reference)
    ]
    assert [note[:2] for note in answers[0]] == [note[:2] for note in answers[1]]
    for mine, theirs in zip(*answers, strict=True):
        assert mine[2:] == pytest.approx(theirs[2:], rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("room", [kernel, reference], ids=["chosen", "numpy"])
def test_windows_without_what_was_refused_tell_what_stays(room: ModuleType) -> None:
    values = np.repeat([1.0, 4.0, 2.0], 60) + np.random.default_rng(5).normal(size=180)
    arguments = {"v_form": False, "least": 1, "window": 50, "stride": 25, "first_p": 0.1, "max_p": 0.01}
    find = partial(room.windows, values, 1.0, **arguments, least_magnitude=0.0, population=False, stale=False)
    told = find()
    stay = [note for note in told if note[0] == 4]
    assert 0 < len(stay) < len(told)
    assert find(refused=False) == stay
