"""What a scenario means for an operator: waiting, time to culprit, probes, use of the pool, devices to buy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from knickpoint.bisect.search.problem import ConclusionKind
from knickpoint.bisect.simulation.scenario import MOST_DEVICES, Scenario
from knickpoint.bisect.simulation.virtual_pool import Played, VirtualBisection, play, play_alone

_NAMES: Final = frozenset({ConclusionKind.CULPRIT, ConclusionKind.SEVERAL})
_ALONE: Final = 40
"""Bisections that are played alone, for the mean of their hours."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The figures of a scenario; times in hours, nan where there is nothing to count.

    Attributes:
        scenario: what was played.
        findings: how many findings came up, those of single commits included.
        bisections: how many of them needed a bisection.
        commit_wait: median and 90th percentile of the hours from the schedule's choice of a commit to its measurement.
        bisection_wait: the same from a finding to the first probe of its bisection,
        bisection: from a finding to the end of its bisection,
        culprit: and from the arrival of the commit that made the change to its name.
        probes: mean and 90th percentile of the probes of a bisection.
        alone: mean hours of a bisection that has all devices which the schedule leaves.
        utilisation: share of the device hours that was used, until the last commit arrived.
        schedule_load: devices that measuring new commits keeps busy, on average.
        bisection_load: bisections an hour times the hours of one alone: below 1, one ends before the next begins, on
            average.
        wrong: bisections that named a commit which made no change.
        unnamed: bisections that named no commit.
    """

    scenario: Scenario
    findings: int
    bisections: int
    commit_wait: tuple[float, float]
    bisection_wait: tuple[float, float]
    bisection: tuple[float, float]
    culprit: tuple[float, float]
    probes: tuple[float, float]
    alone: float
    utilisation: float
    schedule_load: float
    bisection_load: float
    wrong: int
    unnamed: int

    @property
    def stable(self) -> bool:
        """Whether the pool keeps up: the schedule leaves devices, and bisections end as quickly as they begin."""
        devices = self.scenario.devices - self.scenario.reserved
        return (self.schedule_load == 0 or self.schedule_load < devices) and self.bisection_load < 1


def forecast(scenario: Scenario) -> Forecast:
    """Play a scenario, and count."""
    schedule_load = (scenario.measured_per_hour + scenario.other_probes_per_hour) * scenario.probe_hours
    if scenario.commits_per_hour:
        schedule_load += scenario.measured_per_hour * scenario.build_minutes / 60 / (1 - scenario.failure_rate)
        played = play(scenario) if scenario.regressions_per_commit else Played()
    else:
        played = play_alone(scenario, scenario.candidates)
    alone = _hours_alone(scenario, played, schedule_load)
    rate = len(played.bisections) / played.hours if played.hours and scenario.commits_per_hour else 0.0
    ended = played.bisections
    device_hours = played.hours * scenario.devices
    return Forecast(
        scenario,
        findings=len(ended) + len(played.at_once),
        bisections=len(ended),
        commit_wait=_middle_and_high(played.waits),
        bisection_wait=_middle_and_high([each.started - each.found for each in ended]),
        bisection=_middle_and_high([each.ended - each.found for each in ended]),
        culprit=_middle_and_high([*played.at_once, *(each.ended - each.changed for each in ended)]),
        probes=_mean_and_high([each.probes for each in ended]),
        alone=alone,
        utilisation=played.busy_hours / device_hours if device_hours else 0.0,
        schedule_load=schedule_load,
        bisection_load=rate * alone if rate else 0.0,
        wrong=sum(_is_wrong(each) for each in ended),
        unnamed=sum(each.conclusion is None or each.conclusion.kind not in _NAMES for each in ended),
    )


def _hours_alone(scenario: Scenario, played: Played, schedule_load: float) -> float:
    """Return the mean hours of a bisection on the devices that the schedule leaves; inf where it leaves none."""
    if not played.bisections:
        return float("nan")
    if not scenario.commits_per_hour:
        return float(np.mean([each.ended for each in played.bisections]))
    left = max(scenario.reserved, math.floor(scenario.devices - schedule_load + 1e-9))
    if left < 1:
        return float("inf")
    usual = round(float(np.mean([each.candidates for each in played.bisections])))
    alone = replace(
        scenario, devices=left, reserved=0, commits_per_hour=0.0, bisections=min(_ALONE, len(played.bisections))
    )
    return float(np.mean([each.ended for each in play_alone(alone, usual).bisections]))


def _is_wrong(bisection: VirtualBisection) -> bool:
    conclusion = bisection.conclusion
    if conclusion is None or conclusion.kind not in _NAMES:
        return False
    return any(place not in bisection.culprits for place in conclusion.places)


def _middle_and_high(hours: Sequence[float]) -> tuple[float, float]:
    if not hours:
        return float("nan"), float("nan")
    return float(np.median(hours)), float(np.quantile(hours, 0.9))


def _mean_and_high(counts: Sequence[int]) -> tuple[float, float]:
    if not counts:
        return float("nan"), float("nan")
    return float(np.mean(counts)), float(np.quantile(counts, 0.9))


def smallest_pool(scenario: Scenario, target_hours: float, *, most: int = MOST_DEVICES) -> Forecast | None:
    """Return the forecast of the smallest stable pool whose 90th percentile of the time to culprit meets the target.

    None where ``most`` devices do not reach it. More devices never take longer, so the sizes are searched by halving.
    """

    def reaches(devices: int) -> Forecast | None:
        found = forecast(replace(scenario, devices=devices))
        return found if found.stable and found.culprit[1] <= target_hours else None

    least = max(1, scenario.reserved)
    high, found = least, reaches(least)
    low = least - 1
    while found is None:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
        found = reaches(high)
    while high - low > 1:
        middle = (low + high) // 2
        if better := reaches(middle):
            high, found = middle, better
        else:
            low = middle
    return found
