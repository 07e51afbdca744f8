"""Find new levels that a flipping series visits rarely, for single values: the modes have none of them, and a lone value is an outlier.

Values far from every mode that agree with each other are visits to a level. Where the series had that level all along, its visits
lie anywhere; that all of them lie behind some place has a chance that falls with each visit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.patterns.modes.regimes import Regime
from knickpoint.detect.patterns.modes.visits import Visits

__all__ = ["RareLevel", "error_of_size", "find_rare_levels"]

_FAR: Final = 4.5
"""Standard deviations within modes from which on a value lies at none of them."""

_SEPARATION: Final = 3.0
"""Standard deviations between two such values that are visits to different levels."""

_FEWEST: Final = 4
"""Visits that show a level."""

_RARE: Final = 0.005
"""Chance from which on visits that begin late are no chance, for all levels of a stretch together."""

_OVER: Final = 0.01
"""Chance of the pause since the last visit below which the level was left again."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RareLevel:
    """A level that is visited from the measured value ``place`` on: its value, visits and values, of so many since then.

    ``chance`` is that of visits which begin as late, if the level was there all along.
    """

    place: int
    level: float
    visits: int
    values: int
    since: int
    chance: float

    @property
    def share(self) -> float:
        """The share of the values since it began."""
        return self.values / self.since


def find_rare_levels(values: Floats, visits: Visits, regime: Regime) -> Iterator[RareLevel]:
    """Yield the new levels of a ``regime`` that flips, in the order of their values."""
    part = values[regime.first : regime.last + 1]
    modes = visits.levels[list(regime.modes)]
    far = np.flatnonzero(np.abs(part[:, None] - modes).min(axis=1) > _FAR * visits.noise)
    levels = [each for each in _levels(part, far, visits.noise) if _count_visits(each) >= _FEWEST]
    for places in levels:
        count, first, last = _count_visits(places), int(places[0]), int(places[-1])
        since = part.size - first
        chance = len(levels) * (since / part.size) ** count
        pause = (1 - places.size / since) ** (part.size - 1 - last)
        if chance <= _RARE and pause >= _OVER:
            level = float(np.median(part[places]))
            yield RareLevel(regime.first + first, level, count, places.size, since, chance)


def _levels(part: Floats, far: NDArray[np.int64], noise: float) -> Iterator[NDArray[np.int64]]:
    """Yield the places in ``far``, ascending, of the values that are visits to one level."""
    if not far.size:
        return
    ascending = far[np.argsort(part[far], kind="stable")]
    for group in np.split(ascending, np.flatnonzero(np.diff(part[ascending]) > _SEPARATION * noise) + 1):
        if float(np.ptp(part[group])) <= 2 * _FAR * noise:
            yield np.sort(group)


def _count_visits(places: NDArray[np.int64]) -> int:
    """Return the number of visits: values in a row are one."""
    return 1 + int(np.count_nonzero(np.diff(places) > 1))


def error_of_size(rare: RareLevel, centre: float) -> float:
    """Return the standard error of the mean of the values because the share of the level is only known from so many visits."""
    share = rare.share
    return abs(rare.level - centre) * math.sqrt(share * (1 - share) / rare.since)
