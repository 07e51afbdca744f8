"""E-Divisive against the series and splits of MongoDB, ecp and Otava."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.detect.test_e_divisive import _order
from tests.reference_data import skip_without_reference

from knickpoint.detect import explain, find_steps

skip_without_reference()


def _vectors(reference: Path, name: str) -> Any:
    return json.loads((reference / "vectors" / f"edivisive_{name}.json").read_text())


@pytest.mark.parametrize(("name", "v_form"), [("qhat_ustat", False), ("qhat_vstat", True)])
def test_q_hat_of_mongodbs_series_is_the_stored_one(reference: Path, name: str, v_form: bool) -> None:  # noqa: FBT001
    from knickpoint.native.q_hat import q_hat

    vectors = _vectors(reference, "spa_robust_series_173")
    expected = np.array(vectors[name])
    found = q_hat(np.array(vectors["series"]), 1.0, v_form=v_form)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * expected.max())


def test_mongodbs_series_has_mongodbs_points_in_their_order(reference: Path) -> None:
    vectors = _vectors(reference, "spa_robust_series_173")
    for p in (0.05, 0.01):
        expected = vectors[f"e_divisive_2x_p{p}_perm100_seed1234"]
        assert _order(vectors["series"], preset="mongodb", p=p) == expected


@pytest.mark.parametrize("name", ["short", "small", "medium", "large", "very_large", "huge"])
def test_mongodbs_profiling_series_have_as_many_points(reference: Path, name: str) -> None:
    case = _vectors(reference, "spa_profiling_series")["cases"][name]
    found = _order(case["series"], preset="mongodb", p=0.01)
    assert len(found) == case["expected"]
    if "points_2x_p0.01_seed1234_in_order" in case:
        assert found == case["points_2x_p0.01_seed1234_in_order"]


def test_mongodbs_long_series_has_four_points(reference: Path) -> None:
    vectors = _vectors(reference, "spa_long_series_1000")
    assert len(_order(vectors["series"], preset="mongodb", p=0.01)) == vectors["expected_count"]


def test_mongodbs_unit_cases_of_one_dimension(reference: Path) -> None:
    for case in _vectors(reference, "spa_detection_cases")["cases"]:
        if "series_rle" in case:
            series = np.repeat(*np.transpose(case["series_rle"]))
        elif np.ndim(case["series"]) == 1:
            series = case["series"]
        else:
            continue
        expected = case.get("expected_in_order", case.get("expected"))
        found = _order(series, preset="mongodb", p=0.01)
        assert sorted(found) == sorted(expected), case["name"]
        assert found == expected or "expected_in_order" not in case, case["name"]


def _ecp_cases(reference: Path) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = _vectors(reference, "r_ecp")["cases"]
    named = {
        "tigerbeetle": lambda: _vectors(reference, "otava_tigerbeetle")["series"],
        "mongodb_long_1000": lambda: _vectors(reference, "spa_long_series_1000")["series"],
    }
    return [{**case, "series": named[case["name"]]() if case["name"] in named else case["series"]} for case in cases]


def test_ecps_first_split_has_its_place_and_q(reference: Path) -> None:
    for case in _ecp_cases(reference):
        detection = explain(
            case["series"],
            method="e_divisive",
            preset="ecp",
            alpha=case["alpha"],
            minimum_segment=case["min_size"],
            test="none",
            maximum_steps=1,
        )
        assert detection.steps[0].index == case["first_split_1based"] - 1, case["name"]
        assert detection.steps[0].score == pytest.approx(case["first_split_Q"], rel=1e-12)


def test_ecps_splits_without_a_test_come_in_its_order(reference: Path) -> None:
    for case in _ecp_cases(reference):
        ends = (1, len(case["series"]) + 1)
        expected = [index - 1 for index in case["order_found_1based"] if index not in ends]
        found = _order(
            case["series"],
            preset="ecp",
            alpha=case["alpha"],
            minimum_segment=case["min_size"],
            test="none",
            maximum_steps=len(expected),
        )
        assert found == expected, case["name"]


def test_ecps_tested_splits_are_ours_by_themselves(reference: Path) -> None:
    compared = 0
    for case in _ecp_cases(reference):
        if case["k"] is not None:
            continue
        ends = (1, len(case["series"]) + 1)
        expected = [index - 1 for index in case["order_found_1based"] if index not in ends]
        chosen = {"minimum_segment": case["min_size"], "p": case["sig_lvl"], "permutations": case["R"]}
        assert _order(case["series"], preset="ecp", alpha=case["alpha"], **chosen) == expected, case["name"]
        compared += 1
    assert compared == 8


def test_ecps_p_values_are_ours_up_to_the_draw(reference: Path) -> None:
    for case in _ecp_cases(reference):
        if case["k"] is not None:
            continue
        detection = explain(
            case["series"],
            method="e_divisive",
            preset="ecp",
            minimum_segment=case["min_size"],
            p=case["sig_lvl"],
            permutations=case["R"],
        )
        found = {step.index: step.p_value for step in detection.steps}
        for index, p in zip(case["order_found_1based"][2:], case["p_values"], strict=False):
            if p < case["sig_lvl"] / 2:
                assert found[index - 1] == pytest.approx(p, abs=0.015), case["name"]
            if p == 1 / (case["R"] + 1):
                assert found[index - 1] in {p, 2 * p}, case["name"]


@pytest.mark.parametrize("name", ["otava_tigerbeetle", "otava_unit"])
def test_otavas_points_are_ours_with_fresh_statistics(reference: Path, name: str) -> None:
    vectors = _vectors(reference, name)
    for case in vectors["cases"]:
        series = np.array(case.get("series", vectors.get("series")), dtype=float)
        steps = find_steps(
            series,
            method="e_divisive",
            preset="otava",
            sliding=case["window_len"],
            p=case["max_pvalue"],
            minimum_magnitude=case["min_magnitude"],
        )
        assert [step.index for step in steps] == case["expected"]
        bounds = [0, *case["expected"], series.size]
        for place, step in enumerate(steps):
            assert step.before.mean == pytest.approx(series[bounds[place] : bounds[place + 1]].mean(), rel=1e-12)
            assert step.p_value is None


@pytest.fixture(scope="module")
def generated(reference: Path) -> list[tuple[NDArray[np.float64], dict[str, Any]]]:
    """Give the golden series, made again and recognised by their hash, with what the peers found in them."""
    place = reference / "research" / "prototypes" / "noise_generator.py"
    spec = importlib.util.spec_from_file_location("noise_generator", place)
    if spec is None or spec.loader is None or not place.exists():
        pytest.skip("no generator of the golden series")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    made = []
    for case in _vectors(reference, "gen_golden")["cases"]:
        series, _ = generator.series(case["family"], case["step"], case["seed"], case["T"])
        assert hashlib.sha256(series.tobytes()).hexdigest()[:12] == case["sha256_12"]
        made.append((series, case))
    return made


def test_otavas_points_on_the_golden_series_are_ours(
    generated: list[tuple[NDArray[np.float64], dict[str, Any]]],
) -> None:
    for series, case in generated:
        found = [step.index for step in find_steps(series, method="e_divisive", preset="otava")]
        assert found == [point[0] for point in case["otava_default"]], case


def test_mongodbs_first_split_of_the_golden_series_is_ours(
    generated: list[tuple[NDArray[np.float64], dict[str, Any]]],
) -> None:
    for series, case in generated:
        (step,) = find_steps(series, method="e_divisive", preset="mongodb", test="none", maximum_steps=1)
        assert step.index == case["spa_first_split"][0], case
        assert step.score == pytest.approx(case["spa_first_split"][1], rel=1e-9)
