from __future__ import annotations

import numpy as np

from knickpoint.detect.local_levels import LocalLevel, local_changes
from knickpoint.detect.steps import build_steps
from knickpoint.model.change_point import Condition
from knickpoint.watch.detection.sightings import recoveries, returned

PRESENT, RECOVERED = Condition.PRESENT, Condition.RECOVERED


def levels(*means: float, noise: float = 0.5) -> list[Condition]:
    values = np.concatenate([mean + noise * np.array([-1.0, 0.0, 1.0, 0.0, 1.0, -1.0]) for mean in means])
    steps = build_steps(values, [6 * k for k in range(1, len(means))], method="m")
    found = recoveries(local_changes(values, steps))
    return [Condition.PRESENT if later is None else Condition.RECOVERED for later in found]


def test_a_step_that_stays_is_present() -> None:
    assert levels(10, 20) == [PRESENT]


def test_a_step_whose_level_comes_back_has_recovered() -> None:
    assert levels(10, 20, 10.3) == [RECOVERED, PRESENT]


def test_a_step_undone_in_two_parts_has_recovered() -> None:
    assert levels(10, 20, 15, 10) == [RECOVERED, PRESENT, PRESENT]


def test_half_of_the_way_back_is_no_recovery() -> None:
    assert levels(10, 20, 15) == [PRESENT, PRESENT]


def test_a_level_that_comes_back_by_less_than_two_thirds_has_not_recovered() -> None:
    assert levels(24, 8, 17, noise=3) == [PRESENT, PRESENT]


def test_a_level_that_comes_back_by_more_than_two_thirds_within_the_noise_has_recovered() -> None:
    assert levels(24, 8, 20, noise=3) == [RECOVERED, PRESENT]


def test_a_step_smaller_than_the_noise_recovers_only_near_its_old_level() -> None:
    assert levels(10, 10.4, 10.3) == [PRESENT, PRESENT]


def test_a_level_without_noise_must_come_back_exactly() -> None:
    assert levels(100, 120, 101, noise=0) == [PRESENT, PRESENT]
    assert levels(100, 120, 100, noise=0) == [RECOVERED, PRESENT]


def test_a_step_that_recovered_and_came_again_stays_recovered() -> None:
    assert levels(10, 20, 10, 20) == [RECOVERED, RECOVERED, PRESENT]


def test_few_values_that_happen_to_lie_close_together_do_not_narrow_the_noise() -> None:
    before, left = LocalLevel(10.015, 0.009, 6), LocalLevel(13.015, 0.009, 6)
    assert returned(before, left, LocalLevel(10.0, 0.002, 4))


def test_the_median_of_few_values_may_lie_further_off_than_that_of_many() -> None:
    few, many = ((LocalLevel(10.0, 1.0, count), LocalLevel(12.4, 1.0, count)) for count in (5, 20))
    assert returned(few[0], LocalLevel(20.0, 1.0, 20), few[1])
    assert not returned(many[0], LocalLevel(20.0, 1.0, 20), many[1])
