"""The arrival of commits, and the batches of them of which the schedule measures the newest; the policy is that of real schedules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

import numpy as np

from knickpoint.bisect.schedule import due_commits, waiting_commits
from knickpoint.bisect.settings import ScheduleSettings
from knickpoint.bisect.simulation.scenario import Scenario
from knickpoint.model.commit import Commit

__all__ = ["Batch", "batches", "other_probes"]

_BEGIN: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Hour 0; any time does."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Commits of which the newest is measured: when each arrived, when the schedule asked, which of them change something.

    Times are in hours. ``culprits`` are places in the batch, from 1.
    """

    arrived: tuple[float, ...]
    asked: float
    culprits: tuple[int, ...]


def batches(scenario: Scenario) -> Iterator[Batch]:
    """Yield batches without end, in order of time; commits arrive independently of each other, and the schedule decides."""
    random = np.random.default_rng((scenario.seed, 1))
    settings = ScheduleSettings(
        "simulation", "", mode=scenario.mode, commits=scenario.schedule_commits, minutes=scenario.schedule_minutes
    )
    line = [_commit(0, 0.0)]
    arrived: list[float] = []
    culprits: list[int] = []
    now = 0.0
    for number in count(1):
        now += float(random.exponential(1 / scenario.commits_per_hour))
        due = waiting_commits(line, {line[0].hash}, settings, _moment(now)).due
        if due is not None and due < _moment(now):  # the oldest commit waited long enough before this one arrived
            yield Batch(tuple(arrived), (due - _BEGIN) / timedelta(hours=1), tuple(culprits))
            line, arrived, culprits = line[-1:], [], []
        line.append(_commit(number, now))
        arrived.append(now)
        if random.random() < scenario.regressions_per_commit:
            culprits.append(len(arrived))
        if due_commits(line, {line[0].hash}, settings, _moment(now)):
            yield Batch(tuple(arrived), now, tuple(culprits))
            line, arrived, culprits = line[-1:], [], []


def _moment(hour: float) -> datetime:
    return _BEGIN + timedelta(hours=hour)


def _commit(number: int, hour: float) -> Commit:
    return Commit(f"commit {number}", "", "", _moment(hour), "")


def other_probes(scenario: Scenario) -> Iterator[float]:
    """Yield the hours at which other measurements are asked for, without end; none where there are none."""
    random = np.random.default_rng((scenario.seed, 2))
    now = 0.0
    while scenario.other_probes_per_hour:
        now += float(random.exponential(1 / scenario.other_probes_per_hour))
        yield now
