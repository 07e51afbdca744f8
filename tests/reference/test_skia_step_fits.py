"""The step fit family against vectors that the original functions made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference_data import skip_without_reference

from knickpoint.detect.methods.step_fit.refinement import confirm, refine_windows, single_point_stands_out, strengths
from knickpoint.detect.window_fits.fit import Kind
from knickpoint.detect.window_fits.fit_skia import fit_as_skia
from knickpoint.detect.window_fits.mann_whitney import mann_whitney_u
from knickpoint.detect.window_fits.rules import (
    PRIORITY,
    Rule,
    SimpleRule,
    apply_rule_as_skia,
    read_rule,
    window_width,
    write_rule,
)
from knickpoint.detect.window_fits.windows import find_peaks, join_areas, sliding_windows, too_much_missing
from knickpoint.model.errors import InputError

skip_without_reference()

_KINDS: dict[str, Kind] = {
    "": "original",
    "absolute": "absolute",
    "percent": "percent",
    "percent_median": "percent_median",
    "const": "const",
    "cohen": "cohen",
    "mannwhitneyu": "mann_whitney_u",
    "stepiness": "stepiness",
}
_STATUS = {1: "High", -1: "Low", 0: "Uninteresting"}
_UNWANTED = {"BOTH": 0, "UP": -1, "DOWN": 1}


@pytest.fixture(scope="module")
def vectors(reference: Path) -> dict[str, Any]:
    return {
        name: json.loads((reference / "vectors" / f"skia_{name}.json").read_text())
        for name in ("stepfit", "rules", "refiner", "misc")
    }


def _numbers(values: list[float]) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    return np.where(array > 1e31, np.nan, array)


def _skia_value(kind: Kind, value: float, movement: int) -> float:
    """Give the value the sign that Skia gives it: negative when the level goes up."""
    if kind == "const":
        return value
    if kind == "mann_whitney_u":
        return -value if movement > 0 else value
    return -value


def test_all_step_fits_of_skia_come_out_to_the_last_bit(vectors: dict[str, Any]) -> None:
    cases = vectors["stepfit"]["generated_cases"] + vectors["stepfit"]["upstream_unit_cases"]
    differing = []
    for case in cases:
        kind, expected = _KINDS[case["step"]], case["expected"]
        fit = fit_as_skia(_numbers(case["trace"])[None, :], kind, case["threshold"], floor=case["stddev_threshold"])
        evaluations = expected.get("n_rule_evaluations", len(expected.get("rule_evaluation", [])))
        if not evaluations or not fit.defined[0]:
            if bool(evaluations) != bool(fit.defined[0]):
                differing.append(case)
            continue
        movement = int(fit.movement[0])
        error = float(fit.error[0])
        got = (
            _STATUS[movement],
            fit.middle,
            np.float32(_skia_value(kind, float(fit.value[0]), movement)),
            np.float32(-1 if kind == "const" else -float(fit.size[0])),
            np.float32(-1 if np.isnan(error) else error),
        )
        wanted = (
            expected["status"],
            expected["turning_point"],
            np.float32(expected["regression"]),
            np.float32(expected["step_size"]),
            np.float32(expected["least_squares"]),
        )
        if got != wanted:
            differing.append(case)
    assert (len(cases), differing) == (993, [])


def test_sliding_fits_are_those_of_skia(vectors: dict[str, Any]) -> None:
    sliding = vectors["stepfit"]["sliding_series"]
    values = _numbers(sliding["data"])
    for name, by_width in sliding["all_algorithms_min_stddev_0.001"].items():
        kind = _KINDS["" if name == "original" else name]
        for width, windows in by_width.items():
            for window in windows:
                part = sliding_windows(values, int(width))[window["start"]][None, :]
                fit = fit_as_skia(part, kind, window["threshold"], floor=0.001)
                assert _STATUS[int(fit.movement[0])] == window["status"]
                got = _skia_value(kind, float(fit.value[0]), int(fit.movement[0]))
                assert got == pytest.approx(window["regression"], rel=1e-6)


def test_rank_tests_agree_with_the_reference(vectors: dict[str, Any]) -> None:
    for case in vectors["stepfit"]["pure_functions"]["mann_whitney_u_two_sided"]:
        first, second = np.array(case["sample1"]), np.array(case["sample2"])
        test = mann_whitney_u(first, second)
        assert test.u == case["u"]
        unsafe = first.size != second.size and len({*case["sample1"], *case["sample2"]}) < first.size + second.size
        assert test.p_value == pytest.approx(case["p_float32"], rel=0.05 if unsafe else 1e-6)


def test_rules_judge_as_skia_does(vectors: dict[str, Any]) -> None:
    for case in vectors["rules"]["rule_cases"]:
        if case["name"].startswith(("empty", "unknown")):
            with pytest.raises(InputError):
                read_rule(json.dumps(case["rule"]))
            continue
        rule = read_rule(json.dumps(case["rule"]))
        assert read_rule(write_rule(rule)) == rule
        judged = apply_rule_as_skia(np.array([case["trace"]]), rule, floor=case["stddev_threshold"])
        assert _STATUS[int(judged.movement[0])] == case["expected"]["status"], case["name"]
        fits = sorted(
            (fit for fit in judged.fits if fit.defined[0]), key=lambda fit: (not fit.movement[0], -PRIORITY[fit.kind])
        )
        evaluations = case["expected"]["rule_evaluation"]
        assert [fit.kind for fit in fits] == [_KINDS[evaluation["algo"]] for evaluation in evaluations]
        assert [abs(float(fit.value[0])) for fit in fits] == pytest.approx([each["value"] for each in evaluations])


def test_windows_are_as_wide_as_those_of_skia(vectors: dict[str, Any]) -> None:
    for case in vectors["rules"]["window_size"]:
        rule: Rule = read_rule(json.dumps(case["rule"])) if case["rule"] else SimpleRule(_KINDS[case["step"]], 1.0)
        assert window_width(rule, case["radius"], compatible=True) == case["size"]


def test_windows_skip_what_is_missing(vectors: dict[str, Any]) -> None:
    case = vectors["misc"]["slicing_windows_without_missing_points"]
    got = []
    for name in sorted(case["traces"]):
        values = _numbers(case["traces"][name])
        rows = np.flatnonzero(~np.isnan(values))
        commits = np.array(case["header"])[rows].astype(np.float64)
        got += [
            [name, where.tolist(), what.tolist()]
            for where, what in zip(sliding_windows(commits, 3), sliding_windows(values[rows], 3), strict=True)
        ]
    assert got == case["expected"]


def test_areas_peaks_and_sparse_windows_are_those_of_skia(vectors: dict[str, Any]) -> None:
    refiner = vectors["refiner"]
    movements = {"u": 0, "h": 1, "l": -1}
    for case in refiner["areas"]:
        movement = np.array([movements[status] for status in case["statuses"]], dtype=np.int8)
        movement[movement == (_UNWANTED[case["direction"]] or 9)] = 0
        found = join_areas(movement, 2 * case["radius"], compatible=True)
        assert [list(range(area.first, area.last + 1)) for area in found] == case["areas_as_indexes"]
    for case in refiner["peaks"]:
        values = np.array(case["values"], dtype=np.float64)
        peaks = find_peaks(1 - values if case["algo"] == "mannwhitneyu" else np.abs(values))
        assert (peaks.left, peaks.highest, peaks.right) == (case["left"], case["max"], case["right"])
    for case in refiner["too_much_missing_data"]:
        assert bool(too_much_missing(_numbers(case["trace"])[None, :], compatible=True)[0]) == case["other_steps"]


def test_single_points_and_confirmations_are_those_of_skia(vectors: dict[str, Any]) -> None:
    for case in vectors["refiner"]["single_point_is_anomaly"]:
        baseline = np.array(case["baseline"], dtype=np.float32)
        kind, floor = _KINDS[case["algo"]], case["stddev_threshold"]
        found = single_point_stands_out(case["value"], baseline, kind, case["threshold"], floor=floor, compatible=True)
        assert found == case["is_anomaly"]
    for case in vectors["refiner"]["improved_confirm"]:
        left, right = np.array(case["left"], dtype=np.float64), np.array(case["right"], dtype=np.float64)
        result = confirm(
            left, right, _KINDS[case["algo"]], case["threshold"], floor=case["stddev_threshold"], compatible=True
        )
        assert result.passed == case["confirmed"]
        assert (-result.value, result.bound) == pytest.approx((case["regression"], case["threshold_used"]))


def _refined(
    trace: list[float], rule: Rule, width: int, *, radius: int, direction: str, floor: float
) -> tuple[list[list[Any]], list[tuple[int, int, int, str, float]]]:
    """Return the interesting windows and the findings with bounds, in commits."""
    values = _numbers(trace)
    rows = np.flatnonzero(~np.isnan(values))
    windows = sliding_windows(values[rows], width).astype(np.float32)
    judged = apply_rule_as_skia(windows, rule)
    turning = judged.fits[0].middle
    interesting = [
        [int(rows[window]), int(rows[window + turning]), _STATUS[int(judged.movement[window])]]
        for window in np.flatnonzero(judged.movement)
    ]
    movement = judged.movement.copy()
    movement[movement == (_UNWANTED[direction] or 9)] = 0
    found = refine_windows(windows, rule, judged, movement, longest=2 * radius, floor=floor, compatible=True)
    return interesting, [
        (
            int(rows[each.right + turning]),
            int(rows[each.highest + turning]),
            int(rows[each.left + turning - 1]),
            _STATUS[int(judged.movement[each.highest])],
            abs(judged.value(each.highest)),
        )
        for each in found
    ]


def _wanted(cases: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            case["commit"],
            case["display_commit"],
            case["prev_commit"],
            case["status"],
            pytest.approx(abs(case["regression"]), rel=1e-5),
        )
        for case in cases
    ]


def test_windows_and_refiners_find_the_commits_that_skia_finds(vectors: dict[str, Any]) -> None:
    refiner = vectors["refiner"]
    for case in refiner["end_to_end_cases"]:
        detection_rule = case.get("detection_rule")
        rule = (
            read_rule(json.dumps(detection_rule))
            if detection_rule
            else SimpleRule(_KINDS[case["step"]], case["interesting"])
        )
        trace, width = refiner["end_to_end_series"][case["series"]], case["window_size"]
        interesting, bounds = _refined(
            trace, rule, width, radius=case["radius"], direction=case["direction"], floor=0.001
        )
        for name in case:
            if name.startswith("interesting_windows"):
                assert interesting == [window[:3] for window in case[name]]
        if isinstance(case["anomaly_bounds_refiner"], list):
            assert bounds == _wanted(case["anomaly_bounds_refiner"]), (case["series"], rule)


def test_the_refiner_finds_the_commits_of_a_real_trace(vectors: dict[str, Any]) -> None:
    case = vectors["refiner"]["upstream_integration"]
    _, bounds = _refined(
        case["trace"], SimpleRule("cohen", 2.5), case["window_size"], radius=8, direction="BOTH", floor=0.1
    )
    assert bounds == _wanted(case["got"])
    assert [commit for commit, *_ in bounds] == case["expected_commit"]


def test_the_windows_of_the_playground_are_those_of_skia(vectors: dict[str, Any]) -> None:
    for case in vectors["misc"]["playground_sliding_window"]:
        kind = _KINDS[case["algorithm"]]
        values = _numbers(case["trace"])
        rows = np.flatnonzero(~np.isnan(values))
        radius = case["radius"]
        windows = sliding_windows(values[rows], 2 * radius + 1)
        judged = apply_rule_as_skia(windows, SimpleRule(kind, case["threshold"]))
        found = np.flatnonzero(judged.movement).tolist()
        if case["group_anomalies"]:
            strength = strengths(judged, 0)
            runs = np.split(found, np.flatnonzero(np.diff(found) > 1) + 1) if found else []
            found = [int(run[np.argmax(strength[run])]) for run in runs]
        assert [int(rows[window + radius]) for window in found] == [anomaly["index"] for anomaly in case["anomalies"]]
