"""One bisection in virtual time: the real search, with drawn answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from knickpoint.bisect.search import conclude, moot, plan
from knickpoint.bisect.search.problem import Budget, Conclusion, Level, Observation, PlannedProbe, Problem
from knickpoint.bisect.simulation.scenario import Scenario

__all__ = ["VirtualBisection"]

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
        """Return how much higher a value is because of what else a device does."""
        scenario, random = self._scenario, self._random
        higher = 0.0
        if scenario.second_mode:
            if device not in self._in_second_mode or random.random() >= scenario.sticky:
                self._in_second_mode[device] = bool(random.random() < scenario.second_mode)
            higher += _MODE * self._in_second_mode[device]
        if scenario.bursts and random.random() < scenario.bursts:
            higher += float(random.uniform(*_BURST)) * (_LEVEL + level)
        return higher
