"""What Skia Perf makes of series, traces and samples, through the doors that everybody uses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference_data import skip_without_reference

from knickpoint.detect import cluster, find_steps, find_steps_many
from knickpoint.detect.window_fits.fit import KINDS, Kind
from knickpoint.detect.window_fits.mann_whitney import mann_whitney_u
from knickpoint.detect.window_fits.rules import read_rule
from knickpoint.detect.window_fits.windows import too_much_missing
from knickpoint.model.cluster import count_params
from knickpoint.model.errors import InputError
from knickpoint.model.step import Movement

skip_without_reference()

_SKIA: dict[str, Kind] = {"": "original", "mannwhitneyu": "mann_whitney_u"}


@pytest.fixture(scope="module")
def vectors(reference: Path) -> dict[str, Any]:
    return {
        name: json.loads((reference / "vectors" / f"skia_{name}.json").read_text())
        for name in ("ctrace_kmeans", "misc", "pinpoint_compare", "refiner", "samplestats", "stepfit")
    }


def _kind(name: str) -> Kind:
    return _SKIA[name] if name in _SKIA else next(kind for kind in KINDS if kind == name)


def _numbers(values: list[float]) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    return np.where(array > 1e31, np.nan, array)


def test_traces_that_step_together_in_one_window_are_those_that_skia_groups(vectors: dict[str, Any]) -> None:
    case = vectors["misc"]["stepfit_grouping"]
    expected = case["expected"]
    frame = np.array([_numbers(values) for values in case["traceset"].values()])
    found = find_steps_many(
        frame,
        method="step_fit",
        preset="skia",
        kind=_kind(case["step"]),
        threshold=case["interesting"],
        floor=case["stddev_threshold"],
        radius=frame.shape[1] // 2,
    )
    groups = {(step.index, step.movement) for steps in found for step in steps}
    assert len(groups) == expected["num_clusters"]
    assert groups == {(expected["step_point_index"], Movement.UP if expected["status"] == "High" else Movement.DOWN)}
    assert sum(map(bool, found)) == expected["num_keys"]


def test_each_window_of_the_playground_has_the_levels_that_skia_shows(vectors: dict[str, Any]) -> None:
    for case in vectors["misc"]["playground_sliding_window"]:
        if case["group_anomalies"]:
            continue
        values, radius = _numbers(case["trace"]), case["radius"]
        steps = find_steps(
            values,
            method="step_fit",
            preset="skia",
            kind=_kind(case["algorithm"]),
            threshold=case["threshold"],
            radius=radius,
        )
        rows = np.flatnonzero(~np.isnan(values))
        reached = set(rows[: max(0, rows.size - radius)].tolist())  # the playground has no even windows
        found = [step for step in steps if step.index in reached]
        expected = case["anomalies"]
        assert [step.index for step in found] == [each["index"] for each in expected]
        if case["algorithm"] in {"", "absolute", "cohen"}:
            assert [step.movement is Movement.DOWN for step in found] == [each["is_improvement"] for each in expected]
        for side in ("before", "after") if case["algorithm"] else ("before",):  # it shows a value less than it judges
            medians = [getattr(step, side).median for step in found]
            assert medians == pytest.approx([each[f"median_{side}"] for each in expected], rel=1e-6)


@pytest.mark.parametrize("width", [6, 9, 15])
def test_a_sliding_series_steps_most_at_the_value_that_skia_names(vectors: dict[str, Any], width: int) -> None:
    case = vectors["stepfit"]["sliding_series"]
    steps = find_steps(
        case["data"],
        method="step_fit",
        preset="chrome",
        refiner="each",
        threshold=0,
        radius=width // 2,
        floor=case["stddev_threshold"],
    )
    scores = [step.score * (-1 if step.movement is Movement.UP else 1) for step in steps]
    regressions = case[f"window_{width}"]["regressions"]
    assert scores[: len(regressions)] == pytest.approx(regressions, rel=1e-5)
    strongest = max(steps[: len(regressions)], key=lambda step: step.score)
    if width == 15:
        assert case["data"][strongest.index] == case["turning_point_value_of_max_abs_regression"]


def test_rules_are_valid_where_those_of_skias_alerts_are(vectors: dict[str, Any]) -> None:
    for case in vectors["misc"]["alerts_group_by"]["detection_rule_validate"]:
        text = json.dumps(case["rule"])
        if case["valid"]:
            assert read_rule(text)
            continue
        with pytest.raises(InputError):
            read_rule(text)


def test_windows_of_the_original_fit_miss_too_much_where_those_of_skia_do(vectors: dict[str, Any]) -> None:
    for case in vectors["refiner"]["too_much_missing_data"]:
        assert bool(too_much_missing(_numbers(case["trace"])[None, :], compatible=True)[0]) == case["original_step"]


def test_names_and_values_of_params_come_in_skias_order(vectors: dict[str, Any]) -> None:
    for case in vectors["ctrace_kmeans"]["sort_value_percent"]:
        members: list[dict[str, str]] = [{} for _ in range(100)]
        for entry in case["in"]:
            name, _, value = entry["value"].partition("=")
            free = [member for member in members if name not in member]
            for member in free[: entry["percent"]]:
                member[name] = value
        keys = ["," + ",".join(f"{name}={value}" for name, value in sorted(each.items())) + "," for each in members]
        found = [{"value": f"{each.name}={each.value}", "percent": each.percent} for each in count_params(keys)]
        assert found == case["out"]


def test_clusters_share_the_params_that_skia_counts(vectors: dict[str, Any]) -> None:
    case = vectors["ctrace_kmeans"]["cluster_summaries_two_shapes"]
    frame = np.array(list(case["traceset"].values()), dtype=np.float64)
    found = cluster(frame, list(case["traceset"]), preset="skia", floor=case["stddev_threshold"], k=case["k"])
    for one, other in zip(found, case["expected_clusters_in_order"], strict=True):
        assert one.size == other["num"]
        assert {(f"{each.name}={each.value}", each.percent) for each in one.params} == {
            (each["value"], each["percent"]) for each in other["param_summaries2"]
        }


def test_samples_of_two_files_differ_by_as_much_as_in_nanostat(vectors: dict[str, Any]) -> None:
    compared = 0
    for analysis in vectors["samplestats"]["analyses"]:
        for row in analysis["rows_sorted_by_name"] if analysis["config"]["test"] == "utest" else ():
            before, after = (np.array(row[side]["values_kept"], dtype=np.float64) for side in ("before", "after"))
            if row["note"]:
                assert np.isnan(mann_whitney_u(before, after).p_value)
                continue
            assert mann_whitney_u(before, after).p_value == pytest.approx(row["p"], rel=1e-9)
            compared += 1
    assert compared > 5


def test_samples_too_large_for_the_exact_law_have_the_p_of_pinpoint(vectors: dict[str, Any]) -> None:
    compared = 0
    for case in vectors["pinpoint_compare"]["two_sample_tests"]:
        first, second = (np.array(case[side], dtype=np.float64) for side in "ab")
        tied = len({*case["a"], *case["b"]}) < first.size + second.size
        if max(first.size, second.size) > (25 if tied else 50):
            assert mann_whitney_u(first, second).p_value == pytest.approx(case["mwu_p"], rel=1e-9)
            compared += 1
    assert compared
