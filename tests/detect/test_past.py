"""What was found long ago stays when something new happens at the end of a series."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.detect import explain, find_steps, find_steps_many
from knickpoint.detect.methods.default.past import FIRST, last_checkpoint
from knickpoint.model.settlement import FindingKind

Floats = NDArray[np.float64]

_OLD = 45
_NEW = 10


def _series(seed: int) -> Floats:
    """Return noise with levels that step, flip or drift, so that many findings are close to the bound."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(140, 420))
    levels = np.repeat(draw.normal(0, 3, count // 30 + 1), 30)[:count]
    if seed % 3 == 0:
        levels = np.repeat(np.where(draw.random(count // 7 + 1) < 0.4, 4.0, 0.0), 7)[:count]
    if seed % 3 == 1:
        levels += 0.02 * np.maximum(np.arange(count) - 60, 0)
    return 100 + levels + draw.standard_t(4, count)


def _step(values: Floats) -> None:
    values[-_NEW:] += 15


def _ramp(values: Floats) -> None:
    values[-_NEW:] += 1.5 * np.arange(1, _NEW + 1)


def _outlier(values: Floats) -> None:
    values[-_NEW // 2] += 30


def _noise(values: Floats) -> None:
    values[-_NEW:] *= np.linspace(0.9, 1.1, _NEW)


def _old(values: Floats) -> set[tuple[int, FindingKind]]:
    return {(step.index, step.kind) for step in find_steps(values) if step.index < values.size - _OLD}


@pytest.mark.parametrize("happen", [_step, _ramp, _outlier, _noise])
def test_old_findings_stay_when_something_new_happens(happen: Callable[[Floats], None]) -> None:
    found = differing = 0
    for seed in range(50):
        values = _series(seed)
        changed = values.copy()
        happen(changed)
        before, after = _old(values), _old(changed)
        found, differing = found + len(before), differing + len(before ^ after)
    assert found > 100
    assert differing <= 0.04 * found  # real series: 2 %, by benchmarks/accuracy.py past


def test_new_values_change_nothing_old_before_the_next_checkpoint() -> None:
    values = np.concatenate([_series(2)[:140], np.full(15, 130.0)])
    known = next(size for size in range(140, 155) if last_checkpoint(size) != last_checkpoint(size + 1)) + 1
    border = last_checkpoint(known) - 20
    readings = {
        tuple(step.index for step in find_steps(values[:size]) if step.index < border) for size in range(known, 155)
    }
    assert len(readings) == 1


def test_checkpoints_never_go_back() -> None:
    places = [last_checkpoint(size) for size in range(3000)]
    assert places == sorted(places)
    assert [place for place in dict.fromkeys(places) if place][:9] == [112, 128, 144, 160, 176, 192, 208, 224, 256]
    assert all(place == 0 for place in places[: FIRST + 16])


def test_levels_reach_from_one_step_to_the_next_across_the_border_of_two_readings() -> None:
    for seed in range(30):
        values = _series(3 * seed + 2)
        steps = find_steps(values)
        for before, after in pairwise(steps):
            assert before.after.last == after.previous
            assert after.before.first == before.index
        assert [step.order for step in sorted(steps, key=lambda step: -step.score)] == list(range(len(steps)))
        if steps and steps[-1].kind is FindingKind.STEP:
            assert steps[-1].after.last == values.size - 1


def test_one_series_and_many_are_read_alike_and_candidates_follow() -> None:
    values = [_series(seed)[:140] for seed in range(20)]
    for row, steps in zip(values, find_steps_many(np.array(values)), strict=True):
        assert [step.index for step in steps] == [step.index for step in find_steps(row)]
        explained = explain(row)
        accepted = {candidate.index for candidate in explained.candidates if candidate.accepted}
        assert {step.index for step in explained.steps} == accepted
