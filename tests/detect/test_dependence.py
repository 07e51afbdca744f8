"""Steps in short series, weighed against noise whose neighbours resemble each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.detect import explain, find_steps, find_steps_many
from knickpoint.detect.methods.default.acceptance import PRIOR, evidence_of_step
from knickpoint.detect.methods.default.model import default_bound
from knickpoint.model.step import Detection

Array = NDArray[np.float64]


def _dependent(seed: int, n: int, phi: float) -> Array:
    """Return ``n`` values around 100 with an autocorrelation of ``phi`` and a standard deviation of 1."""
    rng = np.random.default_rng([5, seed])
    values = rng.normal(size=n)
    for place in range(1, n):
        values[place] = phi * values[place - 1] + math.sqrt(1 - phi * phi) * values[place]
    return 100 + values


def _step(seed: int, n: int, size: float, phi: float = 0.0) -> Array:
    return _dependent(seed, n, phi) + size * (np.arange(n) >= n // 2)


def test_the_shares_of_autocorrelations_are_all_there_is() -> None:
    assert math.fsum(weight for _, weight in PRIOR) == pytest.approx(1)


def test_a_step_has_more_evidence_the_larger_it_is() -> None:
    found = [evidence_of_step(_step(1, 40, size), 20).over_all for size in (1.0, 2.0, 3.0, 5.0)]
    assert found == sorted(found)
    assert found[0] < 5 < found[2]


def test_values_that_resemble_their_neighbours_are_less_evidence_for_the_same_step() -> None:
    alone, alike = (
        np.mean([evidence_of_step(_step(seed, 40, 2.0, phi), 20).over_all for seed in range(40)]) for phi in (0.0, 0.6)
    )
    assert alike < alone - 1


def test_evidence_does_not_depend_on_the_unit_or_the_level() -> None:
    values = _step(1, 40, 2.0)
    evidence = evidence_of_step(values, 20).over_all
    assert evidence_of_step(values * 1e300, 20).over_all == pytest.approx(evidence)
    assert evidence_of_step(values * 1e-6 + 3, 20).over_all == pytest.approx(evidence)


def test_levels_without_noise_leave_no_doubt() -> None:
    assert evidence_of_step(np.repeat([1.0, 2.0], 10), 10).over_all == math.inf


def test_neighbours_that_resemble_each_other_explain_more_of_a_step() -> None:
    alone, alike = (
        np.mean([each.independent - each.over_all for each in found])
        for found in ([evidence_of_step(_step(seed, 80, 1.5, phi), 40) for seed in range(40)] for phi in (0.0, 0.4))
    )
    assert alike > alone + 2


def test_an_outlier_is_no_evidence() -> None:
    values = _dependent(2, 40, 0.0)
    odd = values.copy()
    odd[25] += 1000
    assert evidence_of_step(odd, 20).over_all < evidence_of_step(values, 20).over_all + 2


@pytest.mark.parametrize(("length", "most"), [(32, 1.0), (48, 0.7), (64, 0.7), (100, 0.3)])
def test_few_false_steps_are_found_in_short_dependent_noise(length: int, most: float) -> None:
    frame = np.array([_dependent(seed, length, 0.5) for seed in range(400)])
    assert 1000 * sum(map(len, find_steps_many(frame, threads=1))) / frame.size < most


def test_a_clear_step_in_a_short_series_is_still_found() -> None:
    assert sum(bool(find_steps(_step(seed, 24, 4.0))) for seed in range(100)) >= 95


def test_the_doubt_about_a_short_series_is_part_of_its_bound() -> None:
    detections = [explain(_dependent(seed, 40, 0.6)) for seed in range(200)]
    found = [(each, _adds(each)) for each in detections if each.candidates]
    doubted = [(each, parts) for each, parts in found if parts["doubt of a short series: adds to the bound"] > 0]
    assert doubted
    for detection, parts in doubted:
        assert detection.facts["log-odds that a change needs"] == pytest.approx(
            default_bound() + math.fsum(parts.values())
        )


def _adds(detection: Detection) -> dict[str, float]:
    """Return the parts of the bound of a series, as its first candidate has them."""
    return {check.name: check.value for check in detection.candidates[0].checks if check.name.endswith("to the bound")}


def test_what_a_smaller_rate_finds_a_larger_one_finds_too() -> None:
    for seed in range(60):
        values = _step(seed, 40, 2.0, 0.3)
        found = [{step.index for step in find_steps(values, false_alarms=rate)} for rate in (0.02, 0.08, 0.3, 1.0)]
        assert [len(each) for each in found] == sorted(len(each) for each in found)


def test_long_series_have_no_doubt() -> None:
    detections = [explain(_dependent(seed, 160, 0.5)) for seed in range(40)]
    checks = [check for each in detections for candidate in each.candidates for check in candidate.checks]
    assert {check.value for check in checks if check.name.startswith("doubt")} == {0.0}


def test_the_newest_values_of_a_series_have_a_length_part_of_their_own() -> None:
    values = _dependent(3, 72, 0.0)
    values[30:] += 4
    values[66:] -= 6
    needed = {
        candidate.index: check.value
        for candidate in explain(values).candidates
        for check in candidate.checks
        if candidate.accepted and check.name.startswith("length of the series")
    }
    assert needed == {29: 0.0, 66: pytest.approx(0.15)}
