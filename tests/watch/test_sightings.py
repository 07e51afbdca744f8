from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from knickpoint.detect import find_steps
from knickpoint.detect.steps import build_steps
from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.change_point import Direction, Sighting, Status
from knickpoint.model.settlement import SETTLED, FindingKind
from knickpoint.model.unit_names import Better
from knickpoint.watch.detection.alert_settings import Filter
from knickpoint.watch.detection.filters import Refusal, refusal
from knickpoint.watch.detection.sightings import sightings_of
from knickpoint.watch.lines import Lines
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import QUICK, World, levels

FALLING = [*np.linspace(200, 100, 30).tolist(), *levels((10, 100), (30, 107))]
"""Values that drift down, then step up: the means of the regions say down, the values next to the step up."""


def seen(world: World, values: Sequence[float], place: int) -> Sighting:
    """Return the sighting of a step of "parse" at ``place``."""
    world.measure({"parse": values})
    lines = Lines(world.store, world.repository)
    frame = world.store.frames.read(lines.default, [world.trace("parse")])
    steps = build_steps(frame.values[0].astype(float), [place], method="m")
    (found,) = sightings_of("a", frame, 0, steps, lines, settlements=[SETTLED])
    return found


def test_the_local_level_decides_what_is_better_and_how_much(world: World) -> None:
    found = seen(world, FALLING, 40)
    assert found.direction is Direction.REGRESSION
    assert found.numbers.relative_size == pytest.approx(0.067, abs=0.003)
    assert (found.numbers.before_level, found.numbers.after_level) == pytest.approx((100, 107), rel=0.03)


def test_the_movement_of_the_identity_stays_the_one_of_the_detector(world: World) -> None:
    assert seen(world, FALLING, 40).movement == -1


def test_the_interval_of_location_covers_the_commits_that_were_measured_around_the_step(world: World) -> None:
    random = np.random.default_rng(3)
    values = (100 * (1 + 0.06 * random.standard_normal(80))).tolist()
    seldom = [value * 1.1 if slot > 50 else value for slot, value in enumerate(values)]
    seldom[50:70] = [math.nan if slot not in {59, 64} else seldom[slot] for slot in range(50, 70)]
    world.measure({"parse": seldom})
    lines = Lines(world.store, world.repository)
    frame = world.store.frames.read(lines.default, [world.trace("parse")])
    (step,) = find_steps(frame.values[0])
    (found,) = sightings_of("a", frame, 0, [step], lines, settlements=[SETTLED])
    measured = [slot for slot, value in enumerate(seldom) if not math.isnan(value)]
    first, last = measured.index(step.previous), measured.index(step.index)
    assert found.interval > 1
    assert step.previous - found.interval_before == measured[first - found.interval]
    assert step.index + found.interval_after == measured[last + found.interval]


@pytest.mark.parametrize(("direction", "reported"), [("up", True), ("worse", True), ("down", False), ("better", False)])
def test_an_alert_goes_by_the_local_level(world: World, direction: str, reported: bool) -> None:  # noqa: FBT001
    alert = replace(QUICK, direction=AlertDirection(direction))
    assert (refusal(alert, seen(world, FALLING, 40)) is None) is reported


def test_a_step_that_left_the_local_level_is_reported_by_no_alert(world: World) -> None:
    found = seen(world, [10, 10, 10, 10, 10, 10, 10, 19, 10, 19], 5)
    assert (found.numbers.size, found.direction) == (0, Direction.UNKNOWN)
    reason = "the median of up to 20 values on each side is the same: the level did not change"
    assert refusal(QUICK, found) == Refusal(Filter.LEVEL, reason)


def test_a_decision_outlives_that_the_local_level_turns_the_word_round(world: World) -> None:
    world.measure({"parse": FALLING[:41]})
    world.run()
    (point,) = world.points("parse")
    with world.store.transaction() as connection:
        connection.exec_driver_sql("UPDATE change_point SET direction = 'improvement', size = -30.5")
        connection.exec_driver_sql("UPDATE sighting SET direction = 'improvement', size = -30.5")
    decide(world.store, Targets(points=(point.id,)), who="Ada", status=Status.HIDDEN, note="drift")
    world.measure({"parse": FALLING[41:]}, first=41)
    world.run()
    (again,) = world.points("parse")
    assert (again.id, again.status, again.note) == (point.id, Status.HIDDEN, "drift")
    assert (again.direction, again.movement) == (Direction.REGRESSION, -1)


def test_more_noise_is_a_change_of_a_trace_whose_larger_values_are_better(world: World) -> None:
    noise = np.random.default_rng(1).normal(size=80) * np.where(np.arange(80) < 40, 1, 5)
    world.measure({"parse": (100 + noise).tolist()})
    lines = Lines(world.store, world.repository)
    frame = world.store.frames.read(lines.default, [world.trace("parse")])
    frame = replace(frame, traces=[replace(trace, better=Better.HIGHER) for trace in frame.traces])
    steps = [each for each in find_steps(frame.values[0], noise=True) if each.kind is FindingKind.NOISE]
    (found,) = sightings_of("a", frame, 0, steps, lines, settlements=[SETTLED])
    assert (found.kind, found.direction) == (FindingKind.NOISE, Direction.REGRESSION)
    assert (found.numbers.before_level, found.numbers.after_level) == pytest.approx((1, 5), rel=0.5)


def test_an_alert_finds_changes_of_the_noise_on_request(world: World) -> None:
    noise = np.random.default_rng(1).normal(size=80) * np.where(np.arange(80) < 40, 1, 5)
    world.measure({"parse": (100 + noise).tolist()})
    world.run(Alert("noise", parameters={"noise": True}))
    assert FindingKind.NOISE in {point.kind for point in world.points("parse")}
