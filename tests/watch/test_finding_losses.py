"""How many findings a change of alerts costs, counted before it is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.regression import Condition, Status
from knickpoint.watch.alert_config.applied_alerts import AlertChange, apply_alerts, compare_alerts
from knickpoint.watch.alert_config.finding_losses import Losses, losses_of
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import QUICK, World, levels

ALL = Alert("all", method="threshold")
PARSE = Alert("parse", query="benchmark=parse", method="threshold")


@pytest.fixture
def found(world: World) -> World:
    """Three traces that stepped, seen by ``all``; one of them by ``parse``, too, and one decided about."""
    world.measure(
        {
            "parse": levels((10, 20.0), (10, 25.0)),
            "print": levels((10, 8.0), (10, 8.8)),
            "read": levels((10, 5.0), (10, 3.0)),
        }
    )
    apply_alerts(world.store, [ALL, PARSE], who="ada")
    world.run(ALL, PARSE)
    decide(world.store, Targets(points=(world.points("read")[0].id,)), who="Ada", status=Status.HIDDEN)
    return world


def live(world: World) -> int:
    return sum(
        point.condition is not Condition.GONE for name in ("parse", "print", "read") for point in world.points(name)
    )


def test_a_removed_alert_loses_what_it_saw_alone(found: World) -> None:
    assert losses_of(found.store, [PARSE], ["all"]) == {"all": Losses(gone=2, decided=1, staying=1)}
    assert live(found) == 3


def test_findings_of_alerts_that_are_removed_together_stay_for_neither(found: World) -> None:
    lost = losses_of(found.store, [QUICK], ["all", "parse"])
    assert lost == {"all": Losses(gone=3, decided=1, staying=0), "parse": Losses(gone=1, decided=0, staying=0)}


@pytest.mark.parametrize(
    ("changed", "lost"),
    [
        (replace(ALL, query="benchmark=print"), Losses(gone=1, decided=1, staying=1)),
        (replace(ALL, minimum_effect=0.15), Losses(gone=1, decided=0, staying=0)),
        (replace(ALL, direction=AlertDirection.UP), Losses(gone=1, decided=1, staying=0)),
        (replace(ALL, parameters={"change": 0.5}), Losses(gone=2, decided=1, staying=1)),
        (replace(ALL, repository="elsewhere"), Losses()),
        (replace(ALL, group_by=("kind",), minimum_traces=2), Losses(gone=1, decided=1, staying=0)),
        (replace(ALL, window=15), Losses()),
    ],
    ids=["query", "effect", "direction", "parameters", "broken", "group", "window"],
)
def test_a_changed_alert_loses_what_it_does_not_see_any_more(found: World, changed: Alert, lost: Losses) -> None:
    assert losses_of(found.store, [changed, PARSE], ["all"]) == {"all": lost}
    before = live(found)
    found.run(changed, PARSE)
    assert live(found) == before - lost.gone


def test_an_alert_that_ran_and_was_never_applied_is_removed_like_any_other(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run(ALL)
    assert {difference.name: difference.change for difference in compare_alerts(world.store, [PARSE])} == {
        "all": AlertChange.REMOVED,
        "parse": AlertChange.ADDED,
    }
    assert losses_of(world.store, [PARSE], ["all", "parse"])["all"] == Losses(gone=1)
