"""What must hold for every method, with every preset and test it has, on series of every kind."""

from __future__ import annotations

import json
import operator
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.detect import explain, find_steps, find_steps_many
from knickpoint.model.step import Check, Detection

Case = tuple[str, dict[str, Any]]
Floats = NDArray[np.float64]

_STEP_FITS: list[Case] = [
    *(("step_fit", {"kind": kind}) for kind in ("original", "cohen", "mann_whitney_u", "stepiness")),
    *(("step_fit", {"kind": kind, "threshold": 0.02}) for kind in ("percent", "percent_median")),
    ("step_fit", {"kind": "cohen", "threshold": 2.0, "refiner": "each"}),
    ("step_fit", {"kind": "cohen", "threshold": 2.0, "refiner": "confirmed"}),
    ("step_fit", {"kind": "stepiness", "direction": "up"}),
    ("step_fit", {"rule": "cohen >= 2 and percent >= 0.01 or stepiness >= 0.8"}),
]
_IN_UNIT: list[Case] = [
    ("step_fit", {"kind": "absolute", "threshold": 4.0}),
    ("step_fit", {"kind": "const", "threshold": 110.0}),
    ("threshold", {"preset": "exact", "absolute": 6.0}),
    ("threshold", {"change": 0.0, "absolute": 0.0}),
    ("catapult", {"window": 0, "absolute": 3.0, "change": 0.0}),
]
_COMPATIBLE: list[Case] = [("step_fit", {"preset": "skia"}), ("step_fit", {"preset": "chrome"})]
_E_DIVISIVE: list[Case] = [
    ("e_divisive", {}),
    ("e_divisive", {"preset": "mongodb"}),
    ("e_divisive", {"preset": "ecp"}),
    ("e_divisive", {"preset": "otava"}),
    ("e_divisive", {"test": "rank"}),
    ("e_divisive", {"test": "t", "minimum_magnitude": 0.02}),
    ("e_divisive", {"test": "none", "maximum_steps": 2}),
    ("e_divisive", {"test": "t", "maximum_steps": 1}),
    ("e_divisive", {"alpha": 1.5, "scan": "tau"}),
]
_OTHERS: list[Case] = [
    ("t_test", {}),
    ("t_test", {"preset": "perfherder"}),
    ("t_test", {"preset": "graphs"}),
    ("modes", {}),
    ("modes", {"window": 3, "minimum_effect": 0.01}),
    ("catapult", {"window": 0}),
    ("catapult", {"change": 0.02}),
    ("threshold", {}),
    ("threshold", {"ago": 5, "releases": (0,)}),
    ("threshold", {"preset": "github-action-benchmark"}),
    ("threshold", {"preset": "mozdetect", "deviations": 4.0}),
]
_RELATIVE = _STEP_FITS + _E_DIVISIVE + _OTHERS
_ALL = _RELATIVE + _IN_UNIT + _COMPATIBLE


def _name(case: Case) -> str:
    return " ".join([case[0], *(f"{key}={value}" for key, value in case[1].items())])


def _each(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=map(_name, cases))


