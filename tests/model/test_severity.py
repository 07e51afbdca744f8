from __future__ import annotations

import math

import pytest

from knickpoint.model.change_point import Direction, StepNumbers, severity_of
from knickpoint.model.step import StableRegion

REGION = StableRegion(0, 9, 10, 1.0, 3.0, 2.0, 2.0, 0.25)


def certain_share(low: float, high: float, *, before: float = 100.0) -> float:
    numbers = StepNumbers(
        before=REGION, after=REGION, before_level=before, after_level=before + 10, deviation=1.0, size=10.0,
        relative_size=0.1, hazard=math.nan, score=1.0, p_value=None, order=0, method="m", low=low, high=high,
    )  # fmt: skip
    return numbers.certain_share


@pytest.mark.parametrize(
    ("low", "high", "share"),
    [(5.0, 15.0, 0.05), (-15.0, -5.0, -0.05), (-1.0, 21.0, 0.0), (10.0, 10.0, 0.1), (math.nan, math.nan, 0.1)],
)
def test_what_is_certain_of_a_size_is_the_end_nearer_to_no_change(low: float, high: float, share: float) -> None:
    assert certain_share(low, high) == pytest.approx(share)


def test_a_certain_change_from_nothing_is_infinite() -> None:
    assert certain_share(5.0, 15.0, before=0.0) == math.inf


def test_a_small_certain_change_ranks_above_a_large_uncertain_one() -> None:
    assert severity_of(Direction.REGRESSION, 0.02, 0.015) > severity_of(Direction.REGRESSION, 0.3, 0.001)


def test_what_lies_within_its_own_noise_ranks_below_everything_else() -> None:
    within = severity_of(Direction.REGRESSION, 0.5, 0.0)
    assert within < severity_of(Direction.IMPROVEMENT, 0.001, 0.0005)
    assert within < severity_of(Direction.UNKNOWN, 0.0)
    assert within > severity_of(Direction.REGRESSION, 0.4, 0.0)
