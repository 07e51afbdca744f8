"""Lasting changes of the noise, found on request."""

from __future__ import annotations

import numpy as np
import pytest

from knickpoint.detect import explain, find_steps
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Step


def _series(seed: int, ratio: float = 1.0, step: float = 0.0) -> np.ndarray:
    later = np.arange(200) >= 100
    noise = np.random.default_rng([7, seed]).normal(size=200)
    return 100 + noise * np.where(later, ratio, 1) + step * later


def _noise_changes(values: np.ndarray) -> list[Step]:
    return [step for step in find_steps(values, noise=True) if step.kind is FindingKind.NOISE]


def test_more_noise_is_a_finding_of_its_kind_and_size() -> None:
    (found,) = _noise_changes(_series(1, 3.0))
    assert abs(found.index - 100) <= 10
    assert found.relative_size == pytest.approx(2, abs=0.8)
    assert found.estimate
    assert found.estimate.low < 2 < found.estimate.high


def test_less_noise_is_a_finding_the_other_way() -> None:
    (found,) = _noise_changes(_series(1, 1 / 3))
    assert found.relative_size == pytest.approx(-2 / 3, abs=0.2)


def test_noise_is_not_looked_at_unless_asked() -> None:
    assert not [step for step in find_steps(_series(1, 3.0)) if step.kind is FindingKind.NOISE]


def test_noise_that_stays_is_no_finding() -> None:
    assert sum(len(_noise_changes(_series(seed))) for seed in range(40)) <= 2


def test_a_step_is_no_change_of_the_noise() -> None:
    found = find_steps(_series(2, step=8.0), noise=True)
    assert [step.kind for step in found] == [FindingKind.STEP]


def test_values_that_split_into_two_levels_are_a_change_of_the_noise() -> None:
    rng = np.random.default_rng(0)
    values = _series(3)
    values[100:] += 3 * np.sign(rng.normal(size=100))
    assert _noise_changes(values)


def _split(seed: int, share: float, *, equal_spread: bool = False) -> np.ndarray:
    """Return values with one level in the first half, and two in the second."""
    rng = np.random.default_rng([7, seed])
    noise, upper = rng.normal(size=200), rng.random(200) < share
    split = (noise + 8 * (upper - share)) / (17**0.5 if equal_spread else 1)
    return 100 + np.where(np.arange(200) < 100, noise, split)


def test_two_levels_where_one_was_are_a_finding_at_an_equal_spread() -> None:
    (found,) = _noise_changes(_split(1, 0.5, equal_spread=True))
    assert abs(found.index - 100) <= 10
    names = {check.name: check.value for check in found.evidence}
    assert (names["levels before"], names["levels since"]) == (1, 2)
    assert names["level 2 since"] - names["level 1 since"] == pytest.approx(8 / 17**0.5, rel=0.1)
    assert names["share of the values at level 2 since"] == pytest.approx(0.5, abs=0.15)


def test_a_changed_distribution_has_a_size_although_the_spread_is_equal() -> None:
    (found,) = _noise_changes(_split(1, 0.5, equal_spread=True))
    assert abs(found.relative_size) > 0.2


def test_a_level_that_a_third_of_the_values_visit_at_random_is_found() -> None:
    assert sum(bool(_noise_changes(_split(seed, 0.3))) for seed in range(20)) >= 16


def test_two_levels_that_stay_are_no_change_of_the_distribution() -> None:
    rng = np.random.default_rng(3)
    series = [100 + rng.normal(size=200) + 8 * (rng.random(200) < 0.3) for _ in range(40)]
    assert sum(len(_noise_changes(values)) for values in series) <= 2


def test_missing_values_do_not_move_the_place() -> None:
    values = np.full(400, np.nan)
    values[::2] = _series(1, 3.0)
    (found,) = _noise_changes(values)
    assert abs(found.index - 200) <= 20


def test_the_evidence_has_the_chance_and_both_noises() -> None:
    (found,) = _noise_changes(_series(1, 3.0))
    names = {check.name: check.value for check in found.evidence}
    assert names["chance of a rank sum as large"] < 0.016
    assert names["noise before (standard deviation)"] == pytest.approx(1, rel=0.3)


def test_a_noise_change_is_an_accepted_candidate_with_its_reasons() -> None:
    places = {step.index for step in _noise_changes(_series(1, 3.0))}
    assert places <= {each.index for each in explain(_series(1, 3.0), noise=True).candidates if each.accepted}


@pytest.mark.parametrize("values", [[1.0] * 60, [1.0, 2.0], [np.nan] * 50], ids=["constant", "short", "missing"])
def test_series_without_noise_have_no_change_of_it(values: list[float]) -> None:
    assert not find_steps(values, noise=True)


def _stretches(*parts: tuple[int, float], seed: int = 0) -> np.ndarray:
    """Return 100 in stretches of so many values, each with normal noise of a deviation."""
    rng = np.random.default_rng([11, seed])
    return 100 + np.concatenate([deviation * rng.normal(size=count) for count, deviation in parts])


def test_noise_where_there_was_none_is_found_and_has_no_noise_before() -> None:
    (found,) = _noise_changes(_stretches((60, 0.0), (60, 1.0)))
    assert abs(found.index - 60) <= 3
    assert found.estimate
    assert found.estimate.before == 0
    assert 0 < found.estimate.low < 1 < found.estimate.high


def test_noise_that_ends_is_found_and_has_none_after() -> None:
    (found,) = _noise_changes(_stretches((60, 1.0), (60, 0.0)))
    assert found.estimate
    assert found.estimate.after == 0
    assert found.relative_size == -1


def test_noise_that_begins_after_most_values_is_found() -> None:
    assert _noise_changes(_stretches((150, 0.0), (50, 1.0)))


def test_a_tenth_of_other_values_on_either_side_of_more_noise_is_no_error() -> None:
    rng = np.random.default_rng(5)
    rare, often = (np.where(rng.random(60) < share, rng.normal(size=60), 0.0) for share in (0.02, 0.45))
    values = 100 + np.concatenate([rare, often, 4 * rng.normal(size=200)])
    assert len(_noise_changes(values)) >= 1


def _more_spread(values: np.ndarray) -> list[Step]:
    """Return the findings of a change of the spread, without those of other changes of the distribution."""
    return [step for step in _noise_changes(values) if step.evidence[0].name.startswith("rank sum")]


def test_rounding_makes_no_noise_where_there_was_some() -> None:
    # Of the values, 60 and 48 % are the middle one: their median distance from it goes from 0 to a whole level.
    found = [_more_spread(np.round(_stretches((250, 0.6), (250, 0.78), seed=seed))) for seed in range(40)]
    assert sum(map(len, found)) <= 2


def test_more_noise_shows_in_rounded_values() -> None:
    found = [_noise_changes(np.round(_stretches((100, 0.5), (100, 1.5), seed=seed))) for seed in range(20)]
    assert sum(map(bool, found)) >= 16


def test_values_near_the_largest_double_have_the_same_changes_of_the_noise() -> None:
    values = _series(1, 3.0)
    near = values * (1.7e308 / np.abs(values).max())
    assert [step.index for step in _noise_changes(near)] == [step.index for step in _noise_changes(values)]
