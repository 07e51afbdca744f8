"""A finding is provisional until enough of the newest values in a row show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.detect import find_steps_many
from knickpoint.model.change_point import ChangePoint
from knickpoint.model.settlement import DEFAULT_RULE, SETTLED, Certainty, Settlement, SettleRule
from knickpoint.model.step import Step
from knickpoint.watch.detection.sightings import settle_by_count, settle_steps

from .conftest import QUICK, World, copied, levels


@pytest.fixture
def other_world(empty_world: Path, tmp_path: Path) -> Iterator[World]:
    """Return a second instance like ``world``."""
    made = copied(empty_world, tmp_path / "other.db")
    yield made
    made.store.close()


_SLOW = replace(QUICK, settle_share=0.5, settle_least=4, settle_most=10)


def test_the_rule_asks_for_a_share_of_the_values_within_its_bounds() -> None:
    rule = SettleRule(share=0.5, least=3, most=8)
    assert [rule.needed(later) for later in (1, 6, 7, 10, 16, 1000)] == [3, 3, 4, 5, 8, 8]


@given(st.builds(SettleRule, st.floats(0, 1), st.integers(1, 9), st.integers(9, 60)), st.integers(1, 500))
def test_views_are_powers_of_two_and_the_last_value_that_is_needed(rule: SettleRule, later: int) -> None:
    views = rule.views(later)
    assert list(views) == sorted(set(views))
    assert max(views, default=0) == rule.needed(later) - 1
    assert all(drop & (drop - 1) == 0 for drop in views[:-1])


def _quick_steps(values: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> list[list[Step]]:
    return find_steps_many(values, method="threshold", threads=1)


@pytest.mark.parametrize(("later", "found_with"), [(1, 1), (2, 2), (3, 3)])
def test_a_change_is_provisional_while_too_few_values_show_it(later: int, found_with: int) -> None:
    values = np.array([levels((20, 10.0), (later, 12.0))])
    rule = SettleRule(share=0, least=4, most=4)
    ((settlement,),) = settle_steps(values, _quick_steps(values), _quick_steps, rule)
    assert settlement.certainty is Certainty.PROVISIONAL
    assert (settlement.found_with, settlement.needed) == (min(found_with, 3), 4)
    assert "4 settle it" in settlement.reason


def test_a_change_is_settled_when_enough_values_show_it() -> None:
    values = np.array([levels((20, 10.0), (4, 12.0))])
    assert settle_steps(values, _quick_steps(values), _quick_steps, SettleRule(0, 4, 4)) == [[SETTLED]]


def test_a_change_that_a_view_lacks_is_provisional() -> None:
    values = np.array([levels((20, 10.0), (30, 12.0))])
    steps = _quick_steps(values)

    def forgetful(views: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> list[list[Step]]:
        measured = np.isfinite(views).sum(axis=1)
        return [[] if count == 48 else found for count, found in zip(measured, _quick_steps(views), strict=True)]

    ((settlement,),) = settle_steps(values, steps, forgetful, DEFAULT_RULE)
    assert (settlement.found_with, settlement.needed) == (2, 11)


def test_missing_values_count_for_nothing() -> None:
    values = np.array([levels((20, 10.0), (3, 12.0))])
    sparse = np.full((1, 2 * values.shape[1]), np.nan)
    sparse[:, ::2] = values
    rule = SettleRule(0, 3, 3)
    assert settle_steps(sparse, _quick_steps(sparse), _quick_steps, rule) == [[SETTLED]]
    rule = SettleRule(0, 4, 4)
    ((settlement,),) = settle_steps(sparse, _quick_steps(sparse), _quick_steps, rule)
    assert not settlement.settled


def test_a_series_without_steps_is_not_viewed_again() -> None:
    def refuse(_views: object) -> list[list[Step]]:
        raise AssertionError

    assert settle_steps(np.ones((2, 30)), [[], []], refuse, DEFAULT_RULE) == [[], []]


def test_a_rule_of_one_value_settles_at_once() -> None:
    def refuse(_views: object) -> list[list[Step]]:
        raise AssertionError

    values = np.array([levels((20, 10.0), (1, 12.0))])
    assert settle_steps(values, _quick_steps(values), refuse, SettleRule(0, 1, 1)) == [[SETTLED]]


def test_methods_that_judge_groups_settle_by_the_number_of_values() -> None:
    values = np.array(levels((20, 10.0), (8, 12.0), (3, 9.0)))
    (steps,) = _quick_steps(values[None, :])
    settled = settle_by_count(values, steps, SettleRule(0, 3, 8))
    assert settled == [SETTLED, Settlement(Certainty.PROVISIONAL, 3, 8)]


def _point(world: World) -> ChangePoint:
    (point,) = world.points("parse")
    return point


def test_a_finding_settles_as_values_arrive(world: World) -> None:
    values = levels((20, 10.0), (6, 12.0))
    certainties = []
    for count in range(21, 27):
        world.measure({"parse": values[:count]})
        world.run(_SLOW)
        certainties.append(_point(world).settlement.certainty.value)
    assert certainties == ["provisional"] * 3 + ["settled"] * 3


@pytest.mark.long
def test_certainty_depends_on_the_data_and_not_on_how_they_arrived(world: World, other_world: World) -> None:
    values = levels((20, 10.0), (3, 12.0), (5, 10.1), (2, 13.0))
    for count in range(1, len(values) + 1):
        world.measure({"parse": values[:count]})
        world.run(_SLOW)
    for slot in sorted(range(len(values)), key=lambda slot: (slot % 3, slot)):
        other_world.put(slot, {"parse": values[slot]})
        other_world.run(_SLOW)
    assert [(point.suspect_range, point.settlement) for point in world.points("parse")] == [
        (point.suspect_range, point.settlement) for point in other_world.points("parse")
    ]


def test_a_finding_that_left_the_window_of_its_alert_is_settled(world: World) -> None:
    alert = replace(_SLOW, window=12, settle_least=12, settle_most=24, settle_share=1.0)
    values = levels((20, 10.0), (20, 12.0))
    for count in range(20, 41):
        world.measure({"parse": values[:count]})
        world.run(alert)
    assert _point(world).settlement == SETTLED


def test_a_finding_of_two_alerts_is_settled_when_one_of_them_says_so(world: World) -> None:
    world.measure({"parse": levels((20, 10.0), (3, 12.0))})
    world.run(replace(_SLOW, name="slow"), replace(QUICK, settle_share=0, settle_least=1, settle_most=1))
    assert _point(world).settlement == SETTLED


def test_a_change_is_provisional_while_all_its_findings_are(world: World) -> None:
    world.measure({"parse": levels((20, 10.0), (2, 12.0)), "render": levels((20, 10.0), (2, 12.0))})
    world.run(_SLOW)
    (change,) = world.store.findings.changes(world.repository)
    assert change.certainty is Certainty.PROVISIONAL
    world.measure({"parse": levels((20, 10.0), (6, 12.0))})
    world.run(_SLOW)
    (change,) = world.store.findings.changes(world.repository)
    assert change.certainty is Certainty.SETTLED


def test_a_change_that_the_newest_values_prove_is_settled_at_once() -> None:
    random = np.random.default_rng(1)
    values = np.array([[*(100 + random.standard_normal(30)), 150.0, 151.0, 149.0]])
    (steps,) = find_steps_many(values, threads=1)

    def never(views: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> list[list[Step]]:
        assert not len(views)
        return []

    assert settle_steps(values, [steps], never, DEFAULT_RULE) == [[SETTLED]]


def test_what_was_missed_for_long_is_not_settled_by_its_newest_values() -> None:
    values = np.array([levels((20, 10.0), (DEFAULT_RULE.most + 1, 12.0))])

    def blind(views: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> list[list[Step]]:
        return [[] for _ in views]

    ((settlement,),) = settle_steps(values, _quick_steps(values), blind, DEFAULT_RULE)
    assert settlement.certainty is Certainty.PROVISIONAL
