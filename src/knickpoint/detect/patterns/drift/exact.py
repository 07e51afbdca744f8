"""Recognise steps and drifts of exact values: sizes and counts that have no noise, so every change of them is real.

Each change is compared with the usual changes of the series. Unusual ones are steps. The others are summed, and what
they move in one direction is a drift where the sum is large enough. See ``docs/decisions/default-method-shapes.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.patterns.drift.findings import (
    Found,
    build_findings,
    estimate_size,
    interval_checks,
    reference_checks,
)
from knickpoint.detect.patterns.pattern import Pattern, Subject
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Check
from knickpoint.native.regions import describe_regions, median_of

Floats = NDArray[np.float64]

_FEWEST: Final = 8
"""Changes that define what is usual; with fewer, none is unusual."""

_RETURNS: Final = -0.15
_RARE_RETURNS: Final = -0.35
"""Autocorrelation of changes below which they are noise around a level: that of independent noise is -0.5.

Where most commits change nothing, some of the few changes are undone.
"""

_LEVEL_LENGTH: Final = 15
"""Values for each level that is allowed when the values are compared with noise around levels; two levels at least."""

_NOISY: Final = 0.25
"""Squares of changes over twice the squares within levels from which values are noise around these levels.

For independent noise it is 1, for noise with an autocorrelation of 0.5 it is 0.5. Values whose changes add up move away
from any level, so that it is about three divided by the length of a level.
"""

_LARGEST_WHOLE: Final = 2.0**53
"""Whole numbers up to here are floats without rounding."""

_UNUSUAL: Final = 2.5
"""An unusual change is as far above the largest tenth as that is above the median, so many times, on a scale of ratios.

This is 3.2 standard deviations where the logarithms of the changes are normal.
"""

_LEAST_RATIO: Final = 4.0
"""How many times the median change an unusual one is at least."""

_LARGE_SHARE: Final = 0.25
"""Share of the median value from which a change is unusual, if it is also :data:`_LEAST_RATIO` times the median change.

