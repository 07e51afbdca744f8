"""Alerts with the method ``siblings``: weak steps of related traces become findings, and are explained by their siblings."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.explanation.replay import explain_trace

from .conftest import World

ALERT = Alert("related", method="siblings", group_by=("kind",))
MOVED, COMMITS, PLACE = 12, 80, 44


def _series() -> dict[str, NDArray[np.float64]]:
    """Return 15 traces of the kind a, of which 12 move by 1.1 deviations, and one of another kind."""
    values = 100 + np.random.default_rng(6).normal(size=(16, COMMITS))
    values[:MOVED, PLACE:] += 1.1
    return {f"{'a' if row < 15 else 'b'}{row}": series for row, series in enumerate(values)}


@pytest.fixture
def siblings(world: World) -> World:
    world.measure({name: series.tolist() for name, series in _series().items()})
    return world


def _found(world: World) -> list[str]:
    return [name for name in _series() if any(abs(slot - PLACE) <= 5 for slot in world.places(name))]


def test_weak_steps_that_siblings_share_become_findings(siblings: World) -> None:
    siblings.run(Alert("alone"))
    alone = _found(siblings)
    siblings.run(ALERT)
    together = _found(siblings)
    assert len(together) >= 11 > len(alone)
    assert set(together) <= {f"a{row}" for row in range(MOVED)}


def test_a_second_run_finds_nothing_new(siblings: World) -> None:
    siblings.run(ALERT)
    assert siblings.run(ALERT).nothing_new
    assert run_alerts(siblings.store, [ALERT], afresh=True).nothing_new


def test_an_event_in_one_trace_judges_its_siblings_again(world: World) -> None:
    series = _series()
    world.measure({name: values[: PLACE + 3].tolist() for name, values in series.items()})
    world.run(ALERT)
    world.measure({name: values[PLACE + 3 :].tolist() for name, values in series.items()}, first=PLACE + 3)
    run_alerts(world.store, [ALERT], traces=[world.trace("a0")])
    found = _found(world)
    assert run_alerts(world.store, [ALERT], afresh=True).nothing_new
    assert len(found) >= 11


def test_findings_of_siblings_are_no_cluster(siblings: World) -> None:
    siblings.run(ALERT)
    assert siblings.store.findings.clusters.of_trace(siblings.trace("a0")) == []


def test_the_explanation_says_what_the_siblings_did(siblings: World) -> None:
    siblings.run(ALERT)
    moved = next(name for name in _found(siblings))
    (alert,) = explain_trace(siblings.store, siblings.trace(moved), [ALERT]).alerts
    assert alert.detection is not None
    checks = {check.name for step in alert.detection.steps for check in step.evidence}
    assert {"siblings that moved", "chance that it moved with its siblings"} <= checks
    (alert,) = explain_trace(siblings.store, siblings.trace("a14"), [ALERT]).alerts
    assert any("of its siblings moved here" in each.candidate.reason for each in alert.candidates)


def test_the_explanation_says_which_param_relatives_share(world: World) -> None:
    random = np.random.default_rng(8)
    values = 100 + random.normal(size=(12, COMMITS))
    for number, place in enumerate((12, 24, 36, 48)):
        values[6 * (number % 2) : 6 * (number % 2) + 6, place:] += 8.0
    values[:6, 64:] += 2.0
    names = [f"{'a' if row < 6 else 'b'}{row}" for row in range(12)]
    world.measure(dict(zip(names, values.tolist(), strict=True)))
    together = Alert("all", method="siblings")
    world.run(together)
    assert world.run(together).nothing_new
    (alert,) = explain_trace(world.store, world.trace("a0"), [together]).alerts
    assert alert.detection is not None
    steps = [step for step in alert.detection.steps if abs(step.index - 64) <= 5]
    checks = {check.name: check.value for step in steps for check in step.evidence}
    assert checks["past changes that kind was learnt from"] >= 3
    assert checks["share of traces with one kind that moved together"] > 0.5
    assert all(any(abs(slot - 64) <= 5 for slot in world.places(name)) for name in names[:6])
    assert not any(abs(slot - 64) <= 5 for name in names[6:] for slot in world.places(name))
