"""Bisections in virtual time: the reckoning of the Firefox OS team, the rule of stability, and what goes wrong on pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import numpy as np
import pytest

from knickpoint.bisect.settings import ScheduleMode
from knickpoint.bisect.simulation import Scenario, forecast, smallest_pool
from knickpoint.bisect.simulation.scenario import batches
from knickpoint.bisect.simulation.virtual_pool import play
from knickpoint.model.errors import InputError

_HOURLY: Final = Scenario(error=0.0, probe_minutes=60.0, bisections=30)
_EACH: Final = replace(_HOURLY, commits_per_hour=45.0, mode=ScheduleMode.EACH)  # 3 revisions of Gaia on 15 of Gecko
_SCHEDULED: Final = replace(_HOURLY, devices=8, commits_per_hour=15.0, other_probes_per_hour=3.0)
"""The hour or 16 revisions of Gecko, and each revision of Gaia beside it."""


@pytest.mark.parametrize(("devices", "hours", "probes"), [(1, 4.0, 4.0), (3, 2.0, 6.0), (15, 1.0, 15.0)])
def test_sixteen_commits_take_four_rounds_two_with_three_devices_and_one_with_fifteen(
    devices: int, hours: float, probes: float
) -> None:
    found = forecast(replace(_HOURLY, devices=devices, bisections=16))
    assert found.bisection == (hours, hours)
    assert found.probes == (probes, probes)
    assert found.wrong == found.unnamed == 0


@pytest.mark.long
def test_measuring_every_commit_takes_about_fifty_devices() -> None:
    found = smallest_pool(_EACH, 1.5)
    assert found is not None
    assert 45 < found.scenario.devices <= 50
    assert found.bisections == 0


def test_an_hourly_schedule_with_bisection_takes_eight_devices() -> None:
    found = forecast(_SCHEDULED)
    assert found.stable
    assert found.culprit[1] < 6
    assert found.probes[0] == pytest.approx(6, abs=1)
    assert not forecast(replace(_SCHEDULED, devices=4, bisections=5)).stable


@pytest.mark.parametrize(("changes", "keeps_up"), [(0.02, "yes"), (0.06, "no")])
def test_bisections_of_two_hours_keep_up_with_less_than_one_change_in_two_hours(changes: float, keeps_up: str) -> None:
    pool = replace(_HOURLY, devices=5, reserved=3, commits_per_hour=15.0, regressions_per_commit=changes)
    found = forecast(pool)
    assert found.alone == pytest.approx(2.0, abs=0.2)
    assert (found.bisection_load < 1) is (keeps_up == "yes")
    assert found.stable is (keeps_up == "yes")


def test_equal_seeds_give_equal_figures_and_others_do_not() -> None:
    noisy = replace(_SCHEDULED, error=0.1, devices=12, bisections=8, failure_rate=0.1, most_probes=60)
    assert repr(forecast(noisy)) == repr(forecast(noisy))
    assert forecast(noisy).culprit != forecast(replace(noisy, seed=2)).culprit


def test_the_schedule_measures_sixteen_commits_or_an_hour_whichever_comes_first() -> None:
    for rate, full in ((8.0, False), (60.0, True)):
        found = list(islice(batches(replace(_SCHEDULED, commits_per_hour=rate)), 300))
        assert max(len(batch.arrived) for batch in found) <= 16
        assert max(batch.asked - batch.arrived[0] for batch in found) <= 1 + 1e-6
        assert bool(np.mean([len(batch.arrived) == 16 for batch in found]) > 0.5) is full
        expected = replace(_SCHEDULED, commits_per_hour=rate).measured_per_hour
        assert len(found) / found[-1].asked == pytest.approx(expected, rel=0.05)


def test_a_schedule_of_each_commit_names_the_culprit_without_a_bisection() -> None:
    found = forecast(replace(_EACH, devices=60, bisections=10))
    assert (found.findings, found.bisections) == (10, 0)
    assert found.culprit == (1.0, 1.0)


def test_lost_probes_are_made_again() -> None:
    calm, lossy = (forecast(replace(_HOURLY, failure_rate=rate)) for rate in (0.0, 0.3))
    assert lossy.wrong == lossy.unnamed == 0
    assert lossy.probes[0] > 1.2 * calm.probes[0]
    assert lossy.bisection[1] > calm.bisection[1]


def test_commits_that_cannot_be_built_leave_ranges_and_no_wrong_culprit() -> None:
    found = forecast(replace(_HOURLY, unbuildable=0.3))
    assert found.wrong == 0
    assert 0 < found.unnamed < found.bisections


def test_a_build_is_paid_once_for_each_commit() -> None:
    built = forecast(replace(_HOURLY, devices=1, build_minutes=60.0))
    assert built.bisection == (8.0, 8.0)


def test_devices_serve_bisections_again_when_probes_are_dropped() -> None:
    busy = replace(_SCHEDULED, devices=5, regressions_per_commit=0.05, error=0.2, most_probes=40, bisections=8)
    played = play(busy)
    assert len(played.bisections) + len(played.at_once) >= 8
    assert all(each.conclusion and each.ended >= each.started >= each.found for each in played.bisections)
    assert 0 < played.busy_hours <= played.hours * 5


def test_values_name_the_culprit_of_a_large_change() -> None:
    found = forecast(Scenario(devices=1, delta=8.0, history=40, bisections=6, most_probes=40))
    assert found.wrong == 0
    assert found.unnamed <= 1


@pytest.mark.parametrize(
    ("stated", "where"),
    [
        ({"devices": 0}, "devices"),
        ({"reserved": 4}, "reserved"),
        ({"reserved": 3, "commits_per_hour": 1.0}, "reserved"),
        ({"probe_minutes": 0.0}, "probe_minutes"),
        ({"commits_per_hour": -1.0}, "commits_per_hour"),
        ({"failure_rate": 1.0}, "failure_rate"),
        ({"delta": 0.0}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"error": 0.5}, "error"),
        ({"candidates": 0}, "candidates"),
        ({"mode": ScheduleMode.EVENT}, "mode"),
    ],
)
def test_what_cannot_be_played_is_refused_by_name(stated: Mapping[str, Any], where: str) -> None:
    with pytest.raises(InputError) as refused:
        Scenario(**stated)
    assert refused.value.where == where


def test_a_target_that_no_pool_reaches_has_no_pool() -> None:
    assert smallest_pool(replace(_EACH, bisections=2), 0.5, most=64) is None
