"""A pool in virtual time, whose devices new commits and bisections share, and what a scenario means for an operator.

That is waiting, time to culprit, probes, use of the pool, and devices to buy.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Final

import numpy as np

from knickpoint.bisect.search import conclude, moot, plan
from knickpoint.bisect.search.problem import (
    Budget,
    Conclusion,
    ConclusionKind,
    Level,
    Observation,
    PlannedProbe,
    Problem,
)
from knickpoint.bisect.simulation.scenario import MOST_DEVICES, Batch, Scenario, batches, other_probes

# One bisection in virtual time: the real search, with drawn answers.


_MODE: Final = 8.0
"""How far the second mode is above the first one, in standard deviations."""

_LEVEL: Final = 100.0
"""The level of which a burst is a share, in standard deviations."""

_BURST: Final = (0.3, 1.0)
"""The least and the largest share of the level that a burst adds."""


class VirtualBisection:
    """A search with its drawn truth; places from a culprit on are bad.

    Attributes:
        number: which finding of the scenario this is.
        candidates: how many commits may have made the change.
        found: the hour of the finding.
        changed: the hour at which the first culprit arrived.
        started: the hour of its first probe; nan before.
        ended: the hour of its conclusion; nan before.
        probes: how many probes ended, lost ones included.
        conclusion: how it ended, None while it goes on.
    """

    def __init__(
        self, scenario: Scenario, number: int, candidates: int, culprits: Sequence[int], *, found: float, changed: float
    ) -> None:
        """Begin a bisection of ``candidates`` commits; ``culprits`` are places from 1."""
        self._random = np.random.default_rng((scenario.seed, 3, number))
        self._scenario, self.culprits = scenario, tuple(culprits)
        self.number, self.candidates, self.found, self.changed = number, candidates, found, changed
        self.started = self.ended = float("nan")
        self.probes = 0
        self.conclusion: Conclusion | None = None
        self._under_way: list[PlannedProbe] = []
        self._observations: list[Observation] = []
        self._in_second_mode: dict[str, bool] = {}
        self._built: set[int] = {0, candidates}  # the schedule has measured the ends
        unbuildable = np.flatnonzero(self._random.random(candidates + 1) < scenario.unbuildable)
        self._unbuildable = frozenset(int(place) for place in unbuildable) - {0, candidates}
        self._problem = self._begin(candidates)

    def _begin(self, candidates: int) -> Problem:
        scenario = self._scenario
        if scenario.error is not None:
            problem = Problem(candidates, error=scenario.error, probability=scenario.probability)
            # With exact answers, what the schedule saw at the ends is true.
            return replace(problem, none=0.0, several=0.0) if scenario.error == 0 else problem
        levels = (self._level(0.0), self._level(scenario.delta * len(self.culprits)))
        return Problem(candidates, before=levels[0], after=levels[1], movement=1, probability=scenario.probability)

    def _level(self, mean: float) -> Level:
        values = self._random.standard_normal(self._scenario.history) + mean
        return Level.of(values)

    @property
    def running(self) -> int:
        """How many of its probes are under way."""
        return len(self._under_way)

    def start(self, devices: Sequence[str], now: float) -> list[tuple[PlannedProbe, float]]:
        """Return the probes to start, each on one of the free devices, with the hours that it takes."""
        if self.conclusion:
            return []
        started = []
        left = list(devices)
        for planned in plan(self._problem, self._observations, self._under_way, devices):
            probe = planned if planned.device else replace(planned, device=left[0])
            left.remove(probe.device)
            self._under_way.append(probe)
            started.append((probe, self._hours(probe)))
        if started and np.isnan(self.started):
            self.started = now
        return started

    def _hours(self, probe: PlannedProbe) -> float:
        build = 0.0 if probe.place in self._built else self._scenario.build_minutes
        self._built.add(probe.place)
        if probe.place in self._unbuildable:
            return build / 60
        return (build + self._scenario.probe_minutes) / 60

    def end(self, probes: Sequence[PlannedProbe], now: float) -> tuple[PlannedProbe, ...]:
        """Take the answers of probes that ended together, and return the probes under way that are not worth theirs."""
        for probe in probes:
            self._under_way.remove(probe)
            self.probes += 1
            if self._random.random() >= self._scenario.failure_rate:
                self._observe(probe)
        budget = Budget(probes=self._scenario.most_probes, spent_probes=self.probes)
        self.conclusion = conclude(self._problem, self._observations, budget)
        if self.conclusion:
            self.ended = now
        dropped = tuple(self._under_way) if self.conclusion else self._moot()
        for probe in dropped:
            self._under_way.remove(probe)
        return dropped

    def _moot(self) -> tuple[PlannedProbe, ...]:
        return moot(self._problem, self._observations, self._under_way) if self._under_way else ()

    def _observe(self, probe: PlannedProbe) -> None:
        if probe.place in self._unbuildable:
            self._problem = replace(self._problem, skipped=self._problem.skipped | {probe.place})
            return
        changes = sum(culprit <= probe.place for culprit in self.culprits)
        if self._scenario.error is None:
            value = self._scenario.delta * changes + float(self._random.standard_normal())
            value += self._other_work(probe.device, self._scenario.delta * changes)
            self._observations.append(Observation(probe.place, probe.device, value, purpose=probe.purpose))
            return
        wrong = bool(self._random.random() < self._scenario.error)
        passed = (changes == 0) != wrong
        self._observations.append(Observation(probe.place, probe.device, passed=passed, purpose=probe.purpose))

    def _other_work(self, device: str, level: float) -> float:
        """Return the rise of a value because of other work on the device."""
        scenario, random = self._scenario, self._random
        higher = 0.0
        if scenario.second_mode:
            if device not in self._in_second_mode or random.random() >= scenario.sticky:
                self._in_second_mode[device] = bool(random.random() < scenario.second_mode)
            higher += _MODE * self._in_second_mode[device]
        if scenario.bursts and random.random() < scenario.bursts:
            higher += float(random.uniform(*_BURST)) * (_LEVEL + level)
        return higher


_MOST_BATCHES: Final = 200_000


@dataclass(frozen=True, slots=True)
class _Measurement:
    """A measurement that the schedule asked for, or another part of the work; ``batch`` is None for that."""

    asked: float
    batch: Batch | None


@dataclass(slots=True)
class Played:
    """What was played.

    Attributes:
        bisections: those that ended, in order of their findings.
        at_once: hours from the arrival of a culprit to the end of its measurement, where no other commit is in
            question.
        waits: hours that each measurement of a new commit waited for a device, after the schedule asked for it.
        busy_hours: device hours of all probes until ``hours``.
        hours: when the last commit arrived.
    """

    bisections: list[VirtualBisection] = field(default_factory=list)
    at_once: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    busy_hours: float = 0.0
    hours: float = 0.0


_Job = _Measurement | tuple[VirtualBisection, PlannedProbe]


class _Pool:
    """The devices of a scenario, and what they do: a queue of events by time."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.now = 0.0
        self.played = Played()
        self.waiting: deque[_Measurement] = deque()
        self.active: list[VirtualBisection] = []
        self.free = [f"device-{number + 1}" for number in range(scenario.devices)]
        self._only_bisect = set(self.free[scenario.devices - scenario.reserved :])
        self._numbers = count()
        self._events: list[tuple[float, int, str, _Job | None]] = []
        self._dropped: set[int] = set()
        self._on_device: dict[str, tuple[int, float]] = {}
        self._random = np.random.default_rng((scenario.seed, 4))

    def ask(self, measurement: _Measurement) -> None:
        """Put a measurement into the future."""
        heapq.heappush(self._events, (measurement.asked, next(self._numbers), "", measurement))

    def begin(self, bisection: VirtualBisection) -> None:
        """Start a bisection now."""
        self.active.append(bisection)

    def run(self) -> None:
        """Play until nothing is left to happen; what happens at one time is seen together."""
        self._assign()
        while self._events:
            self.now = self._events[0][0]
            ended: dict[int, tuple[VirtualBisection, list[PlannedProbe]]] = {}
            while self._events and self._events[0][0] == self.now:
                _, number, device, job = heapq.heappop(self._events)
                if number in self._dropped:
                    self._dropped.discard(number)
                elif isinstance(job, tuple):
                    self._release(device)
                    ended.setdefault(job[0].number, (job[0], []))[1].append(job[1])
                elif job is not None:
                    self._take(device, job)
            for bisection, probes in ended.values():
                self._end(bisection, probes)
            self._assign()

    def _take(self, device: str, job: _Measurement) -> None:
        if not device:  # it was asked for now
            self.waiting.append(job)
            return
        self._release(device)
        if self._random.random() < self.scenario.failure_rate:
            self.waiting.appendleft(job)
        elif job.batch and job.batch.culprits:
            self._find(job.batch)

    def _find(self, batch: Batch) -> None:
        """Begin the bisection of a batch that holds a culprit; a batch of one commit needs none."""
        changed = batch.arrived[batch.culprits[0] - 1]
        if len(batch.arrived) == 1:
            self.played.at_once.append(self.now - changed)
            return
        number = len(self.played.bisections) + len(self.active)
        self.begin(
            VirtualBisection(self.scenario, number, len(batch.arrived), batch.culprits, found=self.now, changed=changed)
        )

    def _end(self, bisection: VirtualBisection, probes: list[PlannedProbe]) -> None:
        for dropped in bisection.end(probes, self.now):
            self._dropped.add(self._on_device[dropped.device][0])
            self._release(dropped.device)
        if bisection.conclusion:
            self.active.remove(bisection)
            self.played.bisections.append(bisection)

    def _release(self, device: str) -> None:
        _, since = self._on_device.pop(device)
        if since < self.played.hours:
            self.played.busy_hours += min(self.now, self.played.hours) - since
        self.free.append(device)
        self.free.sort(key=lambda name: int(name.rpartition("-")[2]))

    def _start(self, device: str, job: _Job, hours: float) -> None:
        self.free.remove(device)
        number = next(self._numbers)
        self._on_device[device] = (number, self.now)
        heapq.heappush(self._events, (self.now + hours, number, device, job))

    def _assign(self) -> None:
        """Give free devices to new commits first, those that arrived first, then to bisections in equal shares."""
        takers = [device for device in self.free if device not in self._only_bisect]
        for device, job in zip(takers, list(self.waiting), strict=False):
            self.waiting.popleft()
            if job.batch:
                self.played.waits.append(self.now - job.asked)
            self._start(device, job, (self.scenario.probe_minutes + self.scenario.build_minutes) / 60)
        for bisection, devices in _shares(self.active, self.free):
            self._start_probes(bisection, devices)
        for bisection in self.active:  # what the shares of others left
            if self.free:
                self._start_probes(bisection, self.free)

    def _start_probes(self, bisection: VirtualBisection, devices: Sequence[str]) -> None:
        for probe, hours in bisection.start(tuple(devices), self.now):
            self._start(probe.device, (bisection, probe), hours)


