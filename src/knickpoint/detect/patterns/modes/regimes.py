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
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.distribution import MAD
from knickpoint.native.modes import MOST_LEVELS, likeliest_modes
from knickpoint.native.regions import level_medians

# Sort the values of a series into modes: the levels that its steps lie between, and the mode of each value.


_SEPARATION: Final = 3.0
"""Distance of two levels, in standard deviations of single values, from which they are two modes."""

_SWITCH: Final = 3.0
"""Price of a switch of the mode, in units of the logarithm of the likelihood: one switch in 20 values."""

_FURTHEST: Final = 4.5
"""The most that a value can speak for another mode, in the same unit.

It is less than two switches, so a lone spike is not a visit, and more than one, so two values in a row are.
"""

_ROUNDING: Final = 1e-9
"""Noise below this share of the values is rounding."""

_ROUNDS: Final = 2
"""How often the modes and the values that belong to them are estimated from each other."""


@dataclass(frozen=True, slots=True)
class Visits:
    """The modes of a series of n values, and its visits to them in order.

    ``labels`` (n) is the mode of each value and ``levels`` (modes, ascending) the median of each mode; ``noise`` is the
    standard deviation within modes. ``starts``, ``lengths`` and ``modes`` describe each visit.
    """

    labels: Places
    levels: Floats
    noise: float
    starts: Places
    lengths: Places
    modes: Places

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


def sort_again(values: Floats, visits: Visits, levels: Sequence[tuple[float, int]]) -> Visits | None:
    """Sort ``values`` again, into better ``levels`` (each with how many values it has) than those of ``visits``.

    None where there are more than 64 distinct levels.
    """
    around = np.abs(values - visits.levels[visits.labels])
    noise = _at_least_rounding(values, min(MAD * float(np.median(around)), visits.noise))
    return _visits(values, _distinct_levels(levels, noise), noise)


def _visits(values: Floats, levels: Floats, noise: float) -> Visits | None:
    """Estimate the modes and the values that belong to them from each other, None where there are too many."""
    if levels.size > MOST_LEVELS:
        return None
    labels = np.zeros(values.size, np.int64)
    for _ in range(_ROUNDS):
        labels = likeliest_modes(values, levels, noise, _FURTHEST, _SWITCH)
        used, labels = np.unique(labels, return_inverse=True)
        levels = medians_of_modes(values, labels, used.size)
    starts = np.flatnonzero(np.diff(labels, prepend=labels[0] - 1))
    lengths = np.diff(starts, append=values.size)
    return Visits(labels, levels, noise, starts, lengths, labels[starts])


def medians_of_modes(values: Floats, labels: Places, count: int) -> Floats:
    """Return the median of the ``values`` of each of ``count`` modes, ``nan`` where a mode has none."""
    by_mode = values[np.argsort(labels, kind="stable")]
    return level_medians(by_mode, np.cumsum(np.bincount(labels, minlength=count))[:-1].tolist())


def _at_least_rounding(values: Floats, noise: float) -> float:
    return max(noise, _ROUNDING * float(np.abs(values).max()), math.ulp(0.0))


