"""What an operator states: the noise, the pool, how commits arrive and which of them are measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from itertools import accumulate, count
from typing import Final

import numpy as np

from knickpoint.bisect.schedule import due_commits, waiting_commits
from knickpoint.bisect.settings import ScheduleMode, ScheduleSettings
from knickpoint.model.commit import Commit
from knickpoint.model.errors import InputError

MOST_DEVICES: Final = 1_024
MOST_CANDIDATES: Final = 4_096
_MOST_BISECTIONS: Final = 10_000
_SHARES: Final = (
    "regressions_per_commit",
    "failure_rate",
    "unbuildable",
    "probability",
    "bursts",
    "second_mode",
    "sticky",
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A pool, its work and its noise; times in minutes, rates by the hour.

    Attributes:
        devices: how many devices the pool has.
        reserved: how many of them only bisect; the others measure new commits first, and bisect when none waits.
        probe_minutes: how long a device takes to measure a commit.
        build_minutes: how long the first probe of a commit takes longer, for the build.
        failure_rate: probability that a probe is lost, at its end; it is made again.
        unbuildable: share of commits that cannot be measured.
        delta: how far a change moves the level, in standard deviations of single values.
        bursts: share of the probes that other work makes 1.3 to 2 times slower; a level is 100 standard deviations
            then.
        second_mode: share of the probes that are in a second mode, 8 standard deviations higher.
        sticky: probability that a device stays in its mode from one probe to the next, besides that of drawing it
            again.
        error: probability that a probe that passes or fails is wrong, 0 for exact answers; None measures values.
        history: how many values the history has at each level.
        commits_per_hour: how many commits arrive; 0 plays one bisection after the other, each alone on the pool.
        regressions_per_commit: probability that a commit makes a change.
        mode: whether each commit is measured, or one of every so many commits or minutes.
        schedule_commits: with EVERY, how many new commits are enough;
        schedule_minutes: and how long the oldest one waits at most.
        other_probes_per_hour: other measurements that the pool makes first, as of another repository.
        candidates: commits in a range, where no commits arrive.
        probability: how sure a culprit has to be.
        most_probes: how many probes a bisection may make.
        bisections: how many findings are played.
        seed: two runs with equal seeds are equal.
    """

    devices: int = 3
    reserved: int = 0
    probe_minutes: float = 10.0
    build_minutes: float = 0.0
    failure_rate: float = 0.0
    unbuildable: float = 0.0
    delta: float = 3.0
    bursts: float = 0.0
    second_mode: float = 0.0
    sticky: float = 0.0
    error: float | None = None
    history: int = 20
    commits_per_hour: float = 0.0
    regressions_per_commit: float = 0.01
    mode: ScheduleMode = ScheduleMode.EVERY
    schedule_commits: int = 16
    schedule_minutes: float = 60.0
    other_probes_per_hour: float = 0.0
    candidates: int = 16
    probability: float = 0.95
    most_probes: int = 1_000
    bisections: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated.

        Raises:
            InputError: a number is out of its range; ``where`` is the name of the field.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not (math.isfinite(value) and value >= 0):
                raise _refused(field.name, value, "0 or more")
        for name in _SHARES:
            if getattr(self, name) >= 1:
                raise _refused(name, getattr(self, name), "below 1")
        self._check_ranges()

    def _check_ranges(self) -> None:
        ranges = {
            "devices": (1, MOST_DEVICES),
            "reserved": (0, self.devices),
            "history": (2, 100_000),
            "schedule_commits": (1, MOST_CANDIDATES),
            "candidates": (1, MOST_CANDIDATES),
            "most_probes": (1, 100_000),
            "bisections": (1, _MOST_BISECTIONS),
            "seed": (0, 2**32 - 1),
        }
        for name, (least, most) in ranges.items():
            if not least <= getattr(self, name) <= most:
                raise _refused(name, getattr(self, name), f"{least} to {most:,}")
        if self.commits_per_hour and self.reserved == self.devices:
            raise _refused(
                "reserved", self.reserved, "less than --devices, for commits arrive that have to be measured"
            )
        if self.mode is ScheduleMode.EVENT:
            raise _refused("mode", "event", "each or every: events have no rate to play")
        for name in ("probe_minutes", "schedule_minutes", "probability"):
            if not getattr(self, name):
                raise _refused(name, 0, "more than 0")
        if self.error is None and not self.delta:
            raise _refused("delta", 0, "more than 0; without a change there is nothing to find")
        if self.error is not None and self.error >= 0.5:
            raise _refused("error", self.error, "below 0.5; from there on, answers say nothing")

    @property
    def probe_hours(self) -> float:
        """Device hours of a probe, those of lost ones included, without builds."""
        return self.probe_minutes / 60 / (1 - self.failure_rate)

    @property
    def measured_per_hour(self) -> float:
        """How many commits the schedule measures in an hour, on average.

        A batch is its oldest commit and those that arrive while it waits, as a Poisson process, but at most
        ``schedule_commits``: its mean size is 1 + the sum over k < ``schedule_commits`` of the probability of k or more
        arrivals.
        """
        if self.mode is ScheduleMode.EACH or not self.commits_per_hour:
            return self.commits_per_hour
        mean = self.commits_per_hour * self.schedule_minutes / 60
        exactly = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(self.schedule_commits - 1)]
        at_least = [max(0.0, 1 - fewer) for fewer in accumulate(exactly)]
        return self.commits_per_hour / (1 + sum(at_least))


def _refused(name: str, value: object, wanted: str) -> InputError:
    return InputError(f"{value} cannot be simulated", where=name, remedy=f"State {wanted}.")


# The arrival of commits, and the batches of them of which the schedule measures the newest; the policy is that of real
# schedules.


_BEGIN: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Hour 0; any time does."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Commits of which the newest is measured: when each arrived, when the schedule asked, which change something.

    Times are in hours. ``culprits`` are places in the batch, from 1.
    """

    arrived: tuple[float, ...]
    asked: float
    culprits: tuple[int, ...]


def batches(scenario: Scenario) -> Iterator[Batch]:
    """Yield batches without end, in order of time.

    Commits arrive independently of each other, and the schedule decides.
    """
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
