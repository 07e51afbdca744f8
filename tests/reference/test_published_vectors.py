"""Numbers of other tools that no test of a single method needs: statistics, histories, and exact oracles."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ruptures
from numpy.typing import NDArray
from tests.reference_data import skip_without_reference

from knickpoint.detect import explain, find_steps
from knickpoint.detect.methods.step_fit.refinement import refine_windows
from knickpoint.detect.window_fits.fit import KINDS, Fits, Kind, pooled_cohen
from knickpoint.detect.window_fits.fit_skia import fit_as_skia, relative_as_skia
from knickpoint.detect.window_fits.rules import PRIORITY, RuleResult, SimpleRule
from knickpoint.native.q_hat import q_hat, scan_both

skip_without_reference()

Floats = NDArray[np.float64]

_SKIA: dict[str, Kind] = {"": "original", "mannwhitneyu": "mann_whitney_u"}


def _read(reference: Path, name: str) -> Any:
    return json.loads((reference / "vectors" / f"{name}.json").read_text())


def _kind(name: str) -> Kind:
    return _SKIA[name] if name in _SKIA else next(kind for kind in KINDS if kind == name)


def _places(values: Any, **parameters: object) -> list[int]:
    return [step.index for step in find_steps(values, **parameters)]  # type: ignore[arg-type]


def test_q_of_every_tau_and_kappa_is_that_of_otava(reference: Path) -> None:
    case = _read(reference, "edivisive_otava_unit")["q_tau_kappa"]
    series, expected = np.array(case["series"]), np.array(case["Q"])
    for kappa in range(2, series.size + 1):
        found = q_hat(np.ascontiguousarray(series[:kappa]), 1.0, v_form=False)
        assert found[1:] == pytest.approx(expected[: kappa - 1, kappa - 2], rel=1e-12, abs=1e-9)
    tau, kappa, q = scan_both(series, 1.0, 1, v_form=False)
    assert (tau, kappa) == (5, 14)
    assert q == pytest.approx(expected.max(), rel=1e-12)
    assert _places(series, method="e_divisive", preset="otava", p=0.01) == case["expected_points_p0.01"]


def test_the_t_test_of_a_split_has_the_p_of_otava(reference: Path) -> None:
    cases = [case for case in _read(reference, "edivisive_otava_unit")["ttest"] if case["pvalue"] < 0.01]
    assert len(cases) == 3
    for case in cases:
        series = np.array(case["left"] + case["right"])
        detection = explain(series, method="e_divisive", test="t", divisor="population", minimum_segment=1, p=0.04)
        split = next(each for each in detection.candidates if each.index == len(case["left"]))
        p_value = next(check.value for check in split.checks if check.name == "p of the t-test")
        assert p_value == pytest.approx(case["pvalue"], rel=1e-9)


def test_q_hat_of_twelve_points_is_the_published_one(reference: Path) -> None:
    for case in _read(reference, "edivisive_spa_detection_cases")["qhat_cases"]:
        found = q_hat(np.array(case["series"], dtype=float), 1.0, v_form=False)
        assert found == pytest.approx(case["qhat_ustat"], abs=1e-7)


def test_energy_statistics_of_two_samples_are_q_hat_of_one_after_the_other(reference: Path) -> None:
    compared = 0
    for case in _read(reference, "edivisive_spa_detection_cases")["energy_statistics"]:
        if not all(str(case[side]).startswith("arange(") for side in "xy"):
            continue  # several dimensions, or numbers drawn by a generator of its own
        first, second = (
            np.arange(*map(int, str(case[side])[7:-1].split(",")), dtype=np.float64) for side in ("x", "y")
        )
        together = q_hat(np.concatenate([first, second]), 1.0, v_form=True)[first.size]
        energy = together * (first.size + second.size) / (first.size * second.size)
        share = energy / 2 / np.abs(first[:, None] - second).mean()
        assert (energy, together, share) == pytest.approx((case["e"], case["t"], case["h"]), abs=2e-3)
        compared += 1
    assert compared >= 5


def test_a_history_in_the_order_of_its_times_has_the_two_commits_that_its_owners_found(reference: Path) -> None:
    history = _read(reference, "edivisive_nyrkio_tigerbeetle_6metrics")
    order = np.argsort(history["timestamp"], kind="stable")
    values = np.array(history["metrics"]["load_accepted"]["values"], dtype=float)[order]
    steps = _places(values, method="e_divisive", preset="otava", minimum_magnitude=0.05)
    found = {history["commits"][order[step]] for step in steps}
    assert found == set(history["expected_commits_load_accepted"])


_OTAVA_ON_ROCKSDB = {
    "fwdrangewhilewriting.t1": {
        "ops_sec": [7, 18, 20, 29, 34, 41],
        "mb_sec": [7, 18, 20, 29, 34, 41],
        "p50": [4, 7, 18, 29, 34, 41],
        "p99": [7, 18, 29, 43, 57],
    },
    "overwriteandwait.t1.s0": {"ops_sec": [4, 13], "mb_sec": [4, 13], "p50": [4], "p99": [44]},
    "overwritesome.t1.s0": {"p99": [4, 22, 31, 41, 87]},
    "readrandom.t1": {"ops_sec": [78, 90], "mb_sec": [78, 90], "p50": [33, 42, 55], "p99": [36, 41, 54, 66, 70]},
    "readwhilewriting.t1": {"ops_sec": [6, 82], "mb_sec": [6, 82], "p50": [7, 19, 31], "p99": [71]},
    "revrangewhilewriting.t1": {
        "ops_sec": [5, 19, 29, 34],
        "mb_sec": [6, 19, 31, 45],
        "p50": [5, 45, 53],
        "p99": [5, 19, 29, 45],
    },
}
"""What apache-otava 0.8.0 by itself finds in the history of RocksDB; nothing in the series that are not named."""


def test_a_history_of_rocksdb_has_the_points_that_otava_finds_in_it(reference: Path) -> None:
    tests = _read(reference, "edivisive_nyrkio_rocksdb_2023")["tests"]
    assert sum(len(test["metrics"]) for test in tests.values()) == 40
    for name, test in tests.items():
        for metric, values in test["metrics"].items():
            expected = _OTAVA_ON_ROCKSDB.get(name, {}).get(metric, [])
            assert _places(values, method="e_divisive", preset="otava") == expected, (name, metric)


def test_what_a_strict_setting_finds_in_operations_a_loose_one_finds_in_bytes_and_back(reference: Path) -> None:
    for name, test in _read(reference, "edivisive_nyrkio_rocksdb_2023")["tests"].items():
        pair = [test["metrics"][metric] for metric in ("ops_sec", "mb_sec")]
        assert np.ptp(np.divide(*pair)) < 0.004 * np.median(np.divide(*pair))
        strict, loose = ([_places(values, false_alarms=rate) for values in pair] for rate in (0.1, 0.4))
        assert set(strict[0]) <= set(loose[1]), name
        assert set(strict[1]) <= set(loose[0]), name


@pytest.fixture(scope="module")
def generator(reference: Path) -> Any:
    """Load the program that made the series of the golden files."""
    place = reference / "research" / "prototypes" / "noise_generator.py"
    spec = importlib.util.spec_from_file_location("noise_generator", place)
    if spec is None or spec.loader is None or not place.exists():
        pytest.skip("no generator of the golden series")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _mean_shifts(values: Floats, steps: int, least: int) -> list[int]:
    """Split by squared distances, of which Q-hat is the sum of squares that a split takes away, twice."""
    return _places(
        values,
        method="e_divisive",
        alpha=2,
        form="V",
        scan="tau",
        test="none",
        minimum_segment=least,
        maximum_steps=steps,
    )


def test_with_squared_distances_the_first_split_is_the_best_of_least_squares(reference: Path, generator: Any) -> None:
    for case in _read(reference, "edivisive_ruptures_golden")["cases"]:
        values, _ = generator.series(case["family"], case["step"], case["seed"], case["T"])
        assert _mean_shifts(values, 1, 2) == case["dynp_l2_k1"][:1], case["family"]


@pytest.mark.parametrize("seed", range(6))
def test_with_squared_distances_splits_are_those_of_binary_segmentation(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0, 1, 150) + np.repeat([0.0, 3.0, 1.0, 5.0, 4.0], 30)
    for steps in (1, 2, 4, 7):
        theirs = ruptures.Binseg(model="l2", min_size=1, jump=1).fit(values).predict(n_bkps=steps)
        assert _mean_shifts(values, steps, 1) == theirs[:-1]


def test_mongodbs_whole_procedure_agrees_but_for_the_draw_of_permutations(reference: Path, generator: Any) -> None:
    cases = _read(reference, "edivisive_gen_golden")["cases"]
    agreed = 0
    for case in cases:
        values, _ = generator.series(case["family"], case["step"], case["seed"], case["T"])
        steps = sorted(find_steps(values, method="e_divisive", preset="mongodb"), key=lambda step: step.order)
        found, theirs = [step.index for step in steps], case["spa_p0.05_perm100_seed1234_in_order"]
        shorter = min(len(found), len(theirs))
        assert found[:shorter] == theirs[:shorter], case
        agreed += found == theirs
    assert agreed >= 0.85 * len(cases)  # two seeds of ours agree on nine of ten, too


def test_a_step_hidden_by_two_giant_outliers_is_seen_by_what_looks_at_order(reference: Path) -> None:
    case = _read(reference, "mozilla_unit")["outlier_false_negative"]
    values, at = np.array(case["values"], dtype=float), case["true_change_index"]
    assert _places(values, method="step_fit", kind="mann_whitney_u") == [at]
    assert _places(values, method="step_fit", kind="percent_median") == [at]
    for parameters in ({}, {"method": "e_divisive", "test": "rank"}):
        (found,) = _places(values, **parameters)
        assert abs(found - at) <= 1


def test_replicates_and_single_values_step_where_mozilla_locates_them() -> None:
    single = np.repeat([0.5, 1.0], [40, 21])
    assert _places(single, method="t_test") == _places(single) == [40]
    commits = tuple(np.repeat(np.arange(30), 5).tolist())
    replicates = np.repeat([0.5, 1.0], 75)
    assert _places(replicates, method="t_test", commits=commits) == [15 * 5]


def test_percent_and_pooled_steps_are_those_of_skia(reference: Path) -> None:
    functions = _read(reference, "skia_stepfit")["pure_functions"]
    for case in functions["percent_step"]:
        before, after = (np.array([case[side]], dtype=np.float32) for side in ("y0", "y1"))
        found = relative_as_skia(before, after)[0]
        assert -found == pytest.approx(case["step"], rel=1e-6)
    for case in functions["cohen_step_and_pooled"]:
        samples: list[Floats] = []
        for side in ("1", "2"):
            shape = np.arange(case[f"n{side}"], dtype=float) - (case[f"n{side}"] - 1) / 2
            spread = shape.std(ddof=1) if shape.size > 1 else 0.0
            scale = case[f"s{side}"] / spread if spread > 0 else 0.0
            samples.append(case["y0" if side == "1" else "y1"] + shape * scale)
        found = pooled_cohen(samples[0], samples[1], case["stddev_threshold"])
        assert -found == pytest.approx(case["pooled_cohen"][0], rel=1e-5, abs=1e-6)


def test_kinds_have_skias_priority_and_least_windows(reference: Path) -> None:
    rules = _read(reference, "skia_rules")
    assert {_kind(name): priority for name, priority in rules["priority"].items()} == PRIORITY
    for name, least in rules["min_trace_size"].items():
        for width in range(2, 6):
            window = np.arange(width, dtype=np.float64)[None, :]
            assert bool(fit_as_skia(window, _kind(name), 1.0, floor=0.001).defined[0]) == (width >= least), name


def test_bounds_grow_over_points_that_belong_to_neither_level(reference: Path) -> None:
    for case in _read(reference, "skia_refiner")["bounds_unit_cases"]:
        values = np.array(case["window_values_0_means_uninteresting"], dtype=np.float32)
        starts = case["window_start_index_in_full_trace_-1_unused"]
        trace = np.array(case["full_trace"], dtype=np.float32)
        width, bound = case["window"], case["alert"]["interesting"]
        windows = np.array([trace[start : start + width] if start >= 0 else np.zeros(width) for start in starts])
        movement = -np.sign(values).astype(np.int8)
        fits = Fits("cohen", bound, width // 2, -values, values, values, np.ones(values.size, dtype=np.bool_), movement)
        judged = RuleResult((fits,), movement, np.zeros(values.size, dtype=np.int64))
        found = refine_windows(
            windows.astype(np.float32),
            SimpleRule("cohen", bound),
            judged,
            movement,
            longest=2 * case["alert"]["radius"],
            floor=0.001,
            compatible=True,
        )
        first = case["first_step_commit"]
        got = [(first + each.right, first + each.highest, first + each.left - 1) for each in found]
        wanted = [(each["commit"], each["display_commit"], each["prev_commit"]) for each in case["got"]]
        assert got == wanted, case["name"]


def test_each_window_that_skia_reports_is_a_step_of_its_own(reference: Path) -> None:
    refiner = _read(reference, "skia_refiner")
    for case in refiner["end_to_end_cases"]:
        values = np.array(refiner["end_to_end_series"][case["series"]], dtype=float)
        values[values > 1e31] = np.nan
        rule = json.dumps(case["detection_rule"]) if case.get("detection_rule") else ""
        steps = find_steps(
            values,
            method="step_fit",
            kind=_kind(case.get("step", "")),
            threshold=case.get("interesting", 0.0),
            rule=rule,
            radius=case["radius"],
            refiner="each",
            direction=case["direction"].lower(),
            floor=0.001,
            compatible=True,
        )
        wanted = case["default_refiner"]
        assert [(step.index, step.previous) for step in steps] == [
            (each["commit"], each["prev_commit"]) for each in wanted
        ], (case["series"], case.get("step"))
