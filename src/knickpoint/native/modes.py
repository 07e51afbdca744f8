"""Sort values into modes, and find the stretches that flip between them; ``modes.c`` explains how."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

MOST_LEVELS: Final = 64
"""The most levels that there may be."""


def sort_into_modes_in_numpy(
    values: Floats, levels: Floats, noise: float, furthest: float, switch: float, rounds: int
) -> tuple[Places, Floats]:
    """Return the mode of each of ``values``, and the median of each mode, ascending by what ``levels`` they were.

    Values are sorted into levels and levels become the medians of their values, in turn for so many ``rounds``. A level
    without values is no mode.
    """
    labels = np.zeros(values.size, np.int64)
    for _ in range(rounds):
        used, labels = np.unique(_cheapest_levels(values, levels, noise, furthest, switch), return_inverse=True)
        levels = medians_of_modes_in_numpy(values, labels, used.size)
    return labels, levels


def medians_of_modes_in_numpy(values: Floats, labels: Places, count: int) -> Floats:
    """Return the median of the ``values`` of each of ``count`` modes, ``nan`` where a mode has none."""
    held = [values[labels == mode] for mode in range(count)]
    return np.array([float(np.median(each)) if each.size else np.nan for each in held])


def _cheapest_levels(values: Floats, levels: Floats, noise: float, furthest: float, switch: float) -> Places:
    """Return the cheapest of ``levels`` for each of ``values``, with a price for distance and for switches.

    A value costs half the squared distance in ``noise``, at most ``furthest``. This is the algorithm of Viterbi; each
    switch costs the same, so a step of it takes time linear in the levels, of which there are at most 64.
    """
    distances = np.minimum(((values[:, None] - levels) / noise) ** 2 / 2, furthest).tolist()
    cheapest, came_from = list(distances[0]), []
    for row in distances[1:]:
        best = min(cheapest)
        origin, entry = cheapest.index(best), best + switch
        came_from.append([mode if cost <= entry else origin for mode, cost in enumerate(cheapest)])
        cheapest = [min(cost, entry) + distance for cost, distance in zip(cheapest, row, strict=True)]
    mode = cheapest.index(min(cheapest))
    backwards = [mode]
    for row_from in reversed(came_from):
        mode = row_from[mode]
        backwards.append(mode)
    return np.array(backwards[::-1], np.int64)


FEWEST_RETURNS: Final = 2
"""Visits to a mode that was left before, from which a stretch can be flipping: one return is a fix."""

LEAVING: Final = 0.5
STAYING: Final = 4.5
"""Prior of the chance to leave a mode at a commit, a beta distribution of mean 0.1."""

SHARE: Final = 0.5
"""Prior of the share of each mode, a Dirichlet distribution."""


class VisitChances(NamedTuple):
    """Log chances of what begins with each visit: a ``step``, a ``change`` from or to a level, or ``other`` flipping.

    ``flips`` is that of flipping after a level, ``stays`` of a level after a level, ``flips_on`` of flipping after
    flipping, and ``calms_down`` of a level after it.
    """

    step: Floats
    change: Floats
    other: Floats
    flips: float
    stays: float
    flips_on: float
    calms_down: float


@lru_cache(maxsize=8)
def _tables(count: int) -> tuple[Floats, Floats]:
    halves = np.arange(1, count + 1) / 2
    gammas = [math.lgamma(half) for half in halves.tolist()]
    return np.array([0.0, *gammas]), np.append(0.0, np.log(halves))


def gammas_and_logs(count: int) -> tuple[Floats, Floats]:
    """Return the logarithm of the gamma function, and the logarithm, at 0 (as 0), 1/2, 1, … up to ``count``/2 at least."""
    return _tables(1 << count.bit_length())


def price_flipping(modes: Places, lengths: Places, distinct: int) -> float:
    """Return the log likelihood of one stretch of visits to ``modes`` as flipping between ``distinct`` modes.

    The chance to leave each mode, and the shares of the modes, given that a switch goes to another mode, are integrated
    out. It is infinitely small with too few returns, or with a level at an end that the series did not come back to.
    """
    moves, visited = modes.size - 1, np.bincount(modes, minlength=distinct)
    present = int(np.count_nonzero(visited))
    if modes.size < present + FEWEST_RETURNS or 1 in (visited[modes[0]], visited[modes[-1]]):
        return -math.inf
    stayed = np.bincount(modes, lengths - 1, distinct).astype(np.int64)
    gammas, _ = gammas_and_logs(2 * (int(lengths.sum()) + distinct) + 40)
    leaving, staying, share = int(2 * LEAVING), int(2 * STAYING), int(2 * SHARE)
    left, arrived = visited.copy(), visited.copy()
    left[modes[-1]] -= 1
    arrived[modes[0]] -= 1
    # The table has the logarithm of the gamma function at half numbers.
    price = gammas[leaving + 2 * left] + gammas[staying + 2 * stayed] - gammas[leaving + staying + 2 * (left + stayed)]
    price -= gammas[leaving] + gammas[staying] - gammas[leaving + staying]
    if distinct > 2:
        price += gammas[share + 2 * arrived] - gammas[share]
        price -= left * np.log1p(-(visited + SHARE) / (moves + 1 + SHARE * distinct))
        return float(price.sum() + gammas[share * distinct] - gammas[share * distinct + 2 * moves])
    return float(price.sum())


def divide_visits_in_numpy(
    modes: Places, lengths: Places, starts: Places, chances: VisitChances
) -> tuple[list[tuple[int, int]], float]:
    """Return the first and the last visit of each regime of the likeliest division, and its log likelihood.

    The visits go to ``modes`` and have ``lengths``. A level is one visit; flipping may begin at ``starts``, ascending.
    """
    count, distinct = modes.size, int(modes.max()) + 1
    # Log likelihood of the visits before each one, whose last regime is a level (row 0) or flips (row 1).
    best, came_from, kinds = np.full((2, count + 1), -np.inf), np.zeros((2, count + 1)), np.zeros((2, count + 1))
    best[0, 0] = 0.0
    for last in range(count):
        calm = best[0, last] + chances.step[last] + (chances.stays if last else 0.0)
        calmed = best[1, last] + chances.change[last] + chances.calms_down
        best[0, last + 1], came_from[0, last + 1], kinds[0, last + 1] = max(calm, calmed), last, calmed > calm
        # Flipping began at one of the starts, after a level or after other flipping.
        begins = starts[starts <= last]
        flipping = [
            price_flipping(modes[begin : last + 1], lengths[begin : last + 1], distinct) for begin in begins.tolist()
        ]
        ways = np.stack(
            [
                best[0, begins] + chances.flips + chances.change[begins],
                best[1, begins] + chances.flips_on + chances.other[begins],
            ]
        )
        ways += flipping
        kind, begin = divmod(int(ways.argmax()), begins.size)
        best[1, last + 1], came_from[1, last + 1], kinds[1, last + 1] = ways[kind, begin], begins[begin], kind
    return read_division(came_from.astype(np.int64), kinds.astype(np.int64), best)


def read_division(came_from: Places, kinds: Places, best: Floats) -> tuple[list[tuple[int, int]], float]:
    """Read the regimes from behind: where each began, and whether the one before it flips."""
    stop = best.shape[1] - 1
    kind = int(best[1, stop] > best[0, stop])
    total, stretches = float(best[kind, stop]), []
    while stop:
        first, before = int(came_from[kind, stop]), int(kinds[kind, stop])
        stretches.append((first, stop - 1))
        stop, kind = first, before
    return stretches[::-1], total


def sort_into_modes_in_c(
    values: Floats, levels: Floats, noise: float, furthest: float, switch: float, rounds: int
) -> tuple[Places, Floats]:
    """Return the mode of each value, and the median of each mode; see the reference."""
    labels, medians = np.empty(values.size, np.int64), levels.copy()
    used = lib.kp_sort_into_modes(values, values.size, medians, levels.size, noise, furthest, switch, rounds, labels)
    if used < 0:
        raise MemoryError
    return labels, medians[:used]


def medians_of_modes_in_c(values: Floats, labels: Places, count: int) -> Floats:
    """Return the median of the ``values`` of each of ``count`` modes; see the reference."""
    medians = np.empty(count)
    if lib.kp_medians_of_modes(values, labels, values.size, count, medians):
        raise MemoryError
    return medians


def divide_visits_in_c(
    modes: Places, lengths: Places, starts: Places, chances: VisitChances
) -> tuple[list[tuple[int, int]], float]:
    """Return the likeliest division of visits to ``modes`` into regimes, and its log likelihood; see the reference."""
    count, distinct = modes.size, int(modes.max()) + 1
    gammas, logs = gammas_and_logs(2 * (int(lengths.sum()) + distinct) + 40)
    came_from, kinds, best = (
        np.empty((2, count + 1), np.int64),
        np.empty((2, count + 1), np.int64),
        np.empty((2, count + 1)),
    )
    failed = lib.kp_divide_visits(
        modes,
        lengths,
        count,
        distinct,
        starts,
        starts.size,
        gammas,
        logs,
        chances.step,
        chances.change,
        chances.other,
        np.array(chances[3:]),
        came_from,
        kinds,
        best,
    )
    if failed:
        raise MemoryError
    return read_division(came_from, kinds, best)


sort_into_modes = choose(sort_into_modes_in_numpy, sort_into_modes_in_c)
medians_of_modes = choose(medians_of_modes_in_numpy, medians_of_modes_in_c)
divide_visits = choose(divide_visits_in_numpy, divide_visits_in_c)
