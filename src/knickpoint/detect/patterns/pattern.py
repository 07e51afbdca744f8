"""What recognises a pattern: a function from a searched series to what replaces its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries
from knickpoint.model.step import Candidate, Flipping, Step

__all__ = ["Pattern", "Recogniser", "Subject", "candidates_after", "recognise"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A series in which a method has found steps.

    Attributes:
        values: the whole series, 1-D, ``nan`` for missing.
        series: its measured values.
        steps: what the method found, sorted by index; their indices are rows of ``values``.
        noise: robust standard deviation of single values around the levels, 0 where there is none or it is unknown.
        autocorrelation: that of the noise at lag 1.
        search: finds the steps in other measured values of the same rows, by the method with its settings.
    """

    values: NDArray[np.float64]
    series: MeasuredSeries
    steps: tuple[Step, ...]
    noise: float
    autocorrelation: float
    search: Callable[[NDArray[np.float64]], tuple[Step, ...]]


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a series is found to follow.

    Attributes:
        steps: all findings of the series, sorted by index: they replace those of the subject.
        facts: numbers about the pattern, by name, for the facts of the detection.
        reason: why steps that are not among ``steps`` are no findings, in plain words.
        flipping: the stretches in which the series flips between levels.
    """

    steps: tuple[Step, ...]
    facts: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    flipping: tuple[Flipping, ...] = ()


Recogniser = Callable[[Subject], Pattern | None]
"""Returns what a series is found to follow, None where it does not follow the pattern."""


def recognise(subject: Subject, recognisers: Iterable[Recogniser]) -> Pattern:
    """Return what the first of ``recognisers`` that applies finds; the steps as they are where none applies."""
    found = (recogniser(subject) for recogniser in recognisers)
    return next((pattern for pattern in found if pattern is not None), Pattern(subject.steps))


def candidates_after(pattern: Pattern, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the ``candidates`` of the search with the decisions of ``pattern``, sorted by index.

    What the pattern explains is no longer accepted, and its findings that were no candidates become some.
    """
    kept = {step.index: step for step in pattern.steps}
    listed = []
    for candidate in candidates:
        if candidate.accepted and candidate.index not in kept:
            listed.append(replace(candidate, accepted=False, reason=pattern.reason))
        elif not candidate.accepted or kept[candidate.index].evidence == candidate.checks:
            listed.append(candidate)
    known = {candidate.index for candidate in listed if candidate.accepted}
    added = [
        Candidate(step.index, accepted=True, checks=step.evidence) for index, step in kept.items() if index not in known
    ]
    return tuple(sorted([*listed, *added], key=lambda candidate: candidate.index))
