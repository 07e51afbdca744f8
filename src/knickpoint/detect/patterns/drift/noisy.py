"""Recognise the drift of noisy values: slopes explain them better than steps alone.

A cheap look decides whether a series needs the search at all: its levels still rise or fall by themselves, or its steps
form a staircase. Then the model with slopes has to be better than the one with steps by the Bayesian information
criterion, with the noise that neighbours share taken into account. See ``docs/decisions/default-method-shapes.md``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit
from knickpoint.detect.patterns.drift.findings import (
    Found,
    build_findings,
    estimate_size,
    interval_checks,
    reference_checks,
)
from knickpoint.detect.patterns.drift.trend import (
    Rise,
    Slope,
    Trend,
    fit_trend,
    rises_of,
    size_of_rise,
    start_interval,
)
from knickpoint.detect.patterns.drift.trend_search import SearchedTrend, search_trend
from knickpoint.detect.patterns.pattern import Pattern, SearchedPlaces, Subject
from knickpoint.model.quantity_text import figure_text
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import LOCATION_INTERVAL, Check, Movement, Step
from knickpoint.native.trend import SHORTEST

Floats = NDArray[np.float64]

BETTER: Final = 6.0
"""By how much slopes have to be better than steps alone, as twice the logarithm of odds; 6 is 20 to 1."""

_SUSPICIOUS: Final = 4.0
"""Standard errors of the slope inside of the levels from which a series is searched for drift."""

_SUSPICIOUS_STAIRS: Final = 1.5
"""The same where two steps follow each other in the direction of the slope; three are searched in any case."""

_FEW_RUNS: Final = 6
_MOST_ASIDE: Final = 192
"""Steps beside the longest few runs of steps in one direction, from which on no slopes are searched for.

