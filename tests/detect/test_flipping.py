from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.detect.flipping import flip, visits

from knickpoint.detect import explain, find_steps, find_steps_many
from knickpoint.model.settlement import FindingKind


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="two levels"),
        pytest.param({"levels": (100, 105, 110)}, id="three levels"),
        pytest.param({"levels": (100, 105, 110, 115)}, id="four levels"),
        pytest.param({"shares": (0.9, 0.1)}, id="one tenth of the time"),
        pytest.param({"stay": 0.95}, id="longer visits"),
    ],
)
def test_flipping_is_no_finding(options: dict[str, tuple[float, ...]]) -> None:
    with_findings = sum(bool(find_steps(flip(seed, **options))) for seed in range(20))  # type: ignore[arg-type]
    assert with_findings <= 2


def test_a_series_that_flips_shows_its_levels_and_their_shares() -> None:
    (stretch,) = explain(flip(1, 600, shares=(0.7, 0.3))).flipping
    assert (stretch.first, stretch.last) == (0, 599)
    assert stretch.levels == pytest.approx((100, 105), rel=0.002)
    assert stretch.shares == pytest.approx((0.7, 0.3), abs=0.15)


def test_missing_values_do_not_move_a_stretch() -> None:
    values = np.full(610, np.nan)
    values[5:605] = flip(1, 600)
    values[100:600:7] = np.nan
    (stretch,) = explain(values).flipping
    assert (stretch.first, stretch.last) == (5, 604)


def test_without_modes_each_flip_is_a_step() -> None:
    assert len(find_steps(flip(2), modes=False)) > 5
    assert not explain(flip(2), modes=False).flipping


def test_flips_are_rejected_candidates_with_the_reason() -> None:
    reasons = {candidate.reason for candidate in explain(flip(2)).candidates if not candidate.accepted}
    assert "the series flips between levels here, which is not a change" in reasons


@pytest.mark.parametrize("shift", [-0.03, 0.01, 0.03, 0.1])
def test_a_shift_of_all_levels_is_one_step_of_its_size(shift: float) -> None:
    exact = 0
    for seed in range(10):
        values = flip(seed)
        values[150:] *= 1 + shift
        near = [step for step in find_steps(values) if abs(step.index - 150) <= 5]
        exact += any(step.kind is FindingKind.STEP and abs(step.relative_size - shift) < 0.004 for step in near)
    assert exact >= 8


def test_the_size_of_a_shift_of_all_levels_does_not_depend_on_the_visits_beside_it() -> None:
    values = flip(0)
    values[150:] *= 1.03
    (step,) = find_steps(values)
    assert step.estimate is not None
    assert step.estimate.low < 0.03 * step.before.mean < step.estimate.high
    assert step.estimate.after - step.estimate.before == pytest.approx(step.size)
    assert step.estimate.deviation < 1.0


def test_a_step_from_flipping_to_a_new_level_is_one() -> None:
    values = np.concatenate([flip(3, 200), visits(3, (60, 120))])
    (step,) = find_steps(values)
    assert (step.index, step.kind) == (200, FindingKind.STEP)


def test_a_new_level_is_a_change_of_the_modes() -> None:
    values = np.concatenate([flip(8, 300), flip(9, 300, levels=(100, 105, 112))])
    (step,) = find_steps(values)
    assert step.kind is FindingKind.MODE
    assert step.index == int(np.argmax(values > 109))
    assert {check.name: check.value for check in step.evidence}["new levels"] == 1


def test_a_vanished_level_is_a_change_of_the_modes() -> None:
    values = np.concatenate([flip(6, 300), visits(6, (150, 100))])
    (step,) = find_steps(values)
    assert step.kind is FindingKind.MODE
    assert step.index == int(np.flatnonzero(values > 102.5)[-1]) + 1
    assert {check.name: check.value for check in step.evidence}["vanished levels"] == 1


def _quick(seed: int, stay: int, first: int = 120) -> NDArray[np.float64]:
    """Return ``first`` values of visits of one to five values to two levels, the last one with ``stay`` values more."""
    lengths = np.random.default_rng(seed).integers(1, 6, first)
    levels = np.repeat(100 + 5 * (np.arange(first) % 2), lengths)[:first]
    return visits(seed, *((1, level) for level in levels.tolist()), (stay, float(levels[-1])))


@pytest.mark.parametrize("stay", [30, 45, 60])
def test_a_level_that_stays_for_thirty_values_after_quick_flips_is_a_change_of_the_modes(stay: int) -> None:
    found = [find_steps(_quick(seed, stay)) for seed in range(20)]
    near = [any(step.kind is FindingKind.MODE and abs(step.index - 120) <= 5 for step in each) for each in found]
    assert sum(near) >= 17


def test_quick_flips_that_go_on_are_no_finding() -> None:
    assert sum(bool(find_steps(_quick(seed, 1))) for seed in range(20)) <= 1


