"""Levels that a flipping series begins to visit for single values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.detect.flipping import NOISE, flip

from knickpoint.detect import explain, find_steps
from knickpoint.model.settlement import FindingKind

Array = NDArray[np.float64]
NEW = 115.0


def _visited(seed: int, *, share: float, begin: int = 150, end: int = 300) -> Array:
    """Return a series that flips between 100 and 105, and visits another level at random from ``begin`` to ``end``."""
    values = flip(seed)
    rng = np.random.default_rng([9, seed])
    visits = (np.arange(values.size) >= begin) & (np.arange(values.size) < end) & (rng.random(values.size) < share)
    values[visits] = NEW * (1 + NOISE * rng.standard_normal(int(visits.sum())))
    return values


def _new_levels(values: Array) -> list[int]:
    """Return where a level begins that single values visit."""
    return [
        step.index
        for step in find_steps(values)
        if any(check.name == "visits to the new level" for check in step.evidence)
    ]


def test_a_level_that_a_tenth_of_the_values_begins_to_visit_is_a_change_of_the_modes() -> None:
    found = [_new_levels(_visited(seed, share=0.1)) for seed in range(40)]
    assert sum(map(bool, found)) >= 32
    assert all(150 <= place < 200 for places in found for place in places)


def test_it_begins_at_its_first_visit_and_says_how_often_it_is_visited() -> None:
    values = _visited(1, share=0.1)
    (step,) = [step for step in explain(values).steps if step.kind is FindingKind.MODE]
    evidence = {check.name: check.value for check in step.evidence}
    visited = np.flatnonzero(values > 110)
    assert step.index == visited[0]
    assert evidence["new level"] == pytest.approx(NEW, rel=0.01)
    assert evidence["share of the values at the new level"] == visited.size / (300 - visited[0])
    assert step.size > 0


def test_flipping_alone_has_no_rare_level() -> None:
    assert not any(_new_levels(flip(seed)) for seed in range(60))


def test_a_rare_level_that_was_there_all_along_is_no_change() -> None:
    assert sum(bool(_new_levels(_visited(seed, share=0.1, begin=0))) for seed in range(60)) <= 2


def test_a_few_odd_values_that_ended_are_no_level() -> None:
    assert sum(bool(_new_levels(_visited(seed, share=0.5, begin=200, end=215))) for seed in range(60)) <= 3


def test_outliers_that_do_not_agree_are_no_level() -> None:
    alarms = 0
    for seed in range(60):
        values, rng = flip(seed), np.random.default_rng([10, seed])
        odd = (np.arange(300) >= 150) & (rng.random(300) < 0.1)
        values[odd] *= rng.uniform(1.1, 2.0, int(odd.sum()))
        alarms += bool(_new_levels(values))
    assert alarms <= 2


def test_missing_values_do_not_move_its_place() -> None:
    values = np.full(600, np.nan)
    values[::2] = _visited(1, share=0.1)
    (alone,), (among,) = _new_levels(values[::2]), _new_levels(values)
    assert among == 2 * alone
