"""The references of the bisection benchmarks against the vectors: tables of a simulation, and verdicts of Pinpoint's code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference_data import skip_without_reference

from bisection_answers import Answers
from bisection_pinpoint import Thresholds, compare, kolmogorov_smirnov, mann_whitney
from bisection_references import optimal_rounds, search_measured, search_pass_fail

skip_without_reference()


@pytest.fixture(scope="module")
def tables(reference: Path) -> dict[str, Any]:
    tables: dict[str, Any] = json.loads((reference / "vectors" / "mozilla_bisection_reference.json").read_text())
    return tables


@pytest.fixture(scope="module")
def pinpoint(reference: Path) -> dict[str, Any]:
    cases: dict[str, Any] = json.loads((reference / "vectors" / "skia_pinpoint_compare.json").read_text())
    return cases


@pytest.fixture(scope="module")
def table(reference: Path) -> Thresholds:
    tables = json.loads((reference / "vectors" / "skia_pinpoint_thresholds.json").read_text())
    return Thresholds(
        low=tables["low_threshold"],
        high=tuple(tuple(row) for row in tables["performance"]),
        first=tables["performance_first_magnitude"],
        step=tables["magnitude_step"],
    )


def test_the_optimum_is_that_of_every_cell_of_the_table(tables: dict[str, Any]) -> None:
    cells = tables["deterministic"]["rounds_opt"]
    assert len(cells) == 77
    assert {cell: optimal_rounds(*map(int, cell.split(","))) for cell in cells} == cells


@pytest.mark.parametrize("cell", ["0.05,16,1", "0.1,64,1", "0.2,256,1", "0.05,64,3", "0.3,16,3", "0.05,64,15"])
def test_the_search_that_knows_the_error_takes_the_tests_of_the_table(tables: dict[str, Any], cell: str) -> None:
    error, candidates, devices = (float(part) for part in cell.split(","))
    culprits = np.random.default_rng(1).integers(1, int(candidates) + 1, 1_500)
    found = search_pass_fail(int(candidates), int(devices), Answers(7, error=error), culprits)
    assert found.tests.mean() == pytest.approx(tables["noisy_hard"]["data"][cell][1], rel=0.04)
    assert found.wrong.mean() < 0.05


@pytest.mark.parametrize("cell", ["3,16,1", "2,64,1", "1,256,1", "2,64,3"])
def test_the_search_that_knows_the_levels_takes_the_tests_of_the_table(tables: dict[str, Any], cell: str) -> None:
    delta, candidates, devices = (float(part) for part in cell.split(","))
    culprits = np.random.default_rng(2).integers(1, int(candidates) + 1, 1_500)
    found = search_measured(int(candidates), int(devices), Answers(7, delta=delta), culprits)
    assert found.tests.mean() == pytest.approx(tables["noisy_soft"]["data"][cell][1], rel=0.06)
    assert found.wrong.mean() < 0.05


def test_p_values_are_those_of_pinpoint(pinpoint: dict[str, Any]) -> None:
    for case in pinpoint["two_sample_tests"]:
        a, b = (np.array(case[side], float) for side in "ab")
        assert mann_whitney(a, b) == pytest.approx(case["mwu_p"], rel=1e-9), case
        assert kolmogorov_smirnov(a, b) == pytest.approx(case["ks_p"], rel=1e-9), case


def test_thresholds_are_looked_up_as_pinpoint_does(pinpoint: dict[str, Any], table: Thresholds) -> None:
    for case in pinpoint["high_threshold_lookups"]:
        assert table.same_above(case["normalized_magnitude"], case["sample_size"]) == case["performance"], case


def test_verdicts_are_those_of_pinpoint(pinpoint: dict[str, Any], table: Thresholds) -> None:
    directions = {"UnknownDir": 0, "Up": 1, "Down": -1}
    cases = [case for case in pinpoint["compare_performance"] if case["verdict"] != "Nil"]
    assert len(cases) > 100
    for case in cases:
        a, b = (np.array(case[side], float) for side in "ab")
        verdict = compare(a, b, case["raw_magnitude"], table, improvement=directions[case["improvement_direction"]])
        assert verdict.value == case["verdict"], case