def test_a_second_level_that_two_of_five_values_visit_is_a_change_of_the_modes() -> None:
    found = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        values = 100 + draw.normal(size=120) + 8 * ((np.arange(120) >= 60) & (draw.random(120) < 0.4))
        found += [step.kind for step in find_steps(values) if abs(step.index - 60) <= 8] == [FindingKind.MODE]
    assert found >= 18


def test_a_step_to_where_outliers_lay_begins_at_its_own_commit() -> None:
    values = 100 + np.random.default_rng(1).normal(size=200) + 12 * (np.arange(200) >= 100)
    values[5:95:9] += 12
    assert [step.index for step in find_steps(values)] == [100]


def test_lone_outliers_are_no_second_level() -> None:
    for seed in range(20):
        draw = np.random.default_rng(seed)
        assert not find_steps(100 + draw.normal(size=120) + 10 * ((np.arange(120) >= 60) & (draw.random(120) < 0.08)))


def test_many_series_that_flip_quickly_are_read_as_each_by_itself() -> None:
    values = np.array([_quick(seed, 40) for seed in range(10)])
    for row, steps in zip(values, find_steps_many(values), strict=True):
        assert [(step.index, step.kind) for step in steps] == [(step.index, step.kind) for step in explain(row).steps]


def test_a_lasting_change_of_the_shares_is_a_change_of_the_modes() -> None:
    values = np.concatenate([flip(7, 400, shares=(0.85, 0.15)), flip(8, 400, shares=(0.15, 0.85))])
    (step,) = find_steps(values)
    assert step.kind is FindingKind.MODE
    assert step.index == pytest.approx(400, abs=30)
    assert {check.name: check.value for check in step.evidence}["new levels"] == 0


@pytest.mark.parametrize(
    "lengths",
    [
        pytest.param((60, 60), id="one step"),
        pytest.param((60, 30, 60), id="a regression that was fixed"),
        pytest.param((10, 10, 40), id="a short regression that was fixed"),
        pytest.param((80, 70, 90, 60), id="a fixed regression that came back"),
    ],
)
def test_steps_stay_steps_where_a_level_comes_back_by_chance(lengths: tuple[int, ...]) -> None:
    values = visits(1, *((length, (100, 105)[number % 2]) for number, length in enumerate(lengths)))
    steps = find_steps(values)
    assert [step.index for step in steps] == np.cumsum(lengths[:-1]).tolist()
    assert {step.kind for step in steps} == {FindingKind.STEP}


def test_levels_that_never_come_back_are_steps() -> None:
    levels = (100.0, 108, 97, 112, 104, 120)
    steps = find_steps(visits(2, *((12, level) for level in levels)))
    assert [step.index for step in steps] == [12, 24, 36, 48, 60]


def test_while_flipping_is_new_it_makes_at_most_three_findings() -> None:
    values = flip(9, 150)
    found = [len(find_steps(values[:count])) for count in range(10, 151, 2)]
    assert max(found) <= 3
    assert found[-1] == 0


def test_the_unit_does_not_matter() -> None:
    values = flip(10)
    values[150:] *= 1.03
    assert [step.index for step in find_steps(values * 2.0**40)] == [step.index for step in find_steps(values)]


def test_exact_levels_without_noise_are_recognised() -> None:
    values = np.round(flip(11) / 5) * 5
    assert not find_steps(values)


def test_levels_that_turn_out_to_be_one_are_no_modes() -> None:
    values = 100 + 2 * np.random.default_rng(0).normal(size=(1000, 500))[900]
    values[250:] *= 1.05
    assert any(abs(step.index - 250) <= 5 for step in find_steps(values))
    assert not explain(values).flipping


def test_two_returns_are_not_flipping_and_three_short_visits_are() -> None:
    draw = np.random.default_rng(3)
    levels = {"two returns": [0, 8, 0, 8], "three short visits": [0, 8, 0, 8, 0]}
    flipping = {
        name: bool(explain(100 + np.repeat(visits, 8) + draw.normal(0, 0.5, 8 * len(visits))).flipping)
        for name, visits in levels.items()
    }
    assert flipping == {"two returns": False, "three short visits": True}


def test_a_few_visits_of_twenty_values_are_steps() -> None:
    levels = np.repeat([0, 8, 0, 8, 0], [60, 20, 20, 20, 60])
    values = 100 + levels + np.random.default_rng(4).normal(0, 1, levels.size)
    found = explain(values)
    assert not found.flipping
    assert [step.index for step in found.steps] == [60, 80, 100, 120]


@pytest.mark.parametrize("stay", [30, 45, 60])
def test_a_change_of_the_modes_is_no_rejected_candidate_as_well(stay: int) -> None:
    for seed in range(10):
        detection = explain(_quick(seed, stay))
        accepted = {candidate.index: candidate.checks for candidate in detection.candidates if candidate.accepted}
        assert accepted == {step.index: step.evidence for step in detection.steps}
        assert not [each for each in detection.candidates if not each.accepted and each.index in accepted]
