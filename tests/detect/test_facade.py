from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from knickpoint import detect
from knickpoint.detect import explain, find_steps, find_steps_many, parameters_of, presets_of
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import InputError, SeriesError
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.unit_names import Better

NAN = math.nan
_METHODS = [name for name, method in detect.METHODS.items() if method.kind is detect.MethodKind.SERIES]


def _frame(rows: int = 20, columns: int = 60) -> NDArray[np.float64]:
    frame = np.random.default_rng(7).normal(50, 1, (rows, columns))
    frame[::3, columns // 2 :] += 8
    frame[1, 5:9] = NAN
    return frame


def test_every_public_name_is_there_and_sorted() -> None:
    assert list(detect.__all__) == sorted(detect.__all__)
    for name in detect.__all__:
        assert hasattr(detect, name), name


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'guess'"):
        _ = detect.guess


@pytest.mark.parametrize("method", _METHODS)
def test_every_method_takes_missing_values_and_returns_sorted_steps(method: str) -> None:
    values = _frame()[0]
    values[[3, 4, 40]] = NAN
    detection = explain(values, method=method)
    assert [step.index for step in detection.steps] == sorted(step.index for step in detection.steps)
    assert all(not math.isnan(values[step.index]) for step in detection.steps)
    assert detection.method.replace("-", "_") == method


@pytest.mark.parametrize("method", _METHODS)
def test_every_method_reports_every_parameter_it_has(method: str) -> None:
    assert set(parameters_of(method)) <= set(explain(_frame()[0], method=method).parameters)


@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("values", [[], [1.0], [NAN] * 30, [2.0] * 80])
def test_no_method_finds_anything_where_nothing_is(method: str, values: list[float]) -> None:
    assert find_steps(values, method=method) == []


@pytest.mark.parametrize("method", _METHODS)
def test_every_method_refuses_an_infinity_with_its_index(method: str) -> None:
    with pytest.raises(SeriesError, match="index 2"):
        find_steps([1.0, 2.0, math.inf], method=method)


@pytest.mark.parametrize("method", _METHODS)
def test_every_preset_of_every_method_runs(method: str) -> None:
    for preset in presets_of(method):
        assert explain(_frame()[0], method=method, preset=preset).parameters["preset"] == preset


def test_a_method_is_a_function_of_the_package_with_its_own_signature() -> None:
    values = _frame()[0]
    assert detect.e_divisive(values, preset="otava") == explain(values, method="e_divisive", preset="otava")
    assert "minimum_segment" in (detect.e_divisive.__doc__ or "")


def test_a_step_has_the_label_of_its_row_where_the_values_have_an_index() -> None:
    values = _frame()[0]
    labels = [f"commit {number}" for number in range(len(values))]
    (step,) = find_steps(pd.Series(values, index=labels))
    assert step.label == labels[step.index]
    assert explain(pd.Series(values, index=labels)).steps[0].label == step.label
    (of_samples,) = find_steps(None, samples=pd.Series([[value, value] for value in values], index=labels))
    assert of_samples.label == labels[of_samples.index]
    assert find_steps(values)[0].label is None


def test_hyphens_are_underscores() -> None:
    assert explain(_frame()[0], method="e-divisive", **{"minimum-segment": 4}).parameters["minimum_segment"] == 4


def test_an_unknown_method_lists_the_methods() -> None:
    with pytest.raises(InputError, match=r"no method 'magic'.*default, e_divisive"):
        find_steps([1.0], method="magic")


def test_an_unknown_parameter_lists_the_parameters() -> None:
    with pytest.raises(InputError, match=r"no parameter 'speed'.*alpha=1.0, form=U"):
        find_steps([1.0], method="e_divisive", speed=3)


def test_an_unknown_preset_lists_the_presets() -> None:
    with pytest.raises(InputError, match=r"no preset 'best'.*ecp, mongodb, otava"):
        find_steps([1.0], method="e_divisive", preset="best")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"p": "0.05"}, {"p": 0.05}),
        ({"permutations": "1e3"}, {"permutations": 1000}),
        ({"permutations": 300.0}, {"permutations": 300}),
        ({"maximum_steps": "none"}, {"maximum_steps": None}),
        ({"maximum_steps": "4"}, {"maximum_steps": 4}),
        ({"scan": "tau-kappa"}, {"scan": "tau_kappa"}),
        ({"known": "3, 20"}, {"known": "3,20"}),
        ({"known": [3, 20]}, {"known": "3,20"}),
    ],
)
def test_text_becomes_what_the_parameter_takes(given: dict[str, object], kept: dict[str, object]) -> None:
    parameters = explain(_frame()[0], method="e_divisive", **given).parameters
    assert {name: parameters[name] for name in kept} == kept


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"p": "often"}, "Give a number"),
        ({"p": "nan"}, "Give a number"),
        ({"permutations": 2.5}, "Give a whole number"),
        ({"permutations": True}, "Give a whole number"),
        ({"permutations": "inf"}, "Give a whole number"),
        ({"form": "W"}, "Give one of U, V"),
        ({"known": "a,b"}, "Give a whole number"),
        ({"known": 3}, "Give numbers with commas"),
    ],
)
def test_a_value_of_another_kind_is_refused(given: dict[str, object], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        find_steps([1.0], method="e_divisive", **given)


_IMPOSSIBLE: list[tuple[str, dict[str, float]]] = [
    ("catapult", {"segment": -1}),
    ("catapult", {"deviations": -1}),
    ("catapult", {"steppiness": 2}),
    ("catapult", {"permutations": 10**9}),
    ("catapult", {"seed": -1}),
    ("e_divisive", {"permutations": 10**9}),
    ("e_divisive", {"seed": -1}),
    ("e_divisive", {"minimum_magnitude": -0.1}),
    ("modes", {"most": 10**9}),
    ("modes", {"minimum_effect": -0.1}),
    ("step_fit", {"floor": -1}),
    ("t_test", {"threshold": -1}),
    ("t_test", {"minimum_effect": -1}),
    ("threshold", {"age": -1}),
]


@pytest.mark.parametrize(("method", "given"), _IMPOSSIBLE)
def test_a_number_that_cannot_be_is_named_with_what_can(method: str, given: dict[str, float]) -> None:
    (name,) = given
    with pytest.raises(InputError, match=rf"{name} (is )?-?[0-9.]+.* Give") as refused:
        explain(_frame()[0], method=method, **given)
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("modes", "window"),
        ("step_fit", "radius"),
        ("t_test", "longest_back"),
        ("t_test", "fore"),
        ("catapult", "window"),
    ],
)
def test_a_window_longer_than_any_series_takes_no_time(method: str, name: str) -> None:
    assert explain(_frame()[0], method=method, **{name: 10**15}).facts is not None


