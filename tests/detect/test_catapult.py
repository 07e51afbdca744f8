from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.detect import catapult
from knickpoint.detect.methods.catapult.method import energies, filter_checks, find_splits
from knickpoint.model.errors import InputError
from knickpoint.model.step import Step

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


def _energy(values: list[float], place: int) -> float:
    parts = values[:place], values[place:]

    def mean(pairs: list[tuple[float, float]]) -> float:
        return sum((one - other) ** 2 for one, other in pairs) / len(pairs) if pairs else 0.0

    inside = sum(mean(list(combinations(part, 2))) for part in parts)
    n, m = map(len, parts)
    return (2 * mean(list(product(*parts))) - inside) * n * m / (n + m)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=12))
def test_energies_are_those_of_all_pairs(values: list[float]) -> None:
    found = energies(np.array(values)[:, None])[:, 0]
    expected = [_energy(values, place) for place in range(1, len(values))]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


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


def test_only_the_newest_values_are_looked_at() -> None:
    values = np.r_[np.full(40, 1.0), np.full(60, 5.0)]
    assert not catapult(values).steps
    assert [step.index for step in catapult(values, window=0).steps] == [40]


@pytest.mark.parametrize("values", [[], [1.0], [np.nan] * 40, [3.0] * 40])
def test_series_without_a_change_have_no_steps(values: list[float]) -> None:
    detection = catapult(np.array(values))
    assert (detection.steps, detection.candidates) == ((), ())


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="confidence 1"):
        catapult([1.0, 2.0], confidence=1.0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([2.0**-20, 2.0**20]))
def test_a_positive_scale_changes_nothing(seed: int, scale: float) -> None:
    values = 100 + np.random.default_rng(seed).normal(0, 1, 48)
    values[24:] += 30
    before, after = (catapult(each).steps for each in (values, values * scale))
    assert [step.index for step in before] == [step.index for step in after]


@pytest.mark.parametrize(("before", "after", "at"), [(61.92, 38.98, 19), (31.58, 27.71, 20), (14.52, 31.95, 13)])
def test_a_level_without_noise_has_no_split_by_rounding(before: float, after: float, at: int) -> None:
    steps = catapult(np.r_[np.full(at, before), np.full(25, after)]).steps
    assert [step.index for step in steps] == [at]
