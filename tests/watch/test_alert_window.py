"""Where an alert with a window detects, and what it reports of that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import in_the_long_run

from knickpoint.model.alert import Alert
from knickpoint.watch.detection.alert_settings import blank_before_window, window_columns
from knickpoint.watch.explanation import explain_trace

from .conftest import QUICK, World, levels

RECENT = Alert("recent", window=20)


def follow(world: World, alert: Alert, series: list[float], *, first: int) -> list[int]:
    """Measure the rest of ``series`` commit by commit from ``first`` on, and return what went away at each."""
    gone = []
    for slot in range(first, len(series)):
        world.put(slot, {"parse": series[slot]})
        gone.append(world.run(alert).gone)
        assert world.run(alert).nothing_new
    return gone


@pytest.mark.parametrize(
    "alert", [RECENT, *in_the_long_run(replace(RECENT, method="e_divisive"))], ids=lambda alert: alert.method
)
def test_a_step_outlives_the_window_that_it_leaves(world: World, alert: Alert) -> None:
    series = levels((30, 20.0), (26, 25.0))
    world.measure({"parse": series[:45]})
    world.run(alert)
    assert world.places("parse") == [30]
    assert not any(follow(world, alert, series, first=45))
    assert world.places("parse") == [30]


def test_the_region_before_a_step_reaches_back_to_the_change_before_the_window(world: World) -> None:
    series = levels((10, 20.0), (24, 25.0), (10, 30.0))
    world.measure({"parse": series[:29]})
    world.run(RECENT)
    follow(world, RECENT, series, first=29)
    first, second = world.points("parse")
    assert (first.suspect_range.slot, second.suspect_range.slot) == (10, 34)
    assert (second.numbers.before.first, second.numbers.before.count) == (10, 24)


@pytest.mark.long
def test_steps_near_each_other_outlive_the_first_of_them_leaving_the_window(world: World) -> None:
    series = levels((30, 20.0), (6, 30.0), (44, 20.0))
    world.measure({"parse": series[:48]})
    world.run(RECENT)
    assert world.places("parse") == [30, 36]
    assert not any(follow(world, RECENT, series, first=48))
    assert world.places("parse") == [30, 36]


def test_a_change_before_the_window_is_not_reported(world: World) -> None:
    world.measure({"parse": levels((30, 20.0), (30, 25.0))})
    world.run(RECENT)
    assert world.places("parse") == []
    (explained,) = explain_trace(world.store, world.trace("parse"), [RECENT]).alerts
    assert [step.reason for step in explained.steps] == ["it lies before the alert's window of the last 20 values"]


def test_a_point_in_the_window_that_is_not_seen_any_more_is_gone(world: World) -> None:
    alert = replace(QUICK, window=20)
    world.measure({"parse": levels((30, 20.0), (10, 25.0))})
    world.run(alert)
    for slot in range(30, 40):
        world.put(slot, {"parse": 20.0})
    assert world.run(alert).gone == 1


@pytest.mark.long
def test_what_an_explanation_says_is_what_the_alert_reports(world: World) -> None:
    series = levels((10, 20.0), (50, 25.0), (20, 30.0))
    world.measure({"parse": series[:25]})
    world.run(RECENT)
    follow(world, RECENT, series[:75], first=25)
    (explained,) = explain_trace(world.store, world.trace("parse"), [RECENT]).alerts
    (step,) = [step for step in explained.steps if not step.reason]
    assert step.point == world.points("parse")[1]
    assert step.sighting.numbers.before == world.points("parse")[1].numbers.before


@given(st.lists(st.booleans(), max_size=60), st.integers(0, 30), st.lists(st.integers(0, 59), max_size=4))
def test_a_window_reports_after_the_first_of_its_newest_values(held: list[bool], window: int, known: list[int]) -> None:
    columns = sorted(column for column in known if column < len(held))
    spans = window_columns(np.array([held], dtype=np.bool_).reshape(1, -1), window, [columns])
    places = np.flatnonzero(held)
    newest = places[-window:] if window else places
    assert spans.reported[0] == (newest[0] if newest.size else len(held))
    assert spans.start[0] <= spans.reported[0]
    values = np.where(held, 1.0, np.nan)[None, :]
    looked_at = np.flatnonzero(~np.isnan(blank_before_window(values, spans)[0]))
    assert set(newest.tolist()) <= set(looked_at.tolist())
