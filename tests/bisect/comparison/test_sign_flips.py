"""The test by exchanged sides: its rate holds exactly, it finds what is there, and wild noise does not fool it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.bisect.comparison.paired_values import SignFlipTest, fewest_rounds

Array = NDArray[np.float64]


def _ever_worse(differences: Array, rate: float, first: int, seed: int = 0) -> bool:
    """Return whether any benchmark is ever beyond the bar, looking after each round from ``first`` on."""
    test = SignFlipTest(len(differences), rate, seed)
    upwards = np.ones(differences.shape[1])
    return any(test.look(differences[:rounds], upwards).worse.any() for rounds in range(first, len(differences) + 1))


@pytest.mark.long
def test_no_more_exchanges_than_the_stated_share_are_ever_regressed() -> None:
    sizes = np.random.default_rng(3).standard_t(2, size=(7, 3)) ** 2
    patterns = list(itertools.product((1.0, -1.0), repeat=7))
    worse = sum(_ever_worse(sizes * np.array(signs)[:, None], 0.05, 5) for signs in patterns)
    assert 0 < worse <= 0.05 * len(patterns)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["heavy tails", "two modes"])
def test_unchanged_comparisons_do_not_end_as_regressed(kind: str) -> None:
    worse = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        runs = rng.standard_t(3, size=(2, 16, 5)) if kind == "heavy tails" else rng.integers(0, 2, (2, 16, 5)) * 1.0
        worse += _ever_worse(runs[1] - runs[0], 0.01, 8, seed)
    assert worse <= 9  # 3 are expected at most; ten have a probability of 0.1 %


def test_a_change_of_one_of_many_is_found_within_twenty_rounds() -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        differences = rng.normal(size=(20, 10)) * 0.02 * math.sqrt(2)
        differences[:, 0] += math.log(1.05)
        assert _ever_worse(differences, 0.01, 12, seed)


def test_a_change_for_the_better_is_not_worse_and_an_unknown_direction_counts_as_worse() -> None:
    differences = np.full((9, 3), -1.0) + np.random.default_rng(1).normal(size=(9, 3)) * 0.01
    look = SignFlipTest(9, 0.01, 0).look(differences, np.array([1.0, -1.0, math.nan]))
    assert look.worse.tolist() == [False, True, True]
    assert look.better.tolist() == [True, False, False]


@pytest.mark.long
def test_a_rate_that_is_planned_anew_by_sizes_alone_holds_exactly() -> None:
    sizes = np.random.default_rng(3).standard_t(2, size=(7, 3)) ** 2
    worse = 0
    for signs in itertools.product((1.0, -1.0), repeat=7):
        test, differences = SignFlipTest(7, 0.05, 0), sizes * np.array(signs)[:, None]
        looks = (
            test.look(
                differences[:rounds],
                np.ones(3),
                planned=np.clip(np.round(np.abs(differences[:rounds]).sum(axis=0)), 4, 20),
                weights=np.array([0.5, 0.3, 0.2]),
            )
            for rounds in range(4, 8)
        )
        worse += any(look.worse.any() for look in looks)
    assert 0 < worse <= 0.05 * 2**7


def test_too_few_rounds_decide_nothing() -> None:
    fewest = fewest_rounds(20, 0.01)
    assert fewest == 10  # a tenth of the rate is kept for shapes
    look = SignFlipTest(20, 0.009, 0).look(np.full((fewest - 1, 1), 10.0), np.ones(1))
    assert not look.worse.any()
    assert look.bars.tolist() == [math.inf]
    assert fewest_rounds(6, 0.01) is None
