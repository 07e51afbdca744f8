"""Prove changes without the forest, and say how sure their place is; ``proof.c`` is the twin, and explains the idea."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knickpoint.native.segmentation.constants import BARS, CERTAIN, LIKELY, SHORTEST, SIDE, WINDOW
from knickpoint.native.segmentation.noise import Array, Series, median
from knickpoint.native.segmentation.places import bounded


def _chance_of_run(x: Array, run: tuple[int, int], others: tuple[slice, slice], band: float) -> tuple[int, float]:
    """Return the number of values of a run that agree, and the chance of such a run, per 1,000 values.

    It is the share of the values beside the run, or on both its sides, that are found at its level, to the power of
    the values that agree; ``others`` are those beside it and those across.
    """
    part = x[run[0] : run[1]]
    centre = median(part)
    agree = int(np.count_nonzero(np.abs(part - centre) <= band))
    if agree < SHORTEST or 3 * agree < 2 * part.size:
        return agree, 1000.0
    beside, across = (x[other] for other in others)
    near, far = (int(np.count_nonzero(np.abs(values - centre) <= band)) for values in (beside, across))
    share = min((near + 0.5) / (beside.size + 1), (near + far + 0.5) / (beside.size + across.size + 1))
    return agree, 1000 * float(share) ** agree


def prove(series: Series, places: Sequence[int], i: int) -> Array:
    """Return the proof of a change without the forest, and the half width of its interval of location."""
    x = series.x
    bounds = [0, 0, *places, x.size, x.size]
    earlier, first, place, stop, later = bounds[i : i + 5]
    a, b = max(place - WINDOW, first), min(place + WINDOW, stop)
    local = float(series.noise[max(place - 20, a) : min(place + 20, b)].mean())
    before, after = median(x[a:place]), median(x[place:b])
    jump = abs(after - before)
    band = max(jump / 4, 4 * local)

    # The run is the shorter side, or of two equal ones the less likely
    agree, chance = 0, 1000.0
    if b - place <= place - a:
        across = slice(stop, min(later, stop + WINDOW))
        agree, chance = _chance_of_run(x, (place, b), (slice(a, place), across), band)
    if place - a <= b - place:
        across = slice(max(earlier, first - WINDOW), first)
        other = _chance_of_run(x, (a, place), (slice(place, b), across), band)
        if place - a < b - place or other[1] < chance:
            agree, chance = other

    # The places whose cost, next to the least, is still likely
    low, high = max(place - SIDE, first + 1), min(place + SIDE, stop - 1)
    part = x[low:high]
    gains = bounded(part - before, series.scale) - bounded(part - after, series.scale)
    profile = np.concatenate(([0.0], np.cumsum(gains)))
    near = np.flatnonzero(profile <= profile.min() + LIKELY) + low
    return np.array([jump / local, agree, chance, np.abs(near - place).max()])


def certainty(proof: Array) -> float:
    """Return the contribution of the proof to the log-odds."""
    return CERTAIN if any(proof[0] >= jump and proof[2] <= chance for jump, chance in BARS) else 0.0
