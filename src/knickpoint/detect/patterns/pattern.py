"""What recognises a pattern: a function from a searched series to what replaces its steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries
from knickpoint.model.step import Candidate, Flipping, Step


class SearchedPlaces(NamedTuple):
    """The first values of the levels after each step, and how many candidates the search had for these."""

    places: tuple[int, ...]
    candidates: int


class StepSearch(Protocol):
    """A search by a method with its settings, in other ``measured`` values (contiguous) of the same rows."""

    def steps(self, measured: NDArray[np.float64]) -> tuple[Step, ...]:
        """Return the steps."""

    def places(self, measured: NDArray[np.float64], smallest: float) -> SearchedPlaces:
        """Return the measured values that the levels begin with after steps larger than ``smallest``."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A series in which a method has found steps.

    Attributes:
        values: the whole series, 1-D, ``nan`` for missing.
        series: its measured values.
        steps: what the method found, sorted by index; their indices are rows of ``values``.
        noise: robust standard deviation of single values around the levels, 0 where there is none or it is unknown.
        autocorrelation: that of the noise at lag 1.
        two_levels: whether the values may lie around two levels, whatever their order.
        search: finds the steps in other measured values of the same rows, by the method with its settings.
    """

    values: NDArray[np.float64]
    series: MeasuredSeries
    steps: tuple[Step, ...]
    noise: float
    autocorrelation: float
    two_levels: bool
    search: StepSearch


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a series is found to follow.

    Attributes:
        steps: all findings of the series, sorted by index: they replace those of the subject.
        facts: numbers about the pattern, by name, for the facts of the detection.
        reason: why steps that are not among ``steps`` are not findings, in plain words.
        flipping: the stretches in which the series flips between levels.
    """

    steps: tuple[Step, ...]
    facts: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    flipping: tuple[Flipping, ...] = ()


Recogniser = Callable[[Subject], Pattern | None]
"""Returns what a series is found to follow, None where it does not follow the pattern."""


def recognise(subject: Subject, recognisers: Iterable[Recogniser]) -> Pattern:
    """Return the finding of the first of ``recognisers`` that applies; the steps as they are if none applies."""
    found = (recogniser(subject) for recogniser in recognisers)
    return next((pattern for pattern in found if pattern is not None), Pattern(subject.steps))


def candidates_after(pattern: Pattern, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the ``candidates`` of the search with the decisions of ``pattern``, sorted by index.

    What the pattern explains is no longer accepted, and its findings that were not candidates become some.
    """
    kept = {step.index: step for step in pattern.steps}
    listed = []
    for candidate in candidates:
        step = kept.get(candidate.index)
        if candidate.accepted and step is None:
            listed.append(replace(candidate, accepted=False, reason=pattern.reason))
        elif step is None or (candidate.accepted and step.evidence == candidate.checks):
            listed.append(candidate)
    known = {candidate.index for candidate in listed if candidate.accepted}
    added = [
        Candidate(step.index, accepted=True, checks=step.evidence) for index, step in kept.items() if index not in known
    ]
    return tuple(sorted([*listed, *added], key=lambda candidate: candidate.index))


# Find the place where the mean of scores shifts most, and the chance of a shift as large: what searches for lasting
# changes of the noise share.
#
# The largest standardised sum over all places is compared with its distribution: Miller and Siegmund, "Maximally
# selected chi square statistics", Biometrics 38 (1982), and for several scores at once James, James and Siegmund,
# "Tests for a change-point", Biometrika 74 (1987).


SHORTEST: Final = 20
"""Values on either side of a change of the noise: the noise of fewer is hardly known."""

_MOST_SHARED: Final = 0.8
"""The largest autocorrelation that is believed."""

Floats = NDArray[np.float64]


def middle_ranks(values: Floats) -> Floats:
    """Return the rank of each value, from 0 on; equal values share the middle of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts + 1) / 2)[inverse]


def largest_shift(scores: Floats) -> tuple[int, float]:
    """Return the place before which the sum of ``scores`` (mean 0, sum of squares n) is furthest from 0, and how far.

    Its distance is in standard errors, positive where the earlier scores are larger.
    """
    sums = standard_sums(scores)
    best = int(np.argmax(np.abs(sums)))
    return SHORTEST + best, float(sums[best])


def standard_sums(scores: Floats) -> Floats:
    """Return the sum of ``scores`` before each place with ``SHORTEST`` values on either side, standardised.

    Neighbours that resemble each other say less.
    """
    count = scores.size
    places = np.arange(SHORTEST, count - SHORTEST + 1)
    sums = np.cumsum(scores)[places - 1] / np.sqrt(places * (count - places) / count)
    phi = autocorrelation_around(scores, int(places[np.argmax(np.abs(sums))]))
    return np.asarray(sums * math.sqrt((1 - phi) / (1 + phi)))


def autocorrelation_around(scores: Floats, place: int) -> float:
    """Return the autocorrelation at lag 1 without a shift before ``place``, so that the shift does not count itself."""
    left = np.concatenate([part - part.mean() for part in (scores[:place], scores[place:])])
    squares = float(np.square(left).sum())
    if squares <= 0:
        return _MOST_SHARED
    return float(np.clip((left[1:] * left[:-1]).sum() / squares + 1 / scores.size, 0.0, _MOST_SHARED))


def chance_of_largest(z: float, edge: float, components: int = 1) -> float:
    """Return the chance that the largest score of all places but ``edge`` at either end reaches ``z``.

    A score is the length of a vector of ``components`` independent standard normal numbers.
    """
    square = z * z
    if square <= components:
        return 1.0
    density = z**components * math.exp(-square / 2) / (2 ** (components / 2) * math.gamma(components / 2))
    return min(1.0, density * (4 / square + (1 - components / square) * 2 * math.log((1 - edge) / edge)))