def _noise_within(values: Floats, medians: Floats, levels: int) -> float:
    """Return the robust standard deviation of the values around the ``medians`` of their levels."""
    free = max(values.size - levels, values.size // 2, 1)
    return MAD * float(np.median(np.abs(values - medians))) * math.sqrt(values.size / free)


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

_FEWEST_RETURNS: Final = 2
"""Visits to a mode that was left before, from which a stretch can be flipping: one return is a fix."""

_LEAVING: Final = 0.5
_STAYING: Final = 4.5
"""Prior of the chance to leave a mode at a commit, a beta distribution of mean 0.1."""

_SHARE: Final = 0.5
"""Prior of the share of each mode, a Dirichlet distribution."""

_MOST_STARTS: Final = 400
"""Visits at which flipping may begin; of more, so many evenly spaced ones."""

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


@dataclass(frozen=True, slots=True)
class _Prices:
    """Log likelihoods of ``flipping`` from a start (row) to a last visit, and of what begins with each visit.

    That is a ``step``, a ``change`` from or to a level, or ``other`` flipping after flipping.
    """

    starts: Places
    flipping: Floats
    step: Floats
    change: Floats
    other: Floats


def divide_visits(visits: Visits) -> Regimes:
    """Return the likeliest division of ``visits`` into regimes.

    Takes O(visits^2 modes) time, linear from 400 visits on.
    """
    prices = _price(visits)
    stretches, total = _best_division(prices)
    steps_only = float(prices.step.sum()) + _STAYS_LEVEL * (prices.step.size - 1)
    regimes = tuple(
        _regime(visits, first, last, _evidence(prices, stretches, number))
        for number, (first, last) in enumerate(stretches)
    )
    return Regimes(regimes, total - steps_only)


@lru_cache(maxsize=8)
def _log_gamma_of_halves(count: int) -> Floats:
    """Return the logarithm of the gamma function at 0 (as 0), 1/2, 1, … ``count``/2."""
    return np.array([0.0, *(math.lgamma(number / 2) for number in range(1, count + 1))])


def _price(visits: Visits) -> _Prices:
    """Price every stretch of visits as flipping, and every change as one step."""
    count, modes = visits.modes.size, visits.levels.size
    starts = np.unique(np.linspace(0, count - 1, min(count, _MOST_STARTS)).round().astype(np.int64))
    table = _log_gamma_of_halves(1 << (2 * int(visits.lengths.sum()) + 2 * modes + 40).bit_length())

    def gamma(number: Floats | float) -> Floats:
        return np.asarray(table[np.asarray(2 * number, np.int64)])

    # Stretches that begin at a start (rows) and end with a visit (columns); those that end before they begin count
    # nothing.
    last = np.arange(count)
    moves = np.maximum(last - starts[:, None], 0).astype(np.float64)
    flipping, arriving = np.zeros(moves.shape), np.zeros(moves.shape)
    present = np.zeros(moves.shape, np.int64)
    for mode in range(modes):
        here = (visits.modes == mode).astype(np.float64)
        seen, stays = np.cumsum(here), np.cumsum(here * (visits.lengths - 1))
        visited = np.maximum(seen - (seen - here)[starts, None], 0)
        left = np.maximum(visited - here, 0)
        stayed = np.maximum(stays - (stays - here * (visits.lengths - 1))[starts, None], 0)
        # Chance to leave the mode, integrated out.
        flipping += gamma(_LEAVING + left) + gamma(_STAYING + stayed) - gamma(_LEAVING + _STAYING + left + stayed)
        flipping -= gamma(_LEAVING) + gamma(_STAYING) - gamma(_LEAVING + _STAYING)
        # Shares of the modes, integrated out, given that a switch goes to another mode.
        arriving += gamma(_SHARE + np.maximum(visited - here[starts, None], 0)) - gamma(_SHARE)
        arriving -= left * np.log1p(-(visited + _SHARE) / (moves + 1 + _SHARE * modes))
        present += visited > 0
    if modes > 2:
        flipping += arriving + gamma(_SHARE * modes) - gamma(_SHARE * modes + moves)
    # Too few returns; or a level at an end that the series did not come back to, or from.
    before, after = _same_mode(visits.modes)
    once = (after[starts, None] > last) | (before < starts[:, None])
    flipping[(moves + 1 < present + _FEWEST_RETURNS) | once] = -np.inf
    return _Prices(starts, flipping, *_change_prices(visits))


def _same_mode(modes: Places) -> tuple[Places, Places]:
    """Return the visits before and after each one to the same mode; -1, and the number of visits, without one."""
    before, after = np.full(modes.size, -1), np.full(modes.size, modes.size)
    for mode in range(int(modes.max()) + 1):
        places = np.flatnonzero(modes == mode)
        before[places[1:]], after[places[:-1]] = places[:-1], places[1:]
    return before, after


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


def _best_division(prices: _Prices) -> tuple[list[tuple[int, int]], float]:
    """Return the first and the last visit of each regime of the likeliest division, and its log likelihood."""
    count = prices.step.size
    # Log likelihood of the visits before each one, whose last regime is a level (row 0) or flips (row 1).
    best = np.full((2, count + 1), -np.inf)
    best[0, 0] = 0.0
    came_from: list[list[tuple[int, int]]] = [[(0, 0)], [(0, 0)]]
    change, starts = prices.change, prices.starts
    for last in range(count):
        # A level is one visit.
        calm = best[0, last] + prices.step[last] + (_STAYS_LEVEL if last else 0.0)
        calmed = best[1, last] + change[last] + _CALMS_DOWN
        best[0, last + 1] = max(calm, calmed)
        came_from[0].append((last, int(calmed > calm)))
        # Flipping began at one of the starts, after a level or after other flipping.
        reached = int(np.searchsorted(starts, last, side="right"))
        begins = starts[:reached]
        ways = np.stack([best[0, begins] + _FLIPS + change[begins], best[1, begins] + _FLIPS_ON + prices.other[begins]])
        ways += prices.flipping[:reached, last]
        kind, begin = divmod(int(ways.argmax()), reached)
        best[1, last + 1] = ways[kind, begin]
        came_from[1].append((int(begins[begin]), kind))
    stretches, stop, kind = [], count, int(best[1, count] > best[0, count])
    total = float(best[kind, count])
    while stop:
        first, before = came_from[kind][stop]
        stretches.append((first, stop - 1))
        stop, kind = first, before
    return stretches[::-1], total


def _evidence(prices: _Prices, stretches: list[tuple[int, int]], number: int) -> float:
    """Return the likelihood ratio of a change of regime against one regime, or steps, all along.

    0 for the first regime.
    """
    if number == 0:
        return 0.0
    (first, middle), (second, last) = stretches[number - 1 : number + 1]
    flipped, flips = first < middle, second < last
    apart = float((prices.other if flipped and flips else prices.change)[second])
    apart += _FLIPS + _flipping(prices, first, middle) if flipped else 0.0
    if flips:
        apart += (_FLIPS_ON if flipped else _FLIPS) + _flipping(prices, second, last)
    else:
        apart += _CALMS_DOWN if flipped else _STAYS_LEVEL
    steps = float(prices.step[first + 1 : last + 1].sum()) + (last - first) * _STAYS_LEVEL
    return apart - max(steps, _FLIPS + _flipping(prices, first, last))


def _flipping(prices: _Prices, first: int, last: int) -> float:
    row = int(np.searchsorted(prices.starts, first))
    return float(prices.flipping[row, last]) if prices.starts[row] == first else -math.inf


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
