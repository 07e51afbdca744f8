"""What all methods for one series have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.detect import explain, find_steps, find_steps_many
from knickpoint.model.step import Detection

_METHODS: list[tuple[str, dict[str, Any]]] = [
    ("step_fit", {}),
    ("step_fit", {"kind": "cohen", "refiner": "each"}),
    ("step_fit", {"rule": "cohen >= 2 and percent >= 0.01", "refiner": "confirmed"}),
    ("step_fit", {"preset": "skia"}),
    ("t_test", {}),
    ("t_test", {"preset": "graphs"}),
    ("modes", {}),
    ("threshold", {"times": tuple(float(place) for place in range(120)), "releases": (0, 50)}),
    ("catapult", {"window": 0}),
]
_each = pytest.mark.parametrize(("method", "parameters"), _METHODS)


def _series() -> NDArray[np.float64]:
    values = 100 + np.random.default_rng(4).normal(0, 1, 120)
    values[60:] += 12
    values[[3, 50, 61, 100]] = np.nan
    return values


def _explain(method: str, parameters: dict[str, Any], values: NDArray[np.float64]) -> Detection:
    return explain(values, method=method, **parameters)


@_each
def test_the_same_input_has_the_same_answer_and_stays_as_it_is(method: str, parameters: dict[str, Any]) -> None:
    values = _series()
    first = _explain(method, parameters, values)
    assert repr(first) == repr(_explain(method, parameters, values))
    np.testing.assert_array_equal(values, _series())


@_each
def test_steps_are_accepted_candidates_with_their_evidence(method: str, parameters: dict[str, Any]) -> None:
    detection = _explain(method, parameters, _series())
    accepted = [candidate.index for candidate in detection.candidates if candidate.accepted]
    assert [step.index for step in detection.steps] == accepted
    assert all(step.evidence and step.method == method for step in detection.steps)
    assert all(candidate.reason for candidate in detection.candidates if not candidate.accepted)


@_each
def test_steps_and_candidates_lie_at_measured_values_in_order(method: str, parameters: dict[str, Any]) -> None:
    values = _series()
    detection = _explain(method, parameters, values)
    indices = [candidate.index for candidate in detection.candidates]
    assert indices == sorted(indices)
    for step in detection.steps:
        assert step.previous < step.index
        assert not np.isnan(values[[step.previous, step.index]]).any()


@_each
def test_the_parameters_of_the_answer_give_it_again(method: str, parameters: dict[str, Any]) -> None:
    detection = _explain(method, parameters, _series())
    again = {key: value for key, value in detection.parameters.items() if key != "preset"}
    assert repr(explain(_series(), method=method, **again).steps) == repr(detection.steps)


@_each
def test_a_frame_has_the_steps_of_its_traces(method: str, parameters: dict[str, Any]) -> None:
    frame = np.array([_series(), _series()[::-1], np.full(120, np.nan)])
    many = find_steps_many(frame, method=method, threads=2, **parameters)
    assert repr(many) == repr([find_steps(row, method=method, **parameters) for row in frame])