Where steps are a tenth of all changes, the largest tenth says nothing of what is usual.
"""

_WANDERING: Final = 2.0
"""A drift moves the level further than the square root of the count of changes times their deviation, so many times."""


@dataclass(frozen=True, slots=True)
class _Changes:
    """The changes of exact values from each value to the next, split by what is usual.

    ``sizes`` are all changes, ``bound`` the largest usual one. ``unusual`` marks those beyond. ``rare`` says that most
    commits change nothing, and most others lead to values that were not there before, unlike rounded noise.
    """

    sizes: Floats
    bound: float
    rare: bool
    unusual: NDArray[np.bool_]


def recognise_exact(subject: Subject, effect: float) -> Pattern | None:
    """Return the findings of exact values, None where they are not exact, change too seldom, or are rounded noise.

    ``effect`` is the share of the level that usual changes move it by until they are a drift.
    """
    values = subject.series.values
    changes = _changes_of(values)
    if changes is None or not (changes.rare or _adds_up(subject)):
        return None
    usual = np.append(0.0, np.cumsum(np.where(changes.unusual, 0.0, changes.sizes)))
    steps = _steps(subject, values - usual, changes)
    drifts = _drifts(subject, values, usual, changes, effect)
    facts = {
        "exact values: median change": median_of(np.abs(changes.sizes[changes.sizes != 0])),
        "exact values: largest usual change": changes.bound,
        "exact values: changes": float(np.count_nonzero(changes.sizes)),
    }
    reason = f"the values are exact, and changes up to {changes.bound:g} are usual"
    return Pattern(build_findings(subject, [*steps, *drifts], method="default"), facts, reason)


def _changes_of(values: Floats) -> _Changes | None:
    """Return the changes of exact values, None where the values are not whole, or return to a level as noise does."""
    if values.size <= _FEWEST or not float(values[0]).is_integer() or not (values == np.rint(values)).all():
        return None
    if np.abs(values).max() > _LARGEST_WHOLE:
        return None
    sizes = np.diff(values)
    known = sizes[sizes != 0]
    if known.size < _FEWEST:
        return None
    magnitudes = np.sort(np.abs(known)).tolist()
    middle, large = (_quantile(magnitudes, share) for share in (0.5, 0.9))
    clipped = np.clip(known, -large, large)
    rare = 2 * known.size <= sizes.size and 2 * np.unique(values).size >= known.size
    if float(clipped[1:] @ clipped[:-1]) <= (_RARE_RETURNS if rare else _RETURNS) * float(clipped @ clipped):
        return None
    large_share = _LARGE_SHARE * median_of(np.abs(values))
    bound = max(_LEAST_RATIO * middle, min(middle * (large / middle) ** _UNUSUAL, large_share))
    return _Changes(sizes, bound, rare, np.abs(sizes) > bound)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile of ascending numbers, in proportion between two of them."""
    place = share * (len(ordered) - 1)
    below = int(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    part = place - below
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def _adds_up(subject: Subject) -> bool:
    """Return True if changes that add up explain the values better than levels between the strongest steps.

    A few changes of noise may happen not to return, and those of noise that neighbours share return late: where noisy
    values are whole, such as nanoseconds, their changes alone do not tell (von Neumann's ratio, 1941, within levels).
    """
    values = subject.series.values
    most = max(1, values.size // _LEVEL_LENGTH)
    strongest = sorted(subject.steps, key=lambda step: step.order)[:most]
    places = np.searchsorted(subject.series.rows, sorted(step.index for step in strongest)).tolist()
    levels = describe_regions(values, [0, *places, values.size])
    within = sum(level.variance * (level.measured - 1) for level in levels if level is not None)
    changes = np.diff(values)
    changes[[place - 1 for place in places]] = 0.0
    return float(changes @ changes) <= _NOISY * 2 * within


def _steps(subject: Subject, jumping: Floats, changes: _Changes) -> list[Found]:
    """Return the steps of the values without their usual changes; their sizes have no error."""
    if not changes.unusual.any():
        return []
    found = []
    for step in subject.search.steps(jumping):
        place = int(np.searchsorted(subject.series.rows, step.index))
        jump = float(jumping[place] - jumping[place - 1])
        if not jump:
            continue
        estimate = estimate_size(float(subject.series.values[place - 1]), jump, 0.0, slope=0.0, deviation=0.0)
        unusual = Check("change by itself, and the largest usual one", abs(jump), ">", changes.bound, passed=True)
        evidence = (unusual, *step.evidence, *interval_checks(estimate))
        found.append(Found(FindingKind.STEP, place, place, estimate, step.score, evidence))
    return found


def _drifts(subject: Subject, values: Floats, usual: Floats, changes: _Changes, effect: float) -> list[Found]:
    """Return the stretches where usual changes add up to more than ``effect`` of the level, and than chance makes."""
    sizes = np.diff(usual)
    deviation = float(sizes.std())
    chance = _WANDERING * deviation * math.sqrt(sizes.size)
    rows = subject.series.rows
    found = []
    for start, end in _legs(usual, max(chance, effect * abs(median_of(values)), math.ulp(0.0))):
        before, size = float(values[start]), float(usual[end] - usual[start])
        relative = abs(size / before) if before else math.inf
        if relative < effect:
            continue
        commits = int(rows[end] - rows[start])
        estimate = estimate_size(before, size, 0.0, slope=size / (end - start), deviation=0.0)
        reach = 1.96 * deviation * math.sqrt(end - start) / commits
        evidence = (
            Check("drift over the level before it", relative, ">=", effect, passed=True),
            Check("sum of the usual changes", abs(size), ">", chance, passed=True),
            Check("commits from its start to its end", commits),
            Check("slope a commit", size / commits),
            Check("slope a commit, at least (95 %)", size / commits - reach),
            Check("slope a commit, at most (95 %)", size / commits + reach),
            *interval_checks(estimate),
            *reference_checks(values[: start + 1], estimate.after),
            Check("largest usual change", changes.bound),
        )
        found.append(
            Found(FindingKind.DRIFT, start + 1, end, estimate, abs(size) / max(chance, changes.bound), evidence)
        )
    return found


def _legs(sums: Floats, bound: float) -> list[tuple[int, int]]:
    """Return the stretches between the turning points of ``sums``, each of which moves by ``bound`` (above 0) or more.

    A stretch begins at the last value of its lowest or highest level, and ends at the first value of the other one.
    """
    legs: list[tuple[int, int]] = []
    low = high = turn = 0
    way = 0
    listed = sums.tolist()
    for place, value in enumerate(listed):
        if way >= 0 and value > listed[high]:
            high = place
        if way <= 0 and value < listed[low]:
            low = place
        if way == 0:
            low = place if value == listed[low] else low
            high = place if value == listed[high] else high
            if value - listed[low] >= bound:
                way, turn, high = 1, low, place
            elif listed[high] - value >= bound:
                way, turn, low = -1, high, place
        elif way > 0 and listed[high] - value >= bound:
            legs.append((turn, high))
            way, turn, low = -1, high, place
        elif way < 0 and value - listed[low] >= bound:
            legs.append((turn, low))
            way, turn, high = 1, low, place
    if way:
        legs.append((turn, high if way > 0 else low))
    return legs