def _series(seed: int = 0, length: int = 90) -> Floats:
    """Return whole numbers around 100: a step up, a step down that is taken back, an outlier, ties."""
    values = 100 + np.random.default_rng(seed).normal(0, 1.5, length).round()
    values[length // 3 :] += 9
    values[length // 2 : length // 2 + 8] -= 9
    values[length // 6] += 40
    return values


def _kinds(length: int) -> list[tuple[str, Floats]]:
    """Return series that break careless arithmetic."""
    draw = np.random.default_rng(length)
    noise = draw.normal(0, 1, length)
    step = noise + 6.0 * (np.arange(length) >= length // 2)
    half = np.arange(length) < length // 2
    return [
        ("noise", noise),
        ("a far offset", 1e9 + step),
        ("an offset that leaves few digits", 1e15 + step),
        ("tiny", step * 1e-300),
        ("subnormal", (step * 3).round() * 5e-324),
        ("huge", step * 1e300),
        ("both ends", np.where(half, 1.7e308, -1.7e308)),
        ("a stray", np.where(np.arange(length) == length // 3, 1.797e308, 100 + step)),
        ("whole", (100 + step).round()),
        ("two values", (step > 3) * 1.0),
        ("a jump from zero", np.where(half, 0.0, 1.0)),
        ("the least jump", np.where(half, 0.0, 5e-324)),
        ("negative", -100 - step),
        ("around zero", step - step.mean()),
        ("gaps", np.where(draw.random(length) < 0.3, np.nan, step)),
        ("zeros of both signs", np.where(draw.random(length) < 0.5, 0.0, -0.0)),
        ("constant", np.full(length, 0.1)),
        ("constant and huge", np.full(length, 1.7e308)),
        ("all missing", np.full(length, np.nan)),
    ]


def _explain(case: Case, values: Floats, **more: object) -> Detection:
    return explain(values, method=case[0], **{**case[1], **more})


def _places(case: Case, values: Floats, **more: object) -> list[int]:
    return [step.index for step in find_steps(values, method=case[0], **{**case[1], **more})]


def _holds(check: Check) -> bool:
    if not check.relation:
        return True
    assert check.bound is not None
    compare = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}[check.relation]
    return bool(compare(check.value, check.bound))


@_each(_ALL)
def test_the_numbers_of_a_decision_give_it_again(case: Case) -> None:
    compound = case[0] == "threshold" or "rule" in case[1] or case[1].get("preset") == "otava"
    for length in (1, 2, 3, 5, 8, 20, 60):
        for name, values in _kinds(length):
            for candidate in _explain(case, values).candidates:
                where = (name, length, candidate)
                assert all(check.passed == _holds(check) for check in candidate.checks), where
                assert not any(np.isnan(check.value) for check in candidate.checks), where
                failed = [check for check in candidate.checks if not check.passed]
                if candidate.accepted:
                    assert not candidate.reason, where
                    assert compound or not failed, where
                else:
                    assert candidate.reason, where
                    assert failed, where


@_each(_ALL)
def test_what_does_not_vary_has_no_step(case: Case) -> None:
    if case[1].get("kind") == "const":
        return
    more = {"releases": ()} if "releases" in case[1] else {}
    for values in ([], [3.0], [np.nan], [np.nan] * 40, [0.1] * 60, [1.7e308] * 60, [0.0, -0.0] * 20):
        assert _places(case, np.array(values), **more) == []


@_each(_ALL)
def test_steps_are_those_of_the_measured_values_alone(case: Case) -> None:
    if case[1].get("ago"):
        return
    values = _series(3)
    gaps = np.sort(np.random.default_rng(1).choice(values.size, 25, replace=False))
    with_gaps = np.insert(values, gaps, np.nan)
    rows = np.flatnonzero(~np.isnan(with_gaps))
    assert _places(case, with_gaps) == rows[_places(case, values)].tolist()


@_each(_RELATIVE)
@pytest.mark.parametrize("power", [-1040, -700, 3, 900])
def test_a_positive_scale_changes_nothing(case: Case, power: int) -> None:
    for seed in range(2):
        values = _series(seed)
        scaled = np.ldexp(values, power)
        ours, theirs = _explain(case, values), _explain(case, scaled)
        assert [step.index for step in ours.steps] == [step.index for step in theirs.steps]
        assert [each.reason == "" for each in ours.candidates] == [each.reason == "" for each in theirs.candidates]
        assert [step.relative_size for step in theirs.steps] == pytest.approx(
            [step.relative_size for step in ours.steps], rel=1e-9
        )


@_each([case for case in _STEP_FITS if "percent" not in str(case)] + _E_DIVISIVE[:5] + [("modes", {})] + _IN_UNIT[2:])
@pytest.mark.parametrize("shift", [-(2.0**40), 1e9])
def test_a_shift_changes_no_place(case: Case, shift: float) -> None:
    floor = {"floor": 0.0} if case[0] == "step_fit" else {}
    for seed in range(3):
        values = _series(seed)
        assert _places(case, values + shift, **floor) == _places(case, values, **floor)


@_each([case for case in _ALL if "direction" not in case[1] and case not in _COMPATIBLE])
def test_steps_down_are_found_like_steps_up(case: Case) -> None:
    for seed in range(4):
        ours, theirs = _explain(case, _series(seed)), _explain(case, -_series(seed))
        assert [step.index for step in ours.steps] == [step.index for step in theirs.steps]
        assert [step.size for step in ours.steps] == [-step.size for step in theirs.steps]


_SYMMETRIC: list[Case] = [
    *(("step_fit", {"kind": kind}) for kind in ("original", "cohen", "mann_whitney_u", "stepiness")),
    ("step_fit", {"kind": "absolute", "threshold": 4.0}),
    ("t_test", {"longest_back": 12}),
    ("modes", {}),
    ("threshold", {"change": 0.0, "absolute": 6.0}),
    ("e_divisive", {"scan": "tau", "form": "V", "test": "none", "maximum_steps": 3}),
    ("e_divisive", {"scan": "tau", "test": "rank"}),
]


@_each(_SYMMETRIC)
def test_the_mirrored_series_has_the_mirrored_steps(case: Case) -> None:
    for seed in range(4):
        values = np.repeat([100.0, 112.0, 95.0], 30) + np.random.default_rng(seed).normal(0, 1, 90)
        mirrored = [values.size - index for index in _places(case, values[::-1])]
        assert sorted(mirrored) == _places(case, values)


@_each(_ALL)
def test_an_infinity_is_refused_by_its_index(case: Case) -> None:
    values = _series()
    values[17] = -np.inf
    with pytest.raises(Exception, match="index 17: the value is infinite"):
        find_steps(values, method=case[0], **case[1])


@_each(_ALL)
def test_one_thread_and_two_give_the_steps_of_each(case: Case) -> None:
    frame = np.array([_series(seed) for seed in range(5)])
    one, two = (find_steps_many(frame, method=case[0], threads=threads, **case[1]) for threads in (1, 2))
    assert repr(one) == repr(two) == repr([find_steps(row, method=case[0], **case[1]) for row in frame])


_PROGRAM = """
import json, sys
import numpy as np
from knickpoint.detect import explain
cases, series = json.load(sys.stdin)
print(json.dumps([
    [[step.index for step in explain(np.array(values), method=method, **parameters).steps] for values in series]
    for method, parameters in cases
]))
"""


@pytest.mark.long
def test_compiled_kernels_and_numpy_find_the_same_steps() -> None:
    series = [_series(seed, 60).tolist() for seed in range(3)]
    answers = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", _PROGRAM],
                input=json.dumps([_ALL, series]),
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "KNICKPOINT_KERNELS": kernels},
            ).stdout
        )
        for kernels in ("", "numpy")
    ]
    assert answers[0] == answers[1]
    assert any(any(steps) for steps in answers[0])
