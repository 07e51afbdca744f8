"""A slow change in an instance: one finding of the kind drift, with the sum that it moved the level by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from knickpoint.model.alert import SINCE_BEST, Alert
from knickpoint.model.change_point import Condition, Direction
from knickpoint.model.errors import ConfigError
from knickpoint.model.settlement import FindingKind
from knickpoint.store.commit_rows import Release
from knickpoint.watch.alert_config.alert_health import health_of_alerts
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.alert_validation import check_alert
from knickpoint.watch.backtest.backtest import backtest
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
    world.run(replace(SLOW, since=SINCE_BEST, minimum_effect=0.005))
    (point,) = world.points("parse")
    assert point.kind is FindingKind.DRIFT
    world.run(replace(SLOW, since=SINCE_BEST))
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
    numbers = replace(found.numbers, relative_size=0.006, reference=SINCE_BEST, over_reference=0.03)
    small = replace(found, direction=Direction.REGRESSION, numbers=numbers)
    alert = Alert("a", minimum_effect=0.01)
    refused = refusal(alert, small)
    assert refused is not None
    assert refused.reason.startswith("the effect 0.600 % is below")
    assert not refusal(replace(alert, since=SINCE_BEST), small)
    assert not refusal(Alert("a", since=SINCE_BEST), small)


def test_a_drift_near_the_best_level_is_refused_with_the_distance() -> None:
    found = drift(11, 50)
    numbers = replace(found.numbers, relative_size=0.02, reference=SINCE_BEST, over_reference=0.002)
    near = replace(found, direction=Direction.REGRESSION, numbers=numbers)
    refused = refusal(Alert("a", since=SINCE_BEST), near)
    assert refused is not None
    assert refused.reason == "the effect 0.200 % over the best level before it is below the alert's minimum of 1.000 %"


def release(world: World, name: str, slot: int) -> None:
    """Tag the commit at ``slot``."""
    (commit,) = world.store.commits.get(world.repository, [slot])
    world.store.releases.replace(world.repository, {name: Release(commit.commit.hash, slot)})


@pytest.mark.parametrize("since", ["v1.0", "2026-01-02"])
def test_a_drift_says_how_far_it_is_from_a_release_or_a_date(world: World, since: str) -> None:
    world.measure({"parse": GROWING})
    release(world, "v1.0", 23)
    world.run(replace(SLOW, since=since))
    (point,) = world.points("parse")
    assert point.numbers.reference == since
    assert point.numbers.over_reference == pytest.approx(point.numbers.after_level / 100 - 1, abs=0.005)


def test_the_level_at_a_release_inside_of_a_drift_lies_on_its_slope(world: World) -> None:
    world.measure({"parse": GROWING})
    release(world, "v1.0", 45)
    world.run(replace(SLOW, since="v1.0"))
    (point,) = world.points("parse")
    assert point.numbers.over_reference == pytest.approx(122 / 111 - 1, abs=0.005)


def test_a_drift_that_is_near_to_the_release_is_left_out(world: World) -> None:
    world.measure({"parse": GROWING})
    release(world, "v1.0", 60)
    world.run(replace(SLOW, since="v1.0", minimum_effect=0.05))
    assert not world.points("parse")
    release(world, "v1.0", 23)
    world.run(replace(SLOW, since="v1.0", minimum_effect=0.05))
    assert len(world.points("parse")) == 1


def test_a_drift_that_ended_before_the_release_is_compared_with_its_start(world: World) -> None:
    values = [*GROWING[:60], *levels((20, GROWING[59]))]
    world.measure({"parse": values})
    release(world, "v1.0", 78)
    world.run(replace(SLOW, since="v1.0"))
    (point,) = world.points("parse")
    assert point.numbers.reference == ""
    assert point.numbers.relative_size > 0.1


def test_what_lies_below_the_release_is_no_effect_above_it() -> None:
    found = drift(11, 50)
    numbers = replace(found.numbers, relative_size=0.05, reference="v1.0", over_reference=-0.02)
    below = replace(found, direction=Direction.REGRESSION, numbers=numbers)
    refused = refusal(Alert("a", since="v1.0"), below)
    assert refused is not None
    assert refused.reason == "the effect 0.000 % over the level at v1.0 is below the alert's minimum of 1.000 %"


def test_an_unknown_release_fails_the_run_of_this_alert_alone_and_its_health_says_so(world: World) -> None:
    world.measure({"parse": GROWING})
    release(world, "v1.0", 23)
    summary = world.run(replace(SLOW, name="typo", since="v1.1"), SLOW)
    assert list(summary.failures) == ["typo"]
    assert "since is 'v1.1', and the repository project has no tag of that name" in summary.failures["typo"]
    assert len(world.points("parse")) == 1
    (health,) = health_of_alerts(world.store, [replace(SLOW, since="v1.1")])
    assert health.problems[0].startswith("cannot run: since is 'v1.1'")
    assert "or give one of v1.0" in health.failure


def test_a_date_before_the_first_commit_cannot_be_compared_with(world: World) -> None:
    world.measure({"parse": GROWING})
    summary = world.run(replace(SLOW, since="2025-12-31"))
    assert "no commit of the line main is that old" in summary.failures["slow"]


def test_a_tag_that_moves_is_noticed_without_new_results(world: World) -> None:
    world.measure({"parse": GROWING})
    alert = replace(SLOW, since="v1.0")
    release(world, "v1.0", 23)
    world.run(alert)
    release(world, "v1.0", 45)
    world.run(alert)
    (point,) = world.points("parse")
    assert point.numbers.over_reference == pytest.approx(122 / 111 - 1, abs=0.005)


@pytest.mark.long
def test_a_backtest_compares_with_the_release_from_its_commit_on(world: World) -> None:
    world.measure({"parse": GROWING})
    release(world, "v1.0", 23)
    found = backtest(world.store, world.repository, replace(SLOW, since="v1.0"), since=20)
    assert {each.relative_size > 0 for each in found.score.findings} == {True}


@pytest.mark.parametrize(
    ("since", "reason"), [("2026-02-30", "which is not a date"), ("", "since is ''"), (" v1", "since is ' v1'")]
)
def test_a_reference_that_can_be_none_is_refused(since: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        check_alert(Alert("a", since=since))
