"""Measure one commit in several ways in turns, to calibrate comparisons on this machine."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

import numpy as np

from knickpoint.bisect.comparison.calibration import (
    AGAIN,
    BASE,
    BUILDS,
    ENVIRONMENT,
    LARGE,
    LARGE_SHARE,
    PLANTED,
    Calibration,
)
from knickpoint.bisect.comparison.comparison import (
    ComparisonRequest,
    SideFailedError,
    SideSkippedError,
    duration_text,
    is_measured,
    measured_values,
)
from knickpoint.bisect.job import BUILD_VARIABLE, ProbeJob, Variation
from knickpoint.bisect.runner import Workspace, run_probe
from knickpoint.bisect.runner.machine_slots import machine_slot
from knickpoint.bisect.runner.planting import planting_command
from knickpoint.model.bisection import ProbeResult, Target
from knickpoint.model.plain_text import counted

_LARGE_ROUNDS: Final = 4
"""Rounds in which the large slow-down is planted, too."""

_MOST_ROUNDS: Final = 100
_MOST_FAILURES: Final = 5
_PADDING: Final = 4096
"""Bytes that the environment grows by at most; more than a page, so that the stack moves within it."""


class Plant(Enum):
    """How a slow-down is planted, with what that is honest for."""

    PAUSE = "pause"
    REPEAT = "repeat"
    VARIABLE = "variable"

    @property
    def sentence(self) -> str:
        """What was done, in one sentence."""
        return {
            Plant.PAUSE: (
                "the processes of the command were stopped for this share of their time, which the clock sees as work, "
                "and which processor times, counts, and the least or middle one of many short iterations do not see"
            ),
            Plant.REPEAT: "the first part of the command was run once more",
            Plant.VARIABLE: "KNICKPOINT_PLANT told the command which share of its work to repeat",
        }[self]


@dataclass
class CalibrationRun:
    """Builds a commit several times, and measures it in all ways in turns, in random order.

    ``request`` names the commit as its base, and the minutes. ``builds`` are made, the first one for all ways but those
    of other builds. ``progress`` is called with a line for each round.
    """

    request: ComparisonRequest
    calibration: Calibration
    workspace: Workspace
    device: str
    plant: Plant = Plant.PAUSE
    builds: int = 3
    progress: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    _probes: int = 0
    _failures: int = 0
    _seconds: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Measure until the minutes are used up.

        Raises:
            SideFailedError: the commit cannot be built or measured.
        """
        rng = random.Random(self.request.rules.seed)  # noqa: S311 - the order of measurements, no secret
        with machine_slot(self.workspace.directory, waits=lambda: self.progress("waits for another program")):
            for number in range(1, self.builds + 1):
                self.progress(f"build {number} of {self.builds}")
                self._check(self._measure(str(number), Variation(self._prefix(0.0))))
        began = self.clock()
        while len(self.calibration.measured) < _MOST_ROUNDS:
            with machine_slot(self.workspace.directory, waits=lambda: self.progress("waits for another program")):
                self._round(rng)
            count, passed = len(self.calibration.measured), self.clock() - began
            left = 60 * self.request.minutes - passed
            self.progress(f"{counted(count, 'round')}, {duration_text(max(0.0, left))} left")
            if left < passed / max(1, count):
                return

    def _round(self, rng: random.Random) -> None:
        ways = list(self._ways(rng))
        rng.shuffle(ways)
        sides = {}
        for name, build, variation in ways:
            result = self._measure(build, variation)
            if is_measured(result):
                sides[name] = measured_values(result)
                if name == BASE:
                    self._seconds += result.command_seconds
                    self._note_samples(result)
            else:
                self._failures += 1
                self.progress(f"{name}: no values: {result.reason}")
                if self._failures >= _MOST_FAILURES:
                    self._check(result)
        self.calibration.add(sides)

    def _ways(self, rng: random.Random) -> Iterator[tuple[str, str, Variation]]:
        """Yield the ways of measuring: name, build, and what is varied."""
        plain = Variation(self._prefix(0.0))
        yield BASE, "1", plain
        yield AGAIN, "1", plain
        yield ENVIRONMENT, "1", replace(plain, environment={"KNICKPOINT_PADDING": "x" * rng.randrange(_PADDING)})
        for number in range(2, self.builds + 1):
            yield f"{BUILDS}{number}", str(number), plain
        yield PLANTED, "1", self._planted(self.calibration.planted)
        if len(self.calibration.measured) < _LARGE_ROUNDS:
            yield LARGE, "1", self._planted(LARGE_SHARE)

    def _planted(self, share: float) -> Variation:
        if self.plant is Plant.VARIABLE:
            return Variation(environment={"KNICKPOINT_PLANT": f"{share:g}"})
        return Variation(self._prefix(share))

    def _prefix(self, share: float) -> tuple[str, ...]:
        """Start the command by the program that plants, which plants nothing where ``share`` is 0: all start alike."""
        if self.plant is Plant.VARIABLE:
            return ()
        seconds = statistics.median(self._seconds) if self._seconds else 0.0
        return planting_command(self.plant.value, share * seconds if self.plant is Plant.REPEAT else share)

    def _measure(self, build: str, variation: Variation) -> ProbeResult:
        request, self._probes = self.request, self._probes + 1
        recipe = replace(request.recipe, environment={**request.recipe.environment, BUILD_VARIABLE: build})
        job = ProbeJob(
            f"calibrate-{self._probes}",
            Target(request.base),
            recipe,
            {"": request.location},
            "calibrate",
            ingest=request.ingest,
            added_params=request.added_params,
        )
        result = run_probe(job, self.workspace, self.device, variation=variation)
        if is_measured(result) and not self._seconds:
            self._seconds += result.command_seconds
        return result

    def _note_samples(self, result: ProbeResult) -> None:
        """Note the noise of the samples within a run."""
        for trace, measured in result.measured.items():
            values = np.array(measured.samples, dtype=np.float64)
            middle = abs(float(np.median(values)))
            if len(values) > 1 and middle:
                noise = 1.4826 * float(np.median(np.abs(values - np.median(values)))) / middle
                self.calibration.within.setdefault(trace, []).append(noise)

    def _check(self, result: ProbeResult) -> None:
        if not is_measured(result):
            failed: type[SideFailedError] = SideSkippedError if result.declined else SideFailedError
            raise failed(f"the commit cannot be measured: {result.reason}", where=result.target.commit[:12])
