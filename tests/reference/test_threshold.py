"""Thresholds against the quick lane of Mozilla's detector."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tests.reference_data import skip_without_reference

from knickpoint.detect.methods.threshold.method import usual_deviations

skip_without_reference()


def test_the_quick_lane_of_mozdetect_is_met_on_its_own_cases(reference: Path) -> None:
    cases = json.loads((reference / "vectors" / "mozilla_cdf_fastlane.json").read_text())["cases"]
    for case in cases:
        changes = np.array(case["sq_diff"])
        far = np.where(usual_deviations(changes) > case["mad_k"], np.sign(changes), 0)
        if case.get("require_confirmation"):
            far = np.where(far == np.append(far[1:], 0), far, 0)
        assert [[place, "up" if far[place] > 0 else "down"] for place in np.flatnonzero(far)] == case["expect"]
    assert len(cases) == 4
