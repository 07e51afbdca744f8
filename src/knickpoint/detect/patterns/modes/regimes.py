"""Divide the visits to modes into regimes: stretches of one way of flipping, or of one level.

Two explanations compete for each stretch of visits. *A level*: the series stays, and every change of it is a step,
which is rare (one in 200 commits) and seldom ends at a level that was there before. *Flipping*: the series leaves a
mode with a chance of its own at every commit, goes to the others in their shares, and comes back. The chances are
unknown, so they are integrated out. The best division of all visits into stretches of either kind is found by dynamic
programming.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit, unit_of_largest
from knickpoint.model.distribution import MAD
from knickpoint.native.modes import MOST_LEVELS, VisitChances, price_flipping, sort_into_modes
from knickpoint.native.modes import divide_visits as find_division
from knickpoint.native.regions import level_medians, median_of

# Sort the values of a series into modes: the levels that its steps lie between, and the mode of each value.


_SEPARATION: Final = 3.0
"""Distance of two levels, in standard deviations of single values, from which they are two modes."""

_SWITCH: Final = 3.0
"""Price of a switch of the mode, in units of the logarithm of the likelihood: one switch in 20 values."""

_FURTHEST: Final = 4.5
"""The most that a value can speak for another mode, in the same unit.

It is less than two switches, so a lone spike is not a visit, and more than one, so two values in a row are.
"""

_APART: Final = 5.5
"""Distance of two levels, in the same unit, from which a lone value at one of them is a visit."""

_MOST_FAR: Final = 0.05
"""Share of the values that may lie far from both levels: more are visits to a third."""

_LEAST_SHARE: Final = 0.1
_FEWEST_VALUES: Final = 6
"""Values of such a level at least, as a share of all and as a number: fewer are outliers."""

_MOST_BETWEEN: Final = 0.15
"""Values in the middle third between such levels at most, as a share of those of the rarer level: a tail has more."""

_ROUNDING: Final = 1e-9
"""Noise below this share of the values is rounding."""

_ROUNDS: Final = 2
"""How often the modes and the values that belong to them are estimated from each other."""


@dataclass(frozen=True, slots=True)
class Visits:
    """The modes of a series of n values, and its visits to them in order.

    ``labels`` (n) is the mode of each value and ``levels`` (modes, ascending) the median of each mode; ``noise`` is the
    standard deviation within modes. ``starts``, ``lengths`` and ``modes`` describe each visit. ``medians`` keeps the
    medians of the modes in stretches of the values, from the first to before the last.
    """

    labels: Places
    levels: Floats
    noise: float
    starts: Places
    lengths: Places
    modes: Places
    medians: dict[tuple[int, int], Floats] = field(default_factory=dict, compare=False)

    @property
    def returns(self) -> int:
        """Number of visits to a mode that was left before."""
        return self.modes.size - self.levels.size


def find_visits(values: Floats, breaks: Sequence[int]) -> Visits | None:
    """Sort ``values`` (1-D, finite) into the levels that ``breaks`` (first places of new levels, ascending) separate.

    None where there are more than 64 distinct levels.
    """
    medians, counts = level_medians(values, breaks), np.diff([0, *breaks, values.size])
    noise = _at_least_rounding(values, _noise_within(values, np.repeat(medians, counts), counts.size))
    levels = _distinct_levels(list(zip(medians.tolist(), counts.tolist(), strict=True)), noise)
    return _visits(values, levels, noise)


def find_clear_visits(values: Floats, fewest_returns: int) -> Visits | None:
    """Sort ``values`` (1-D, finite) into the two levels that they lie around, whatever their order.

    None where there are fewer returns, or not two levels: then it takes steps of a search to tell them. A value far
    from both belongs to the visit before it.
    """
    largest, fewest = float(np.abs(values).max()), max(_FEWEST_VALUES, round(_LEAST_SHARE * values.size))
    if not math.isfinite(largest * values.size):
        return None
    unit = unit_of_largest(largest)
    scaled, least_gap = values / unit, _ROUNDING * largest / unit
    ordered = np.sort(scaled)
    halves = _halve(ordered, fewest, least_gap)
    if halves is None:
        return None
    parts = ordered[: halves.place], ordered[halves.place :]
    # What is divided again in its own noise has more levels.
    if any(_halve(part, fewest // 2, least_gap) for part in parts):
        return None
    levels, labels = np.array([halves.low, halves.high]), (scaled >= ordered[halves.place]).astype(np.int64)
    away = np.abs(scaled - levels[labels])
    noise = _at_least_rounding(scaled, halves.noise)
    far = away > _FURTHEST * noise
    if np.count_nonzero(far) > _MOST_FAR * values.size:
        return None
    labels = labels[np.maximum.accumulate(np.where(far, 0, np.arange(values.size)))]
    visits = _visits_of(labels, levels * unit, noise * unit)
    return visits if visits.returns >= fewest_returns else None


def divide_levels(ordered: Floats, fewest: int, least_gap: float) -> list[Floats]:
    """Return the ``ordered`` values around each level: halved again and again while the halves are clearly apart.

    A level has ``fewest`` values or more, and lies ``least_gap`` or more from the next one. A few values have little
    noise by chance, so parts are divided further where they lie far apart in the noise of both halves.
    """
    halves = _halve(ordered, fewest, least_gap)
    if halves is None:
        return [ordered]
    apart = max(least_gap, _APART * halves.noise)
    parts = ordered[: halves.place], ordered[halves.place :]
    return [level for part in parts for level in divide_levels(part, fewest, apart)]


@dataclass(frozen=True, slots=True)
class _Halves:
    """Where ascending values are divided into two levels, their medians, and the noise around these."""

    place: int
    low: float
    high: float
    noise: float


def _halve(ordered: Floats, fewest: int, least_gap: float) -> _Halves | None:
    """Divide ``ordered`` values into two levels, None where they are not clearly apart."""
    if ordered.size < 2 * fewest:
        return None
    # Where too few lie apart, values of the other level fill a half: the medians show where to divide.
    place = _best_division(ordered, fewest)
    place = int(np.searchsorted(ordered, (_middle(ordered[:place]) + _middle(ordered[place:])) / 2))
    if min(place, ordered.size - place) < fewest:
        return None
    low, high = _middle(ordered[:place]), _middle(ordered[place:])
    third = (high - low) / 3
    between = int(np.searchsorted(ordered, high - third) - np.searchsorted(ordered, low + third, side="right"))
    if high - low < least_gap or between > _MOST_BETWEEN * min(place, ordered.size - place):
        return None
    away = ordered.copy()
    away[:place] -= low
    away[place:] -= high
    noise = MAD * median_of(np.abs(away))
    return _Halves(place, low, high, noise) if high > low and high - low >= _APART * noise else None


def _middle(ordered: Floats) -> float:
    """Return the median of ``ordered`` values."""
    return float(ordered[(ordered.size - 1) // 2] / 2 + ordered[ordered.size // 2] / 2)


def _best_division(ordered: Floats, fewest: int) -> int:
    """Return the place that divides ``ordered`` values with the smallest squares within both parts.

    Both parts have ``fewest`` values or more, of at least twice as many.
    """
    places = np.arange(fewest, ordered.size - fewest + 1)
    scaled = ordered / safe_unit(ordered)
    centred = scaled - scaled.mean()
    below = np.cumsum(centred)[places - 1]
    return int(places[np.argmax(below**2 / (places * (ordered.size - places)))])


def sort_again(values: Floats, visits: Visits, levels: Sequence[tuple[float, int]]) -> Visits | None:
    """Sort ``values`` again, into better ``levels`` (each with how many values it has) than those of ``visits``.

    None where there are more than 64 distinct levels.
    """
    around = np.abs(values - visits.levels[visits.labels])
    noise = _at_least_rounding(values, min(MAD * median_of(around), visits.noise))
    return _visits(values, _distinct_levels(levels, noise), noise)


def _visits(values: Floats, levels: Floats, noise: float) -> Visits | None:
    """Estimate the modes and the values that belong to them from each other, None where there are too many."""
    if levels.size > MOST_LEVELS:
        return None
    labels, levels = sort_into_modes(values, levels, noise, _FURTHEST, _SWITCH, _ROUNDS)
    return _visits_of(labels, levels, noise)


def _visits_of(labels: Places, levels: Floats, noise: float) -> Visits:
    starts = np.append(0, np.flatnonzero(labels[1:] != labels[:-1]) + 1)
    return Visits(labels, levels, noise, starts, np.diff(starts, append=labels.size), labels[starts])


def _at_least_rounding(values: Floats, noise: float) -> float:
    return max(noise, _ROUNDING * float(np.abs(values).max()), math.ulp(0.0))


def _noise_within(values: Floats, medians: Floats, levels: int) -> float:
    """Return the robust standard deviation of the values around the ``medians`` of their levels."""
    free = max(values.size - levels, values.size // 2, 1)
    return MAD * median_of(np.abs(values - medians)) * math.sqrt(values.size / free)


def _distinct_levels(found: Sequence[tuple[float, int]], noise: float) -> Floats:
    """Return the ``found`` levels, ascending.

    Those too near to be two modes are merged by their weights, the nearest first; O(k log k) for k levels.
    """
    levels: dict[int, tuple[float, int]] = dict(enumerate(sorted(found)))
    above = {number: number + 1 for number in range(len(levels) - 1)}
    below = {number + 1: number for number in range(len(levels) - 1)}

    def gap(low: int) -> tuple[float, int, int]:
        return levels[above[low]][0] - levels[low][0], low, above[low]

    gaps = [gap(low) for low in above]
    heapify(gaps)
    while gaps:
        apart, low, high = heappop(gaps)
        if above.get(low) != high or apart != levels[high][0] - levels[low][0]:
            continue  # one of the two was merged since
        if apart >= _SEPARATION * noise:
            break
        (level, few), (other, many) = levels[low], levels.pop(high)
        levels[low] = ((level * few + other * many) / (few + many), few + many)
        del above[low]
        if high in above:
            above[low] = above.pop(high)
            below[above[low]] = low
            heappush(gaps, gap(low))
        if low in below:
            heappush(gaps, gap(below[low]))
    return np.array([level for level, _ in levels.values()])


_STEP: Final = math.log(1 / 200)
"""Log chance of a step at a commit."""

_CHANGE: Final = math.log(1 / 500)
"""Log chance that flipping begins, ends or changes at a commit."""

_NEW_MODE: Final = math.log(1 / 200)
"""Log chance that flipping takes in a level that was never there."""

_OLD_LEVEL: Final = math.log(0.3)
_NEW_LEVEL: Final = math.log(0.7)
"""Log chances that a change ends at a level that was there before, and at a new one: many regressions are reverted."""

_FLIPS: Final = math.log(0.1)
"""Log chance that a series, or a stretch after a level, flips."""

_STAYS_LEVEL: Final = math.log(0.9)
_FLIPS_ON: Final = math.log(0.6)
_CALMS_DOWN: Final = math.log(0.4)
"""Log chances that a level follows a level, and that flipping, or a level, follows flipping."""

_MOST_STRETCHES: Final = 160_000
"""Stretches that are priced: flipping may begin at every visit of up to 400, and at fewer, evenly spaced ones, of more.
"""

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Regime:
    """A stretch of values, ``first`` to ``last`` inclusive, in which the series flips, or stays at one level.

    ``visits`` counts the visits to modes, ``modes`` names those that occur, ascending, with their ``shares`` of the
    values. ``evidence`` is how much likelier, as a logarithm, the beginning of this regime is than the regime before
    going on.
    """

    first: int
    last: int
    visits: int
    modes: tuple[int, ...]
    shares: tuple[float, ...]
    evidence: float

    @property
    def flips(self) -> bool:
        """Whether the series flips here."""
        return len(self.modes) > 1


@dataclass(frozen=True, slots=True)
class Regimes:
    """The likeliest regimes in order; ``log_odds`` compares them with steps only."""

    regimes: tuple[Regime, ...]
    log_odds: float


def divide_visits(visits: Visits, least: float = -math.inf) -> Regimes | None:
    """Return the likeliest division of ``visits`` into regimes, None where none flips or steps alone are likelier.

    Its log-odds against steps alone are at least ``least``. Time is linear in the modes and bounded in the visits.
    """
    count = visits.modes.size
    most = max(1, _MOST_STRETCHES // count)
    starts = np.arange(count)
    if most < count:
        starts = np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))
    chances = VisitChances(*_change_prices(visits), _FLIPS, _STAYS_LEVEL, _FLIPS_ON, _CALMS_DOWN)
    stretches, total = find_division(visits.modes, visits.lengths, starts, chances)
    steps_only = float(chances.step.sum()) + _STAYS_LEVEL * (count - 1)
    if total - steps_only < least or all(first == last for first, last in stretches):
        return None
    regimes = tuple(
        _regime(visits, first, last, _evidence(visits, starts, chances, stretches, number))
        for number, (first, last) in enumerate(stretches)
    )
    return Regimes(regimes, total - steps_only)


def _change_prices(visits: Visits) -> tuple[Floats, Floats, Floats]:
    """Return the log chances of a step, of a change from or to a level, and of other flipping, at each visit."""
    first_visits = np.unique(visits.modes, return_index=True)[1]
    level = np.full(visits.modes.size, _OLD_LEVEL)
    level[first_visits] = _NEW_LEVEL
    step, change = _STEP + level, _CHANGE + level
    step[0] = change[0] = 0.0
    other = change.copy()
    other[first_visits] += _NEW_MODE - _CHANGE
    return step, change, other


def _evidence(
    visits: Visits, starts: Places, chances: VisitChances, stretches: list[tuple[int, int]], number: int
) -> float:
    """Return the likelihood ratio of a change of regime against one regime, or steps, all along.

    0 for the first regime.
    """
    if number == 0:
        return 0.0
    (first, middle), (second, last) = stretches[number - 1 : number + 1]
    flipped, flips = first < middle, second < last
    apart = float((chances.other if flipped and flips else chances.change)[second])
    apart += _FLIPS + _flipping(visits, starts, first, middle) if flipped else 0.0
    if flips:
        apart += (_FLIPS_ON if flipped else _FLIPS) + _flipping(visits, starts, second, last)
    else:
        apart += _CALMS_DOWN if flipped else _STAYS_LEVEL
    steps = float(chances.step[first + 1 : last + 1].sum()) + (last - first) * _STAYS_LEVEL
    return apart - max(steps, _FLIPS + _flipping(visits, starts, first, last))


def _flipping(visits: Visits, starts: Places, first: int, last: int) -> float:
    """Return the log likelihood of flipping from one visit to another, infinitely small where it may not begin there."""
    if starts[np.searchsorted(starts, first)] != first:
        return -math.inf
    part = slice(first, last + 1)
    return price_flipping(visits.modes[part], visits.lengths[part], visits.levels.size)


def _regime(visits: Visits, first: int, last: int, evidence: float) -> Regime:
    begin, end = int(visits.starts[first]), int(visits.starts[last] + visits.lengths[last])
    counts = np.bincount(visits.labels[begin:end], minlength=visits.levels.size)
    modes = np.flatnonzero(counts)
    return Regime(
        begin,
        end - 1,
        last - first + 1,
        tuple(modes.tolist()),
        tuple((counts[modes] / (end - begin)).tolist()),
        evidence,
    )
