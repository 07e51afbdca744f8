"""What the store keeps of a bisection: the request, the state, the answer, the probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.bisection import BisectionState, ProbePurpose, ProbeResult, ResultsFile, Target
from knickpoint.model.change_point import SuspectRange

__all__ = [
    "BisectionAnswer",
    "BisectionRequest",
    "JournalProbe",
    "LogLine",
    "ProbeValue",
    "StoredBisection",
    "StoredPosterior",
    "WaitingResults",
]


@dataclass(frozen=True, slots=True)
class BisectionRequest:
    """What is to be searched.

    ``slots`` are those of the places, from the good end to the bad end. ``change_id`` and ``trace_id`` are 0, and
    ``trace_key`` is "", where it is not about one. ``facts`` is what the search knows before it measures, as JSON values:
    the levels, the movement, the budget. ``by_rule`` says that no person asked for it.
    """

    repository_id: int
    line: str
    slots: tuple[int, ...]
    recipe: str
    digest: str
    who: str
    asked: datetime
    change_id: int = 0
    trace_id: int = 0
    trace_key: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)
    by_rule: bool = False

    @property
    def suspect_range(self) -> SuspectRange:
        """The range that is searched."""
        return SuspectRange(self.line, self.slots[0], self.slots[-1])


@dataclass(frozen=True, slots=True)
class StoredPosterior:
    """What is known so far: the probability of each candidate (the places from 1 on), of none of them, and of several.

    ``marginal`` is the probability of each candidate to be a culprit, alone or with others.
    """

    single: NDArray[np.float64]
    none: float
    several: float
    marginal: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BisectionAnswer:
    """How a bisection ended.

    ``culprits`` are the slots of the commits that made the change, empty where none was found. ``suspect_range`` is where
    the change must lie, None where nothing was found. ``probability`` is that of what is stated.
    """

    state: BisectionState
    reason: str
    culprits: tuple[int, ...] = ()
    suspect_range: SuspectRange | None = None
    probability: float = 0.0


@dataclass(frozen=True, slots=True)
class StoredBisection:
    """A bisection in the store.

    ``devices`` are the machines that take its probes. ``seconds_left`` is an estimate, None where there is none.
    ``holder`` is the worker that coordinates it, until ``lease``. ``stopped_by`` is who asked to stop it, "" without.
    ``edition`` grows with each change.
    """

    id: int
    request: BisectionRequest
    state: BisectionState
    answer: BisectionAnswer
    started: datetime | None
    ended: datetime | None
    posterior: StoredPosterior | None
    devices: tuple[str, ...]
    seconds_left: float | None
    holder: str
    lease: datetime
    stopped_by: str
    edition: int

    @property
    def name(self) -> str:
        """The id as people write it, as in ``B12``."""
        return f"B{self.id}"

    @property
    def stopping(self) -> bool:
        """Whether a person stopped it, and its worker has not ended it yet."""
        return bool(self.stopped_by) and not self.state.ended


@dataclass(frozen=True, slots=True)
class JournalProbe:
    """A probe that a bisection asked for: its name and number, its place, and its result, None until it ended."""

    name: str
    number: int
    place: int
    device: str
    purpose: ProbePurpose
    target: Target
    begun: datetime
    result: ProbeResult | None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the log of a bisection."""

    time: datetime
    text: str


@dataclass(frozen=True, slots=True)
class WaitingResults:
    """Results files of a probe that are not imported yet.

    ``identity`` is that of the run which they become. ``pins`` are the commits of the other repositories, and
    ``bisections`` the names of the bisections that it serves.
    """

    probe_id: int
    repository_id: int
    identity: str
    slot: int
    device: str
    started: datetime
    pins: tuple[tuple[str, str], ...]
    bisections: Sequence[str]
    files: tuple[ResultsFile, ...]


@dataclass(frozen=True, slots=True)
class ProbeValue:
    """What a probe measured of the trace that its bisections follow, in the unit of its results.

    ``run`` is the name of the run that its results become, and ``bisections`` are the ids of those that it served.
    """

    slot: int
    run: str
    device: str
    started: datetime
    value: float
    unit: str
    bisections: tuple[int, ...]
