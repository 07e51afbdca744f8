"""A slow change in an instance: one finding of the kind drift, with the sum that it moved the level by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from knickpoint.model.alert import Alert, DriftReference
from knickpoint.model.regression import Condition, Direction
from knickpoint.model.settlement import FindingKind
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.detection.filters import refusal

from .conftest import World, levels
from .test_reconciliation import drift

SLOW = Alert("slow")

GROWING = [*levels((24, 100.0)), *(np.array(levels((44, 100.0))) + 0.5 * np.arange(1, 45)).tolist()]
"""A level, then a growth by 0.5 with every commit."""


def test_a_drift_is_one_finding_with_its_sum(world: World) -> None:
    world.measure({"parse": GROWING})
    world.run(SLOW)
    (point,) = world.points("parse")
    assert point.kind is FindingKind.DRIFT
    assert point.numbers.relative_size == pytest.approx(0.22, abs=0.02)
    assert point.numbers.before_level == pytest.approx(100, abs=1)


def test_a_drift_keeps_its_identity_as_it_goes_on(world: World) -> None:
    world.measure({"parse": GROWING[:60]})
    world.run(SLOW)
    (before,) = world.points("parse")
    world.measure({"parse": GROWING[60:]}, first=60)
    world.run(SLOW)
    (after,) = world.points("parse")
    assert after.id == before.id
    assert after.numbers.size > before.numbers.size + 2


def test_a_drift_that_a_step_takes_back_has_recovered(world: World) -> None:
    world.measure({"parse": [*GROWING, *levels((12, 100.0))]})
    world.run(SLOW)
    drift, step = world.points("parse")
    assert (drift.kind, drift.condition) == (FindingKind.DRIFT, Condition.RECOVERED)
    assert step.numbers.size < -10


def test_an_alert_with_a_small_effect_reports_drifts_from_there_on(world: World) -> None:
    world.measure({"parse": (100_000 + np.cumsum(np.tile([3, 5, 2, 6], 20))).tolist()})
    world.run(SLOW)
    assert not world.points("parse")
    world.run(replace(SLOW, minimum_effect=0.002))
    (point,) = world.points("parse")
    assert point.kind is FindingKind.DRIFT


def test_a_drift_since_the_best_level_counts_by_its_distance_from_there(world: World) -> None:
    grown = 100_000 + 8 * np.arange(80) + np.tile([0, 1, 3, 2], 20)
    world.measure({"parse": grown.tolist()})
    world.run(SLOW)
    assert not world.points("parse")
    world.run(replace(SLOW, since=DriftReference.BEST, minimum_effect=0.005))
    (point,) = world.points("parse")
    assert point.kind is FindingKind.DRIFT
    world.run(replace(SLOW, since=DriftReference.BEST))
    assert not world.points("parse")


def watched(world: World, values: Sequence[float], *, every: int) -> list[str]:
    """Measure ``values``, run after ``every`` so many of them, and return what was announced, in order."""
    world.measure({"parse": values[:24]})
    run_alerts(world.store, [SLOW], as_work=True)
    for first in range(24, len(values), every):
        world.measure({"parse": values[first : first + every]}, first=first)
        run_alerts(world.store, [SLOW], as_work=True)
    return [each.kind.value for each in world.store.findings.announcements.after(0)]


def test_a_drift_is_announced_once_and_again_when_it_has_doubled(world: World) -> None:
    noisy = np.array(GROWING) + np.random.default_rng(4).normal(0, 0.5, len(GROWING))
    first, *later = watched(world, noisy.tolist(), every=4)
    assert first == "regressed"
    assert later
    assert set(later) == {"grew"}
    (point,) = world.points("parse")
    assert (point.kind, point.id) == (FindingKind.DRIFT, 1)


def test_small_drifts_add_up_since_the_best_level() -> None:
    found = drift(11, 50)
    small = replace(
        found, direction=Direction.REGRESSION, since_best=0.03, numbers=replace(found.numbers, relative_size=0.006)
    )
    alert = Alert("a", minimum_effect=0.01)
    refused = refusal(alert, small)
    assert refused is not None
    assert refused.reason.startswith("the effect 0.600% is below")
    assert not refusal(replace(alert, since=DriftReference.BEST), small)
    assert not refusal(Alert("a", since=DriftReference.BEST), small)


def test_a_drift_near_the_best_level_is_refused_with_the_distance() -> None:
    found = drift(11, 50)
    near = replace(
        found, direction=Direction.REGRESSION, since_best=0.002, numbers=replace(found.numbers, relative_size=0.02)
    )
    refused = refusal(Alert("a", since=DriftReference.BEST), near)
    assert refused is not None
    assert refused.reason == "the effect 0.200% over the best level before it is below the alert's minimum of 1.000%"
