"""The t-test of Talos against vectors that its code made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.detect.test_t_test import _indices
from tests.reference_data import skip_without_reference

from knickpoint.detect import t_test
from knickpoint.detect.methods.t_test.method import Sample, Weights, t_statistic, weighted_commits, weighted_sample

skip_without_reference()


@pytest.fixture(scope="module")
def units(reference: Path) -> dict[str, Any]:
    units: dict[str, Any] = json.loads((reference / "vectors" / "mozilla_unit.json").read_text())
    return units


def test_the_talos_series_have_their_twelve_changes_and_no_other(reference: Path) -> None:
    data = json.loads((reference / "vectors" / "mozilla_talos_graphs.json").read_text())
    asserted = 0
    for name, series in data["series"].items():
        rows = sorted(series["rows"], key=lambda row: row[0])
        steps = t_test(np.array([row[1] for row in rows], dtype=np.float64)).steps
        assert [rows[step.index][0] for step in steps] == series["expected_timestamps"], name
        assert [step.score for step in steps] == pytest.approx([float(run["t"]) for run in series["reference_run"]])
        asserted += len(steps)
    assert asserted == 12


def test_the_perfherder_preset_leaves_out_what_is_smaller_than_two_percent(reference: Path) -> None:
    data = json.loads((reference / "vectors" / "mozilla_talos_graphs.json").read_text())
    found = 0
    for series in data["series"].values():
        rows = sorted(series["rows"], key=lambda row: row[0])
        steps = t_test(np.array([row[1] for row in rows], dtype=np.float64), preset="perfherder").steps
        wanted = [run["index_in_sorted"] for run in series["reference_run"] if run["pct"] >= 2]
        assert [step.index for step in steps] == wanted
        found += len(steps)
    assert found == 9


def test_window_statistics_are_those_of_the_reference(units: dict[str, Any]) -> None:
    weights: dict[str, Weights] = {"uniform": "uniform", "linear": "triangular"}
    for case in units["analyze"]:
        window = [np.array(revision) for revision in case["revisions"]]
        samples = [weighted_commits(window, weights[case["weights"]])]
        if window and all(revision.size == 1 for revision in window):
            samples.append(
                weighted_sample(np.array([np.concatenate(window)]), np.array([len(window)]), weights[case["weights"]])
            )
        for sample in samples:
            got = (sample.mean[0], sample.count[0], sample.variance[0])
            assert got == pytest.approx((case["expect"]["avg"], case["expect"]["n"], case["expect"]["variance"]))


def test_t_is_that_of_the_reference_even_where_nothing_varies(units: dict[str, Any]) -> None:
    for case in units["calc_t"]:
        before, after = (
            weighted_sample(np.array([case[side]]), np.array([len(case[side])]), "uniform") for side in ("old", "new")
        )
        assert t_statistic(before, after)[0] == pytest.approx(float(case["t"]))


def test_a_small_series_with_small_windows_has_its_change(units: dict[str, Any]) -> None:
    case = units["detect"][0]
    values = np.array([revision[0] for revision in case["values_per_revision"]], dtype=np.float64)
    found = _indices(values, fore=5, back=5, longest_back=5, threshold=2)
    assert found == case["expect_change_indices"]


def test_a_commit_with_many_values_fills_a_window_by_itself(units: dict[str, Any]) -> None:
    case = units["detect"][1]
    samples = case["values_per_revision"]
    commits = tuple(commit for commit, values in enumerate(samples) for _ in values)
    values = np.concatenate(samples).astype(np.float64)
    found = _indices(values, fore=5, back=5, longest_back=10, threshold=2, commits=commits)
    assert [commits[index] for index in found] == case["expect_change_indices"]
    assert [commits.index(commits[index]) for index in found] == found


def test_the_reason_of_a_near_miss_is_its_t(units: dict[str, Any]) -> None:
    case = units["outlier_false_negative"]
    detection = t_test(np.array(case["values"]))
    candidate = next(each for each in detection.candidates if each.index == case["true_change_index"])
    assert not candidate.accepted
    t = next(check for check in candidate.checks if check.name == "t")
    assert t.value == pytest.approx(case["t_at_24"])
    assert candidate.reason == "t is 6.89411, not > 7"


def test_uniform_weights_give_the_t_of_catapult(reference: Path) -> None:
    cases = json.loads((reference / "vectors" / "catapult_detection.json").read_text())["welch"]
    plain: list[Sample] = []
    for side in ("a", "b"):
        plain += [
            weighted_sample(np.array([case[side]], float), np.array([len(case[side])]), "uniform") for case in cases[:2]
        ]
    first, same, second, again = plain
    assert t_statistic(second, first)[0] == pytest.approx(cases[0]["t_approx"], abs=1e-3)
    assert t_statistic(again, same)[0] == cases[1]["t"]
    told = (
        Sample(*(np.array([cases[2][side][key]]) for key in ("mean", "var", "n", "mean")))
        for side in ("stats2", "stats1")
    )
    assert t_statistic(*told)[0] == pytest.approx(cases[2]["t"], rel=1e-7)
