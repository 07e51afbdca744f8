"""What a search knows before and while it measures: candidates, priors, levels, observations; what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.bisection import ProbePurpose
from knickpoint.model.distribution import MAD
from knickpoint.model.posterior import Posterior

_FAR: Final = 5.0
"""A value of the history is an outlier beyond this distance from their median, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Level:
    """What is known of one level from its history: mean, standard deviation of single values, number of values.

    ``count`` 0 says that nothing is known; then the other numbers mean nothing. The deviation is that of the values
    without outliers: a search expects these besides.
    """

    mean: float = 0.0
    deviation: float = 0.0
    count: int = 0

    @classmethod
    def of(cls, values: Sequence[float] | NDArray[np.float64]) -> Self:
        """Return the level of a history from its values without outliers; fewer than two say nothing."""
        array = np.asarray(values, dtype=np.float64)
        if len(array) < 2:
            return cls()
        distance = np.abs(array - np.median(array))
        reach = _FAR * MAD * float(np.median(distance))
        kept = array[distance <= reach] if reach > 0 else array
        return cls(float(kept.mean()), float(kept.std(ddof=1)), len(kept))


@dataclass(frozen=True, slots=True)
class Problem:
    """A range of commits with a change in it.

    Places are numbered from 0, the good end, to ``candidates``, the bad end; candidate ``c`` (1 to ``candidates``) is
    the commit at place ``c``: with it the change begins. ``prior`` has the probability of each candidate
    (``candidates`` numbers, at place c - 1, which sum to 1, with a floor so that evidence always wins); None is
    uniform. ``none`` is the prior probability that no commit of the range made the change. ``several`` is that of more
    than one change in the range. ``before`` and ``after`` are the levels of the history; ``same_machine`` says that the
    devices of the search measured it, so that it has no offset against them. ``movement`` is +1, -1, or 0 where either
    is possible. ``error`` is set where probes pass or fail: the probability of a wrong answer, None where probes
    measure values and 0 where answers are exact. ``unknown_error`` says that ``error`` is a guess, so that it is
    estimated. ``skipped`` are the places that cannot be measured. ``costs`` are relative costs of a probe at each place
    (``candidates`` + 1 numbers), None where all cost the same. ``probability`` is what the culprit has to reach.
    ``least`` is the size of the least change in question, relative to the level of the good end; 0 is half that of the
    history, or without one the noise of a probe.
    """

    candidates: int
    prior: NDArray[np.float64] | None = None
    none: float = 0.2
    several: float = 0.05
    before: Level = Level()
    after: Level = Level()
    movement: int = 0
    error: float | None = None
    unknown_error: bool = False
    skipped: frozenset[int] = frozenset()
    costs: NDArray[np.float64] | None = None
    probability: float = 0.95
    same_machine: bool = False
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """One probe that ended with an answer: its place and device, and a value, or whether it passed."""

    place: int
    device: str
    value: float = float("nan")
    passed: bool | None = None
    purpose: ProbePurpose = ProbePurpose.SEARCH


@dataclass(frozen=True, slots=True)
class PlannedProbe:
    """A probe to make next: its place, the device that should make it ("" for any), and why."""

    place: int
    device: str = ""
    purpose: ProbePurpose = ProbePurpose.SEARCH


class ConclusionKind(Enum):
    """How a search ended."""

    CULPRIT = "culprit"
    RANGE = "range"
    SEVERAL = "several"
    NOT_REPRODUCIBLE = "not reproducible"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The end of a search: the places of the culprits, how sure they are, and the places that stay open.

    ``places`` has one place for a culprit, the candidates that are left for a range, a place for each change where
    several are found. ``probability`` is that of what is stated. ``open`` says in words what is not decided, "" for
    nothing.
    """

    kind: ConclusionKind
    places: tuple[int, ...]
    probability: float
    posterior: Posterior
    open: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a search may spend; 0 has no limit. ``spent`` are probes and seconds so far."""

    probes: int = 0
    seconds: float = 0.0
    spent_probes: int = 0
    spent_seconds: float = 0.0
