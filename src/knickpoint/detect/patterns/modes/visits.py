"""Sort the values of a series into modes: the levels that its steps lie between, and the mode of each value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.normal_noise import MAD

__all__ = ["Visits", "find_visits", "sort_again"]

_SEPARATION: Final = 3.0
"""Distance of two levels, in standard deviations of single values, from which they are two modes."""

_SWITCH: Final = 3.0
"""Price of a switch of the mode, in units of the logarithm of the likelihood: one switch in 20 values."""

_FURTHEST: Final = 4.5
"""The most that a value can speak for another mode, in the same unit.

It is less than two switches, so a lone spike is no visit, and more than one, so two values in a row are.
"""

_ROUNDING: Final = 1e-9
"""Noise below this share of the values is rounding."""

_ROUNDS: Final = 2
"""How often the modes and the values that belong to them are estimated from each other."""


Floats = NDArray[np.float64]
Places = NDArray[np.int64]


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


def find_visits(values: Floats, breaks: Sequence[int]) -> Visits:
    """Sort ``values`` (1-D, finite) into the levels that ``breaks`` (first places of new levels, ascending) separate."""
    noise = _at_least_rounding(values, _noise_within(values, breaks))
    levels = [(float(np.median(values[first:stop])), stop - first) for first, stop in _bounds(values, breaks)]
    return _visits(values, _distinct_levels(levels, noise), noise)


def sort_again(values: Floats, visits: Visits, levels: Sequence[tuple[float, int]]) -> Visits:
    """Sort ``values`` again, into better ``levels`` (each with how many values it has) than those of ``visits``."""
    around = np.abs(values - visits.levels[visits.labels])
    noise = _at_least_rounding(values, min(MAD * float(np.median(around)), visits.noise))
    return _visits(values, _distinct_levels(levels, noise), noise)


def _visits(values: Floats, levels: Floats, noise: float) -> Visits:
    """Estimate the modes and the values that belong to them from each other."""
    labels = np.zeros(values.size, np.int64)
    for _ in range(_ROUNDS):
        labels = _likeliest_modes(values, levels, noise)
        used, labels = np.unique(labels, return_inverse=True)
        levels = np.array([float(np.median(values[labels == mode])) for mode in range(used.size)])
    starts = np.flatnonzero(np.diff(labels, prepend=labels[0] - 1))
    lengths = np.diff(starts, append=values.size)
    return Visits(labels, levels, noise, starts, lengths, labels[starts])


def _at_least_rounding(values: Floats, noise: float) -> float:
    return max(noise, _ROUNDING * float(np.abs(values).max()), math.ulp(0.0))


def _bounds(values: Floats, breaks: Sequence[int]) -> list[tuple[int, int]]:
    ends = [0, *breaks, values.size]
    return list(pairwise(ends))


def _noise_within(values: Floats, breaks: Sequence[int]) -> float:
    """Return the robust standard deviation of the values around the medians of their levels."""
    around = [np.abs(values[first:stop] - np.median(values[first:stop])) for first, stop in _bounds(values, breaks)]
    free = max(values.size - len(around), values.size // 2, 1)
    return MAD * float(np.median(np.concatenate(around))) * math.sqrt(values.size / free)


def _distinct_levels(found: Sequence[tuple[float, int]], noise: float) -> Floats:
    """Return the ``found`` levels, ascending; those too near to be two modes are merged by their weights, the nearest first."""
    levels = sorted(found)
    while len(levels) > 1:
        gaps = [above[0] - below[0] for below, above in pairwise(levels)]
        nearest = min(range(len(gaps)), key=gaps.__getitem__)
        if gaps[nearest] >= _SEPARATION * noise:
            break
        (low, few), (high, many) = levels[nearest : nearest + 2]
        levels[nearest : nearest + 2] = [((low * few + high * many) / (few + many), few + many)]
    return np.array([level for level, _ in levels])


def _likeliest_modes(values: Floats, levels: Floats, noise: float) -> Places:
    """Return the cheapest mode of each value, where values far from their mode and switches have their price.

    This is the algorithm of Viterbi; each switch costs the same, so a step of it takes time linear in the modes.
    """
    distances = np.minimum(((values[:, None] - levels) / noise) ** 2 / 2, _FURTHEST).tolist()
    cheapest, came_from = list(distances[0]), []
    for row in distances[1:]:
        best = min(cheapest)
        origin, entry = cheapest.index(best), best + _SWITCH
        came_from.append([mode if cost <= entry else origin for mode, cost in enumerate(cheapest)])
        cheapest = [min(cost, entry) + distance for cost, distance in zip(cheapest, row, strict=True)]
    mode = cheapest.index(min(cheapest))
    backwards = [mode]
    for row_from in reversed(came_from):
        mode = row_from[mode]
        backwards.append(mode)
    return np.array(backwards[::-1], np.int64)
