"""Turn a model of steps and slow changes into findings: each with its size, its interval, and its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.patterns.pattern import Subject
from knickpoint.detect.steps import build_estimated_step, stable_region, stable_regions
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Check, SizeEstimate, Step

OVER_LOWEST: Final = "its end over the lowest level before it"
OVER_HIGHEST: Final = "its end over the highest level before it"
"""Names of the evidence of a drift that compares it with the best level so far."""

_QUANTILE: Final = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Found:
    """A finding among measured values.

    ``first`` is the first value that it moved, ``last`` the last value of a drift, and that before the next finding for
    a step. Both are indices of measured values.
    """

    kind: FindingKind
    first: int
    last: int
    estimate: SizeEstimate
    score: float
    evidence: tuple[Check, ...]


def estimate_size(before: float, size: float, error: float, *, slope: float, deviation: float) -> SizeEstimate:
    """Return the estimate of a change by ``size`` from the level ``before``, with its standard ``error``."""
    sign = NormalDist().cdf(abs(size) / error) if error > 0 else 1.0
    reach = _QUANTILE * error
    return SizeEstimate(before, before + size, size - reach, size + reach, sign, slope, deviation)


def interval_checks(estimate: SizeEstimate) -> tuple[Check, ...]:
    """Return the interval of a size and the chance of its sign as evidence."""
    return (
        Check("size, at least (95 %)", estimate.low),
        Check("size, at most (95 %)", estimate.high),
        Check("chance that the sign is right", estimate.sign),
    )


def reference_checks(levels: NDArray[np.float64], end: float) -> tuple[Check, ...]:
    """Return the distances of the level at the ``end`` of a drift from the lowest and highest of ``levels`` before.

    One of the two is the best level so far; which one depends on what is measured.
    """
    bounds = ((OVER_LOWEST, float(levels.min())), (OVER_HIGHEST, float(levels.max())))
    return tuple(Check(name, (end - level) / abs(level)) for name, level in bounds if level)


def build_findings(subject: Subject, found: Sequence[Found], *, method: str) -> tuple[Step, ...]:
    """Build the findings of ``subject``, sorted by index; the strongest has the order 0.

    A finding that begins where another does begins one value later.
    """
    rows, size = subject.series.rows, subject.series.values.size
    places = _free_places(found, size)
    ends = {each.last + 1 for each in places.values() if each.kind is FindingKind.DRIFT and each.last + 1 < size}
    bounds = sorted({0, *places, *ends})
    regions = stable_regions(subject.values, [*rows[bounds].tolist(), subject.values.size])
    sides = dict(zip(bounds[1:], pairwise(regions), strict=True))
    orders = {place: order for order, place in enumerate(sorted(places, key=lambda place: -places[place].score))}
    steps = []
    for place, each in sorted(places.items()):
        before, after = sides[place]
        if each.kind is FindingKind.DRIFT:
            after = stable_region(subject.values, int(rows[place]), int(rows[max(place, each.last)]))
        step = build_estimated_step(
            before,
            after,
            each.estimate,
            kind=each.kind,
            score=each.score,
            order=orders[place],
            method=method,
            evidence=each.evidence,
        )
        steps.append(step)
    return tuple(steps)


def _free_places(found: Sequence[Found], size: int) -> Mapping[int, Found]:
    """Return the findings by the value that they begin at: steps first, drifts at the next value that is free."""
    places: dict[int, Found] = {}
    for each in sorted(found, key=lambda each: (each.kind is not FindingKind.STEP, each.first)):
        place = next((place for place in range(each.first, size) if place not in places), None)
        if place is not None:
            places[place] = each
    return places
