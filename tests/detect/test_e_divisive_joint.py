from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.detect import e_divisive, e_divisive_joint
from knickpoint.model.errors import InputError, SeriesError

UNITS = np.array([[1e-9], [1.0], [1e6], [4096.0]])


def _metrics(seed: int, size: float, length: int = 80) -> NDArray[np.float64]:
    """Return four metrics in units of their own that move by ``size`` deviations in the middle, one of them down."""
    values = np.random.default_rng(seed).normal(0, 1, (4, length))
    values[:, length // 2 :] += size * np.array([[1], [-1], [1], [1]])
    return UNITS * (50 + values)


def _order(frame: Any, **parameters: object) -> list[int]:
    steps = e_divisive_joint(frame, **parameters)[0].steps
    return [step.index for step in sorted(steps, key=lambda step: step.order)]


def test_every_metric_has_the_step_of_all_with_its_own_levels() -> None:
    frame = _metrics(1, 4.0)
    found = e_divisive_joint(frame)
    for values, detection in zip(frame, found, strict=True):
        (step,) = detection.steps
        assert (step.index, step.previous, step.order) == (40, 39, 0)
        assert step.p_value == 1 / 200
        assert step.score == found[0].steps[0].score
        assert step.before.mean == pytest.approx(values[:40].mean())
        assert step.after.mean == pytest.approx(values[40:].mean())
        assert detection.candidates == found[0].candidates
        assert detection.parameters["scale"] == "noise"


def test_a_change_too_small_for_one_metric_is_seen_in_all() -> None:
    together = alone = 0
    for seed in range(30):
        frame = _metrics(seed, 0.8)
        together += any(abs(index - 40) <= 5 for index in _order(frame))
        alone += any(abs(step.index - 40) <= 5 for step in e_divisive(frame[0]).steps)
    assert together >= 24
    assert alone <= 15


def test_about_one_in_a_hundred_frames_without_change_has_a_step() -> None:
    draw = np.random.default_rng(4)
    frames = [*draw.normal(size=(100, 3, 60)), *draw.lognormal(size=(100, 3, 60))]
    assert sum(bool(_order(frame)) for frame in frames) <= 6  # at 1 %: more has probability 0.004


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 1000),
    scale=st.lists(st.sampled_from([1e-300, 1e-6, 1.0, 3.3, 1e250]), min_size=4, max_size=4),
    order=st.permutations(range(4)),
)
def test_units_and_the_order_of_metrics_change_no_place(seed: int, scale: list[float], order: list[int]) -> None:
    frame = _metrics(seed, 2.0) / UNITS
    assert _order((frame * np.array(scale)[:, np.newaxis])[order]) == _order(frame)


def test_one_trace_alone_is_split_as_by_itself() -> None:
    values = np.random.default_rng(3).normal(0, 1, 90) + np.repeat([0.0, 3.0, 1.0], 30)
    for preset in ("ecp", "mongodb"):
        shared = {"preset": preset, "minimum_segment": 2, "test": "none", "maximum_steps": 4}
        alone, joint = e_divisive(values, **shared).steps, e_divisive_joint(values[np.newaxis], **shared)[0].steps
        assert [(step.index, step.order) for step in joint] == [(step.index, step.order) for step in alone]
        assert [step.score for step in joint] == pytest.approx([step.score for step in alone])


def test_a_commit_counts_where_all_are_measured_and_a_trace_that_never_is_takes_no_part() -> None:
    frame = np.vstack([_metrics(5, 6.0), np.full(80, np.nan)])
    frame[0, 38:41] = np.nan
    frame[2, 5] = np.nan
    found = e_divisive_joint(frame)
    assert found[0].facts == {"traces together": 4, "commits with all of them": 76}
    assert [(step.previous, step.index) for step in found[0].steps] == [(37, 41)]
    assert [(step.previous, step.index) for step in found[1].steps] == [(40, 41)]
    assert found[4].steps == ()


@pytest.mark.parametrize(
    "frame",
    [np.empty((0, 5)), np.empty((3, 0)), np.full((2, 9), math.nan), np.ones((2, 40)), np.ones((2, 1)), np.eye(2)],
)
def test_nothing_to_see_gives_nothing(frame: NDArray[np.float64]) -> None:
    found = e_divisive_joint(frame)
    assert [detection.steps for detection in found] == [()] * len(frame)


def test_evidence_says_what_each_metric_had_to_do_with_it() -> None:
    frame = _metrics(6, 0.0)
    frame[1, 40:] += 8 * UNITS[1]
    sizes = [detection.steps[0].evidence[-1].value for detection in e_divisive_joint(frame)]
    assert int(np.argmax(sizes)) == 1
    assert sizes[1] > 6
    assert sizes[0] < 1


def test_a_refused_candidate_says_by_what() -> None:
    (refused,) = e_divisive_joint(_metrics(7, 0.0))[0].candidates
    assert not refused.accepted
    assert "permutations reach its Q-hat" in refused.reason
    assert not refused.checks[-1].passed


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "e_divisive_joint: alpha is 0"),
        ({"p": 0.001}, "Give at least 999"),
        ({"test": "rank"}, "one of permutation, none"),
        ({"test": "none"}, "maximum_steps"),
        ({"preset": "otava"}, "no preset 'otava'"),
        ({"window": 5}, "no parameter 'window'"),
        ({"seed": -1}, "e_divisive_joint: seed is -1"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        e_divisive_joint(_metrics(1, 0.0), **parameters)


def test_an_infinite_value_is_refused_with_its_place() -> None:
    with pytest.raises(SeriesError, match="index 1, 2"):
        e_divisive_joint([[1, 2, 3], [1, 2, math.inf]])


# ---- other people's vectors
