"""Catapult's change points against vectors that its code made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference_data import skip_without_reference

from knickpoint.detect import catapult
from knickpoint.detect.methods.catapult.method import filter_checks, find_splits
from knickpoint.model.step import Step

skip_without_reference()


_NAMES = {
    "max_window_size": "window",
    "min_segment_size": "segment",
    "min_absolute_change": "absolute",
    "min_relative_change": "change",
    "multiple_of_std_dev": "deviations",
    "min_steppiness": "steppiness",
}


@pytest.fixture(scope="module")
def vectors(reference: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((reference / "vectors" / "catapult_detection.json").read_text())
    return found


def _runs(text: str) -> NDArray[np.float64]:
    values: list[float] = []
    for run in text.split(","):
        value, _, length = run.partition("x")
        values += [float(value)] * int(length or 1)
    return np.array(values)


def _numbers(step: Step) -> dict[str, float]:
    return {check.name: check.value for check in step.evidence}


def test_filters_pass_what_those_of_catapult_pass(vectors: dict[str, Any]) -> None:
    off = {"segment": 0, "absolute": 0.0, "change": 0.0, "deviations": 0.0, "steppiness": 0.0}
    for case in vectors["threshold_filters"]:
        bounds: dict[str, Any] = off | {ours: case[theirs] for theirs, ours in _NAMES.items() if theirs in case}
        checks = filter_checks(np.array(case["values"], dtype=np.float64), case["split"], **bounds)
        assert all(check.passed for check in checks) == case["pass"], case


def test_splits_and_their_ranges_are_those_of_catapult(vectors: dict[str, Any]) -> None:
    for case in vectors["clustering"]:
        splits = {
            split.index: (split.lower, split.upper)
            for split in find_splits(_runs(case["seq"]))
            if split.significance >= 0.95
        }
        if "contains" not in case:
            assert sorted(splits.items()) == sorted((place, tuple(range_)) for place, range_ in case.get("equals", []))
            continue
        points = case["contains"] if isinstance(case["contains"][0], list) else [case["contains"]]
        for place, (lower, upper) in points:
            assert splits[place][0] == lower
            # one asserted range ends a place later than nine tenths of the energy reach
            assert upper - splits[place][1] == (1 if place == 240 else 0)


def test_change_points_are_those_of_catapult(vectors: dict[str, Any]) -> None:
    for case in vectors["find_change_points"]:
        expected = case.get("expect_x") or [point["x_value"] for point in case["expect"]]
        parameters = {ours: case["params"][theirs] for theirs, ours in _NAMES.items() if theirs in case["params"]}
        steps = catapult(np.array(case["series"], dtype=np.float64), **parameters).steps
        assert [step.index for step in steps] == sorted(expected)
        for step, point in zip(steps, case.get("expect", []), strict=False):
            assert (step.before.median, step.after.median) == (point["median_before"], point["median_after"])
            assert _numbers(step)["values on the smaller side"] == min(point["size_before"], point["size_after"])
            assert _numbers(step)["relative change of the medians"] == pytest.approx(point["relative_change"])


def test_a_real_step_of_chromium_is_found_with_its_range(vectors: dict[str, Any]) -> None:
    case = vectors["find_anomalies_row_data"]
    revisions = [revision for revision, _ in case["rows"]]
    (step,) = catapult([value for _, value in case["rows"]]).steps
    (run,) = case["reference_run_last50"]
    evidence = _numbers(step)
    assert revisions[step.index] == case["expected_step_revision"]
    assert evidence["values on the smaller side"] == min(run["size_before"], run["size_after"])
    assert evidence["change of the medians"] == pytest.approx(run["median_after"] - run["median_before"])
    assert evidence["relative change of the medians"] == pytest.approx(run["relative_change"])
    bounds = revisions[int(evidence["earliest index"])], revisions[int(evidence["latest index"])]
    assert bounds == (run["extended_start"], run["extended_end"])


def test_steppish_series_have_a_step_and_others_none(vectors: dict[str, Any]) -> None:
    case = vectors["find_step"]
    (step,) = catapult([value for _, value in case["steppish"]], change=0.01).steps
    assert step.index == case["steppish_index"]
    assert not catapult([value for _, value in case["not_steppish"]], change=0.01).steps
