"""Describe how values are distributed: where most of them lie, and the levels that they fall apart into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.outliers import rounding
from knickpoint.model.distribution import Distribution
from knickpoint.model.normal_noise import MAD

__all__ = ["describe_values", "levels_of"]

_SEPARATION: Final = 4.5
"""Standard deviations within levels from which on two levels are apart, as for the method ``modes``."""

_LEAST_SHARE: Final = 0.05
_FEWEST: Final = 3
"""Share, and number, of the values of a side that make a level."""

_ROUNDINGS: Final = 3
"""Roundings that two levels lie apart at least: the levels of rounded noise are none of the values."""

Floats = NDArray[np.float64]


def describe_values(values: Floats) -> Distribution:
    """Return how ``values`` (1-D, finite, at least one) are distributed."""
    # "closest_observation" adds no values, so that those near the largest double do not overflow.
    low, high = np.quantile(values, [0.1, 0.9], method="closest_observation").tolist()
    return Distribution(low, high, tuple((level, count / values.size) for level, count in levels_of(values)))


def levels_of(values: Floats) -> list[tuple[float, int]]:
    """Return the levels of ``values``, ascending, each with how many of them lie around it."""
    fewest = max(_FEWEST, math.ceil(_LEAST_SHARE * values.size))
    parts = _divided(np.sort(values), fewest, _ROUNDINGS * rounding(values))
    return [(float(np.median(part)), part.size) for part in parts]


def _noise(parts: Sequence[Floats]) -> float:
    """Return the standard deviation of the values of ``parts`` around the median of each."""
    return MAD * float(np.median(np.concatenate([np.abs(part - np.median(part)) for part in parts])))


def _divided(ordered: Floats, fewest: int, least_gap: float) -> list[Floats]:
    """Return ``ordered`` values divided in two, again and again, while the halves have the fewest values and lie far apart.

    A few values have little noise by chance, so parts are divided further where they lie far apart in the noise of both halves.
    """
    places = np.arange(fewest, ordered.size - fewest + 1)
    if not places.size:
        return [ordered]
    # The division that leaves the smallest squares within the halves has the largest between them.
    centred = ordered - ordered.mean()
    below = np.cumsum(centred)[places - 1]
    place = int(places[np.argmax(below**2 / (places * (ordered.size - places)))])
    halves = ordered[:place], ordered[place:]
    gap = float(np.median(halves[1]) - np.median(halves[0]))
    apart = max(least_gap, _SEPARATION * _noise(halves))
    if gap <= 0 or gap < apart:
        return [ordered]
    return [part for half in halves for part in _divided(half, fewest, apart)]
