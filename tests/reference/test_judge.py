"""Verdicts on new samples against PerfCompare and published outliers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference_data import skip_without_reference

from knickpoint.detect import judge
from knickpoint.detect.outliers import find_outliers
from knickpoint.model.step import Verdict

skip_without_reference()


def _perfcompare(reference: Path) -> Any:
    return json.loads((reference / "vectors" / "mozilla_unit.json").read_text())["perfcompare_mwu"]


def test_two_sets_of_samples_differ_by_the_medians_that_perfcompare_gives(reference: Path) -> None:
    case = _perfcompare(reference)
    judgement = judge(case["base"], case["new"], better="lower", ordered=False)
    assert judgement.verdict is Verdict.REGRESSED
    assert judgement.size == pytest.approx(case["bootstrap_9999_seed42"]["median_diff"])
    same = judge(case["base"], case["base"][::-1], ordered=False)
    assert (same.verdict, same.size) == (Verdict.UNCHANGED, 0)


def test_two_sets_of_samples_are_told_apart_as_by_perfcompare(reference: Path) -> None:
    asserted = 0
    for case in _perfcompare(reference)["mwu_detect"]:
        base, new = (_samples(case[side]) for side in ("base", "new"))
        judgement = judge(base, new, better="lower", ordered=False)
        changed = "no change (" not in case.get("direction", "regression")
        assert (judgement.verdict is Verdict.REGRESSED) is changed
        if "pct" in case:
            assert 100 * judgement.relative_size == pytest.approx(case["pct"])
        asserted += 1
    assert asserted == 4


def _samples(text: str) -> list[float]:
    """Read ``100x12``, twelve times 100, or ``0..39``, the whole numbers from 0 to 39."""
    if ".." in text:
        first, last = map(int, text.split(".."))
        return [float(value) for value in range(first, last + 1)]
    value, times = text.split("x")
    return [float(value)] * int(times)


def test_outliers_agree_with_the_published_examples(reference: Path) -> None:
    cases = json.loads((reference / "vectors" / "edivisive_spa_gesd_series.json").read_text())["cases"]
    series = {case["name"]: case["series"] for case in cases if "series" in case}
    for case in cases:
        values = np.array(case.get("series") or series[case["same_series_as"]], float)
        found = find_outliers(
            values, most=case.get("max_outliers", 10), alpha=case.get("alpha", 0.05), robust=case["mad"]
        )
        prefix = case.get("indexes_prefix") or case["indexes"]
        assert found.count == case["count"], case["name"]
        assert list(found.indices[: len(prefix)]) == prefix, case["name"]
        if "critical" in case:
            assert np.allclose(found.critical, case["critical"], rtol=1e-3)
            assert np.allclose(found.statistics, case["test_statistics_abs"], rtol=1e-3)