def _shares(active: Sequence[VirtualBisection], free: Sequence[str]) -> Iterator[tuple[VirtualBisection, list[str]]]:
    """Divide free devices so that all bisections have equally many, the older ones first where that does not go up."""
    share: dict[int, list[str]] = {bisection.number: [] for bisection in active}
    for device in free:
        if active:
            least = min(active, key=lambda each: (each.running + len(share[each.number]), each.found, each.number))
            share[least.number].append(device)
    yield from [(bisection, share[bisection.number]) for bisection in active if share[bisection.number]]


def play(scenario: Scenario) -> Played:
    """Play the arrival of commits until the scenario has its number of findings, and then to the end of all work."""
    pool = _Pool(scenario)
    findings = 0
    for batch in islice(batches(scenario), _MOST_BATCHES):
        pool.ask(_Measurement(batch.asked, batch))
        pool.played.hours = batch.asked
        findings += bool(batch.culprits)
        if findings >= scenario.bisections:
            break
    for hour in other_probes(scenario):
        if hour > pool.played.hours:
            break
        pool.ask(_Measurement(hour, None))
    pool.run()
    return pool.played


def play_alone(scenario: Scenario, candidates: int) -> Played:
    """Play bisections of ``candidates`` commits one after the other, each alone on the whole pool."""
    random = np.random.default_rng((scenario.seed, 5))
    together = Played()
    for number in range(scenario.bisections):
        culprit = 1 + int(random.integers(candidates))
        pool = _Pool(scenario)
        pool.played.hours = float("inf")
        pool.begin(VirtualBisection(scenario, number, candidates, [culprit], found=0.0, changed=0.0))
        pool.run()
        together.bisections += pool.played.bisections
        together.busy_hours += pool.played.busy_hours
        together.hours += pool.now
    return together


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
