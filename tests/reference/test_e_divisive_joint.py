"""E-Divisive of several series against the cases of MongoDB."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.detect.test_e_divisive_joint import _order
from tests.reference_data import skip_without_reference

from knickpoint.native.joint import joint_q

skip_without_reference()


def test_mongodbs_unit_cases_of_several_dimensions(reference: Path) -> None:
    vectors = json.loads((reference / "vectors" / "edivisive_spa_detection_cases.json").read_text())
    compared = 0
    for case in vectors["cases"]:
        if np.ndim(case.get("series", [])) != 2:
            continue
        points = np.array(case["series"], dtype=float)
        for seed in range(3):
            found = _order(points.T, preset="mongodb", p=case.get("pvalue", 0.01), seed=seed)
            assert found == case.get("expected_in_order", case.get("expected")), case["name"]
        compared += 1
    assert compared == 5


def test_energy_statistics_of_points_are_q_hat_of_one_sample_after_the_other(reference: Path) -> None:
    vectors = json.loads((reference / "vectors" / "edivisive_spa_detection_cases.json").read_text())
    drawn = {
        "[[i,i+7,i+4] for i in range(100,200)]": np.arange(100.0, 200) + np.array([[0], [7], [4]]),
        "[[i,i+2,i+3] for i in range(100,400,12)]": np.arange(100.0, 400, 12) + np.array([[0], [2], [3]]),
        "[[i,i+1] for i in range(100)]": np.arange(100.0) + np.array([[0], [1]]),
        "[[i,i+10] for i in range(1000)]": np.arange(1000.0) + np.array([[0], [10]]),
    }
    compared = 0
    for case in vectors["energy_statistics"]:
        if case["x"] not in drawn:
            continue
        first, second = drawn[case["x"]], drawn[case["y"]]
        n, m = first.shape[1], second.shape[1]
        together = joint_q(np.hstack([first, second]), 1.0, 1, v_form=True, both=False)[n]
        energy = together * (n + m) / (n * m)
        share = energy / 2 / np.linalg.norm(first[:, :, None] - second[:, None, :], axis=0).mean()
        assert (energy, together, share) == pytest.approx((case["e"], case["t"], case["h"]), abs=2e-3)
        compared += 1
    assert compared == 2
