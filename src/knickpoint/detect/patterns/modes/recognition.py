"""Recognise a series that flips between levels, and report what changed about its modes instead of its flips."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.patterns.drift.findings import estimate_size, interval_checks
from knickpoint.detect.patterns.modes.changes import (
    Change,
    RareLevel,
    compare_regimes,
    error_of_size,
    find_rare_levels,
    levels_in,
    levels_of_regimes,
    relocate,
    without_modes,
)
from knickpoint.detect.patterns.modes.regimes import (
    Regime,
    Visits,
    divide_visits,
    find_clear_visits,
    find_visits,
    sort_again,
)
from knickpoint.detect.patterns.pattern import Pattern, Subject
from knickpoint.detect.steps import build_steps
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Check, Flipping, Step
from knickpoint.native.regions import median_of

_FEWEST_STEPS: Final = 2
"""Steps between which a level can come back."""

_FEWEST_RETURNS: Final = 2
"""Visits to a level that was left before: one is a change that was undone."""

_SHORT_VISIT: Final = 12
_FEWEST_SHORT_VISITS: Final = 3
"""A series that flips leaves levels soon: so many visits are shorter, beside the first and the last."""

_MANY_RETURNS: Final = 6
"""Returns from which on visits may be longer: fewer are changes that were undone, as a regression and its fix are."""

_CLEAR: Final = 6.0
"""Distance of the levels, in noise within them, from which visits that the search did not find count as returns."""

_CLEAR_RETURNS: Final = ((3, 2), (2, 6))
"""The shortest visits that count then, and how many returns there have to be: two outliers in a row may look like a
visit.
"""

_FEW_STEPS: Final = 3
_LONG_VISIT: Final = 60
"""With so few steps, visits as long as this are levels: flipping as rare looks like steps."""

_TWO_LEVELS: Final = 0.75
"""Share of the squares that two levels explain from which there may be two: it is 0.64 for normal noise."""

_MOST_MODES: Final = 12
"""Distinct levels from which on a series wanders rather than flips."""

_LEAST_ODDS: Final = 3.0
"""Log-odds of flipping against steps from which on the series flips."""

_LEAST_CHANGE: Final = 0.5
"""Log-odds of a change between regimes from which on it is reported."""

_NEAR: Final = 5
"""Values between a step of the search and the same change between two visits."""

_LASTING: Final = 10
"""Values on both sides of a change that the modes hid; what is shorter may be a visit whose mode was not recognised."""

_REASON: Final = "the series flips between levels here, which is not a change"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Description:
    """What is reported at a place: the score, what changed, and why.

    ``calm`` says that the series flips on neither side. ``error_of_shares`` is the standard error that the size has
    because the shares of the modes are only known from so many visits; 0 where it does not depend on them.
    """

    score: float
    kind: FindingKind
    evidence: tuple[Check, ...]
    calm: bool = False
    error_of_shares: float = 0.0


@dataclass(frozen=True, slots=True)
class _Modes:
    """The modes of a series that flips, its regimes, the changes between them, and the log-odds of flipping."""

    visits: Visits
    regimes: tuple[Regime, ...]
    changes: list[Change]
    log_odds: float


def find_modes(subject: Subject) -> Pattern | None:
    """Return the changes of the modes of a series that flips between levels; None where it does not."""
    if not levels_recur(subject.steps):
        return None
    breaks = _breaks(subject)
    modes = _modes_of(subject.series.values, breaks)
    return None if modes is None else _pattern(subject, breaks, modes)


def may_be_two_levels(explained: ArrayLike, crossings: ArrayLike) -> NDArray[np.bool_]:
    """Return True where the values of a series may flip between two clear levels, for one series or many.

    ``explained`` is the share of their squares that two levels explain, ``crossings`` how often they go from one to the
    other.
    """
    return (np.asarray(explained) >= _TWO_LEVELS) & (np.asarray(crossings) > _MANY_RETURNS)


def find_clear_modes(subject: Subject) -> Pattern | None:
    """Return the changes of the modes of a series that flips between two clear levels, however soon; None of others.

    The search finds no steps of visits to a few values.
    """
    values = subject.series.values
    if not subject.two_levels:
        return None
    visits = find_clear_visits(values, _MANY_RETURNS)
    found = None if visits is None else divide_visits(visits, _LEAST_ODDS)
    if visits is None or found is None:
        return None
    regimes = relocate(values, visits, found.regimes)
    modes = _Modes(visits, regimes, compare_regimes(values, visits, regimes), found.log_odds)
    return _pattern(subject, _breaks(subject), modes)


def _breaks(subject: Subject) -> list[int]:
    """Return the measured values that the levels between the steps of ``subject`` begin with, after the first."""
    places: list[int] = np.searchsorted(subject.series.rows, [step.index for step in subject.steps]).tolist()
    return places


def _pattern(subject: Subject, breaks: Sequence[int], modes: _Modes) -> Pattern:
    """Return the pattern of ``subject``, which has steps at ``breaks``."""
    return Pattern(
        _findings(subject, breaks, modes),
        {check.name: check.value for check in _numbers(modes)},
        _REASON,
        _flipping(subject, modes),
    )


def _modes_of(values: Floats, breaks: Sequence[int]) -> _Modes | None:
    """Return the modes of ``values`` that have steps at ``breaks``, None if it is likelier that all are steps."""
    visits = find_visits(values, breaks)
    if visits is None or not _may_flip(visits, len(breaks)):
        return None
    found = divide_visits(visits, _LEAST_ODDS)
    if found is None:
        return None
    if len(found.regimes) > 1:
        # Modes of one regime may have been taken for near ones of another: estimate them in each by itself, and divide
        # again.
        regimes = relocate(values, visits, found.regimes)
        visits = sort_again(values, visits, levels_of_regimes(values, visits, regimes))
        if visits is None or visits.levels.size < 2:
            return None
        found = divide_visits(visits)
        if found is None:
            return None
    regimes = relocate(values, visits, found.regimes)
    return _Modes(visits, regimes, compare_regimes(values, visits, regimes), found.log_odds)


def _may_flip(visits: Visits, steps: int) -> bool:
    """Return True if there are enough returns, and enough visits that end soon.

    With two steps there is one that the search found, so others must be clear.
    """
    count = visits.levels.size
    if visits.returns < _FEWEST_RETURNS or not 1 < count <= _MOST_MODES:
        return False
    soon = np.count_nonzero(visits.lengths[1:-1] < _SHORT_VISIT)
    if visits.returns < _MANY_RETURNS and soon < _FEWEST_SHORT_VISITS:
        return False
    if steps > _FEWEST_RETURNS:
        return True
    enough = any(_returns(visits, length) >= returns for length, returns in _CLEAR_RETURNS)
    return enough and float(np.diff(visits.levels).min()) >= _CLEAR * visits.noise


def _returns(visits: Visits, shortest: int) -> int:
    """Return the number of returns, if visits of fewer values than ``shortest`` had not been."""
    modes = visits.modes[visits.lengths >= shortest]
    return 1 + int(np.count_nonzero(np.diff(modes))) - np.unique(modes).size


def levels_recur(steps: Sequence[Step]) -> bool:
    """Return True if a level comes back after ``steps`` (sorted by index) left it, soon enough to be a mode."""
    if len(steps) < _FEWEST_STEPS:
        return False
    if len(steps) <= _FEW_STEPS and min(step.after.count for step in steps[:-1]) >= _LONG_VISIT:
        return False
    levels = [steps[0].before.median, *(step.after.median for step in steps)]
    earlier: list[float] = []
    for left, before, level in zip(levels, levels[1:], levels[2:], strict=False):
        insort(earlier, left)
        place = bisect_left(earlier, level)
        if any(abs(level - near) <= abs(level - before) / 2 for near in earlier[max(place - 1, 0) : place + 1]):
            return True
    return False


def _findings(subject: Subject, breaks: Sequence[int], modes: _Modes) -> tuple[Step, ...]:
    """Return the changes between regimes, the steps where the series does not flip, and those that the modes hid."""
    flat = without_modes(subject.series.values, modes.visits, modes.regimes, modes.changes)
    found: dict[int, _Description] = {}

    borders = [
        (before, after, change)
        for (before, after), change in zip(pairwise(modes.regimes), modes.changes, strict=True)
        if before.flips or after.flips
    ]

    def add(place: int, description: _Description) -> None:
        if all(abs(place - other) > _NEAR for other in (*found, *(regime.first for _, regime, _ in borders))):
            found[place] = description

    # Changes between regimes of which one flips; others are steps of the search.
    for before, after, change in borders:
        if after.evidence >= _LEAST_CHANGE:
            unsure = (
                0.0 if change.shift is not None else _error_of_shares(subject.series.values, modes, (before, after))
            )
            checks = _checks(modes, change, after)
            found[after.first] = _Description(after.evidence, _kind(change), checks, error_of_shares=unsure)
    # Levels that single values visit, which are not modes of any regime.
    for rare in _rare_levels(subject.series.values, modes):
        error = error_of_size(rare, median_of(subject.series.values))
        checks = (*_checks_of_rare(rare), *_numbers(modes))
        add(rare.place, _Description(-math.log(rare.chance), FindingKind.MODE, checks, error_of_shares=error))
    # Steps of the search between two levels, or within one.
    for place, step in zip(breaks, subject.steps, strict=True):
        if not _flips_at(place, modes.regimes):
            add(place, _Description(step.score, step.kind, step.evidence, calm=True))
    # Steps that all modes share, and that only show once the modes are taken out.
    for step in subject.search.steps(flat):
        place = int(np.searchsorted(subject.series.rows, step.index))
        if _flips_at(place, modes.regimes) and min(step.before.count, step.after.count) >= _LASTING:
            add(place, _Description(step.score, step.kind, (*step.evidence, *_numbers(modes))))
    return _built(subject, flat, found)


def _rare_levels(values: Floats, modes: _Modes) -> Iterator[RareLevel]:
    """Yield the new levels that single values visit where the series flips."""
    for regime in modes.regimes:
        if regime.flips:
            yield from find_rare_levels(values, modes.visits, regime)


def _built(subject: Subject, flat: Floats, found: dict[int, _Description]) -> tuple[Step, ...]:
    """Build the steps at the places ``found``, between the levels of the values without their modes."""
    whole = np.full(subject.values.size, np.nan)
    whole[subject.series.rows] = flat
    places = sorted(found, key=lambda place: -found[place].score)
    built = build_steps(
        whole,
        subject.series.rows[places].tolist(),
        method="default",
        scores=[found[place].score for place in places],
        evidence=[found[place].evidence for place in places],
    )
    return tuple(_finished(step, found[place]) for step, place in zip(built, sorted(found), strict=True))


def _finished(step: Step, description: _Description) -> Step:
    """Give a step its kind, and its size by the levels without modes: those beside it are levels of single visits."""
    if description.calm:
        return replace(step, kind=description.kind)
    before, after = step.before, step.after
    error = math.hypot(
        math.sqrt(before.variance / before.count + after.variance / after.count), description.error_of_shares
    )
    deviation = math.sqrt((before.variance + after.variance) / 2)
    size = estimate_size(before.mean, step.size, error, slope=0.0, deviation=deviation)
    evidence = (*step.evidence, *interval_checks(size))
    return replace(step, kind=description.kind, estimate=size, evidence=evidence)


def _error_of_shares(values: Floats, modes: _Modes, regimes: tuple[Regime, Regime]) -> float:
    """Return the standard error of the difference of mean levels of two regimes, whose visits are independent draws."""
    variance = 0.0
    for regime in regimes:
        levels = levels_in(values, modes.visits, regime)
        mean = float(np.average(levels, weights=regime.shares))
        variance += float(np.average((levels - mean) ** 2, weights=regime.shares)) / regime.visits
    return math.sqrt(variance)


def _flips_at(place: int, regimes: Sequence[Regime]) -> bool:
    return any(regime.flips and regime.first <= place <= regime.last for regime in regimes)


def _kind(change: Change) -> FindingKind:
    """Return the kind of a change: a step if all values moved, else a mode if the time in each mode changed."""
    return FindingKind.STEP if change.shift is not None or change.moved >= 1 else FindingKind.MODE


def _numbers(modes: _Modes) -> tuple[Check, ...]:
    """Return the evidence for flipping."""
    visits, odds = modes.visits, modes.log_odds
    nearest = float(np.diff(visits.levels).min() / visits.noise)
    return (
        Check("log-odds of flipping against steps", odds, ">=", _LEAST_ODDS, odds >= _LEAST_ODDS),
        Check("levels", float(visits.levels.size)),
        Check("returns to a level that was left", float(visits.returns)),
        Check("mean visit to a level, in values", float(visits.lengths.mean())),
        Check("nearest levels apart, in noise within a level", nearest),
    )


def _checks_of_rare(rare: RareLevel) -> tuple[Check, ...]:
    """Return the evidence for a new level that single values visit."""
    return (
        Check("new level", rare.level),
        Check("visits to the new level", float(rare.visits)),
        Check("share of the values at the new level", rare.share),
        Check("chance that its visits begin as late", rare.chance),
    )


def _checks(modes: _Modes, change: Change, regime: Regime) -> tuple[Check, ...]:
    """Return the evidence for a change between regimes, and for flipping at all."""
    shifted = () if change.shift is None else (Check("shift of all levels", change.shift),)
    return (
        Check("log-odds of another way of flipping", regime.evidence, ">=", _LEAST_CHANGE),
        Check("new levels", float(change.appeared)),
        Check("vanished levels", float(change.vanished)),
        Check("share of the values that went to other levels", change.moved),
        *shifted,
        *_numbers(modes),
    )


def _flipping(subject: Subject, modes: _Modes) -> tuple[Flipping, ...]:
    """Return the stretches that flip, with their levels and the shares of the values at each."""
    rows, values = subject.series.rows, subject.series.values
    return tuple(
        Flipping(
            int(rows[regime.first]),
            int(rows[regime.last]),
            tuple(levels_in(values, modes.visits, regime).tolist()),
            regime.shares,
        )
        for regime in modes.regimes
        if regime.flips
    )