def test_a_given_parameter_is_stronger_than_the_preset() -> None:
    parameters = explain(_frame()[0], method="e_divisive", preset="mongodb", p=0.01).parameters
    assert (parameters["p"], parameters["form"], parameters["preset"]) == (0.01, "V", "mongodb")


@pytest.mark.parametrize("method", ["default", "e_divisive", "t_test"])
@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_many_series_have_the_steps_of_each_whatever_the_threads(method: str, threads: int | None) -> None:
    frame = _frame()
    expected = [find_steps(row, method=method) for row in frame]
    assert repr(find_steps_many(frame, method=method, threads=threads)) == repr(expected)


def test_processes_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from knickpoint.detect import batch

    monkeypatch.setattr(batch, "_PROCESSES_FROM", 1)
    frame = _frame(6)
    alone = find_steps_many(frame, method="threshold", threads=1)
    assert repr(find_steps_many(frame, method="threshold", threads=2)) == repr(alone)


def test_where_processes_cannot_start_one_thread_does_the_work() -> None:
    code = (
        "import numpy as np\n"
        "from knickpoint.detect import batch, find_steps_many\n"
        "batch._PROCESSES_FROM = 1\n"
        "frame = np.repeat([[1.0, 2.0]], 30, axis=1).repeat(4, axis=0)\n"
        "print([len(steps) for steps in find_steps_many(frame, method='threshold', threads=2)])\n"
    )
    answer = subprocess.run([sys.executable], input=code, capture_output=True, text=True, check=True)
    assert answer.stdout == "[1, 1, 1, 1]\n"
    assert "give threads=1" in answer.stderr


def test_a_frame_without_traces_or_commits_gives_nothing() -> None:
    assert find_steps_many(np.empty((0, 5))) == []
    assert find_steps_many(np.empty((2, 0))) == [[], []]


def test_a_frame_of_the_store_is_judged_like_its_matrix() -> None:
    values = _frame(4)
    line = Line(Repository(1, "r"), "main", tuple(range(60)))
    traces = [Trace(row, f",test=t{row},", "s", "time", Better.LOWER) for row in range(4)]
    frame = Frame(traces, line, 0, np.arange(60), values)
    assert repr(find_steps_many(frame, threads=1)) == repr(find_steps_many(values, threads=1))


def test_a_bad_frame_names_its_place() -> None:
    frame = _frame(4)
    frame[2, 7] = math.inf
    with pytest.raises(SeriesError, match="index 2, 7"):
        find_steps_many(frame)


def test_less_than_one_thread_is_refused() -> None:
    with pytest.raises(InputError, match="threads is 0"):
        find_steps_many(_frame(2), threads=0)


def test_importing_the_package_imports_no_method() -> None:
    code = "import sys, knickpoint.detect; print([name for name in sys.modules if '.methods.' in name])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_without_compiled_kernels_numpy_gives_the_same_steps() -> None:
    code = (
        "import numpy as np, knickpoint.native as native\n"
        "from knickpoint.detect import find_steps\n"
        "frame = np.random.default_rng(7).normal(50, 1, (3, 60)); frame[::2, 30:] += 8\n"
        "steps = [find_steps(row, method='e_divisive', preset=preset)\n"
        "         for row in frame for preset in ('', 'otava', 'mongodb')]\n"
        "print([[step.index for step in found] for found in steps], native.COMPILED)\n"
    )
    plain = {**os.environ, "KNICKPOINT_KERNELS": "numpy"}
    answers = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout
        for env in (dict(os.environ), plain)
    ]
    assert answers[0].rsplit(" ", 1)[0] == answers[1].rsplit(" ", 1)[0]
    assert answers[1].endswith("False\n")