A slope takes the place of one run, and the others stay.
"""

_NEGLIGIBLE: Final = 1e-3
"""Share of a drift below which a step beside it is none: values without noise show every digit in which the model is
off.
"""

_LIKELIHOOD: Final = 2 * math.log(20)
"""A start is possible when it is at most 20 times less likely than the best one."""


def recognise_drift(subject: Subject, effect: float) -> Pattern | None:
    """Return the findings of a series that drifts, None where steps describe it as well.

    A drift that moves the level by less than ``effect`` of it is not a finding, and the steps that it explains are none
    either.
    """
    values = subject.series.values
    places = _places_of(subject, subject.steps)
    if values.size <= SHORTEST or not _may_drift(subject, places):
        return None
    unit = safe_unit(values)

    def places_beside(scaled: Floats, moved: Floats) -> SearchedPlaces:
        return subject.search.places(scaled - moved, _smallest_beside(moved))

    found = search_trend(values / unit, places, places_beside, BETTER)
    if found is None:
        return None
    trend = found.trend
    beside = _steps_beside(subject, values / unit, trend.moved)
    if _places_of(subject, beside) != trend.places:
        trend = fit_trend(values / unit, _places_of(subject, beside), trend.slopes)
    return _pattern(subject, replace(found, trend=trend), beside, unit, effect)


def _steps_beside(subject: Subject, scaled: Floats, moved: Floats) -> tuple[Step, ...]:
    """Return the steps in values less what slopes ``moved`` them, without those of rounding or a misfit."""
    smallest = _smallest_beside(moved)
    return tuple(step for step in subject.search.steps(scaled - moved) if abs(step.size) > smallest)


def _smallest_beside(moved: Floats) -> float:
    """Return the size from which on a step is one beside slopes that ``moved`` the values."""
    return _NEGLIGIBLE * float(np.abs(moved).max(initial=0.0))


def _places_of(subject: Subject, steps: tuple[Step, ...]) -> tuple[int, ...]:
    """Return the measured values that the new levels begin with."""
    return tuple(np.searchsorted(subject.series.rows, [step.index for step in steps]).tolist()) if steps else ()


def _may_drift(subject: Subject, places: tuple[int, ...]) -> bool:
    """Return True if levels rise or fall by themselves, or steps form a staircase."""
    if not subject.noise > 0 or _steps_aside(subject.steps) > _MOST_ASIDE:
        return False
    up, down = (_longest_staircase(subject.steps, way) for way in Movement) if len(places) > 1 else (0, 0)
    if max(up, down) > 2:
        return True
    values = subject.series.values
    error = _error_of_means(subject.noise, subject.autocorrelation)
    # The slope of each level, and that of all levels together, in standard errors: a sum over values times places. Sums
    # of extremely large values are infinite or none: such a series is searched, or has no drift.
    together = spread = 0.0
    indices = np.arange(values.size, dtype=np.float64)
    for first, end in pairwise((0, *places, values.size)):
        count = end - first
        with np.errstate(over="ignore", invalid="ignore"):
            rising = float(values[first:end] @ (indices[:count] - (count - 1) / 2))
        squares = count * (count * count - 1) / 12
        if abs(rising) > _SUSPICIOUS * error * math.sqrt(squares):
            return True
        together, spread = together + rising, spread + squares
    bound = _SUSPICIOUS_STAIRS if (up if together > 0 else down) > 1 else _SUSPICIOUS
    return abs(together) > bound * error * math.sqrt(spread)


def _error_of_means(noise: float, autocorrelation: float) -> float:
    """Return the noise as it counts in means over neighbours."""
    return noise * math.sqrt((1 + autocorrelation) / max(1 - autocorrelation, 0.1))


def may_rise_or_fall(rows: Floats, noise: Floats, autocorrelation: Floats) -> NDArray[np.bool_]:
    """Return the ``rows`` (series x commits, nan for missing), all without steps, that may be searched for drift.

    ``noise`` and ``autocorrelation`` have one number for each row. This is the cheap look of :func:`recognise_drift` at
    many series at once. Its sums are rounded in another order, so it gives way by more than rounding can make: it may
    let a series pass, but it never keeps one from the search.
    """
    held = ~np.isnan(rows)
    counts = np.count_nonzero(held, axis=1)
    places: Floats = np.cumsum(held, axis=1) - 1 - (counts[:, None] - 1) / 2
    values = np.where(held, rows, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        rising = np.abs(np.einsum("ij,ij->i", values, places))
        rounding = np.finfo(np.float64).eps * counts * np.abs(values).max(axis=1, initial=0.0) * counts**2
        errors = np.array(
            [_error_of_means(*each) for each in zip(noise.tolist(), autocorrelation.tolist(), strict=True)]
        )
        calm = rising + rounding <= _SUSPICIOUS * errors * np.sqrt(counts * (counts * counts - 1.0) / 12)
    found: NDArray[np.bool_] = ~calm & (noise > 0)
    return found


def _longest_staircase(steps: tuple[Step, ...], way: Movement) -> int:
    """Return the largest number of steps in a row in one direction."""
    longest = run = 0
    for step in steps:
        run = run + 1 if step.movement is way else 0
        longest = max(longest, run)
    return longest


def _steps_aside(steps: tuple[Step, ...]) -> int:
    """Count the steps beside the longest runs of steps in one direction."""
    if len(steps) <= _MOST_ASIDE:
        return 0
    runs = sorted(len(list(run)) for _, run in groupby(steps, key=lambda step: step.movement))
    return sum(runs[:-_FEW_RUNS])


def _pattern(
    subject: Subject, searched: SearchedTrend, beside: tuple[Step, ...], unit: float, effect: float
) -> Pattern:
    """Return the drifts and the steps ``beside`` them."""
    trend, better = searched.trend, searched.advantage
    drifts = [
        found
        for rise in rises_of(trend)
        if (found := _drift(subject, searched, rise, unit=unit, effect=effect)) is not None
    ]
    errors = np.sqrt(trend.variances_of_jumps()).tolist()
    steps = [_step_beside(trend, number, step, errors[number - 1], unit) for number, step in enumerate(beside, start=1)]
    rows = subject.series.rows
    facts = {
        "drift: twice the log-odds of a slope against steps alone": better,
        "drift: noise around it": trend.noise * unit,
        "drift: variance of means by neighbours alike": trend.inflation,
    }
    reason = "a slow change explains the values better than steps do"
    if drifts:
        first = drifts[0]
        share = (first.estimate.after - first.estimate.before) / abs(first.estimate.before)
        reason = (
            f"it is part of a drift by {figure_text(share, '+.2%')} from {rows[first.first - 1]} to {rows[first.last]}"
        )
    return Pattern(build_findings(subject, [*steps, *drifts], method="default"), facts, reason)


def _drift(subject: Subject, searched: SearchedTrend, rise: Rise, *, unit: float, effect: float) -> Found | None:
    """Return a rise as a finding, None where it is smaller than ``effect`` of the level before it."""
    trend, better = searched.trend, searched.advantage
    before, (size, error) = float(trend.fitted[rise.start]), size_of_rise(trend, rise)
    relative = abs(size) / abs(before) if before else math.inf
    if not relative >= effect:
        return None
    slope = Slope(rise.start, rise.end)
    worth = _LIKELIHOOD * trend.noise**2 * trend.inflation
    rate = size / (rise.end - rise.start)
    interval = start_interval(trend.clipped, trend.places, slope, worth)
    estimate = estimate_size(before * unit, size * unit, error * unit, slope=rate * unit, deviation=trend.noise * unit)
    commits = int(subject.series.rows[rise.end] - subject.series.rows[rise.start])
    evidence = (
        Check("twice the log-odds of a slope against steps alone", better, ">=", BETTER, better >= BETTER),
        Check("drift over the level before it", relative, ">=", effect, passed=True),
        Check("commits from its start to its end", commits),
        Check("slope a commit", size * unit / commits),
        Check("slope a commit, at least (95 %)", estimate.low / commits),
        Check("slope a commit, at most (95 %)", estimate.high / commits),
        *interval_checks(estimate),
        *reference_checks(trend.fitted[: rise.start + 1] * unit, estimate.after),
        Check("noise around it (standard deviation)", trend.noise * unit),
        Check("variance of means by neighbours alike", trend.inflation),
        Check(LOCATION_INTERVAL, float(interval)),
    )
    return Found(FindingKind.DRIFT, rise.start + 1, rise.end, estimate, better / 2, evidence)


def _step_beside(trend: Trend, number: int, step: Step, error: float, unit: float) -> Found:
    """Return a step that is left where the slopes are taken out, the ``number``-th of the model.

    Its size is its jump, with the standard ``error``.
    """
    place, jump = trend.places[number - 1], float(trend.coefficients[number])
    moved = trend.moved
    rate = float(moved[min(place + 1, moved.size - 1)] - moved[place])
    estimate = estimate_size(
        (float(trend.fitted[place]) - jump) * unit,
        jump * unit,
        error * unit,
        slope=rate * unit,
        deviation=trend.noise * unit,
    )
    slope = Check("slope of the drift around it, by value", rate * unit)
    evidence = (*step.evidence, slope, *interval_checks(estimate))
    return Found(FindingKind.STEP, place, place, estimate, step.score, evidence)
