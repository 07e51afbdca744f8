"""Weigh a step in a short series against noise whose neighbours resemble each other, however strong that resemblance is.

A few dozen values cannot tell an autocorrelation of 0.5 from a step: an estimate from them is 0.2 in the median. So it is not
estimated. Both explanations are weighed over all autocorrelations, each as likely as it is across repositories: the Bayes
factor of "one step, and noise of any autocorrelation" against "noise of any autocorrelation".
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit
from knickpoint.model.normal_noise import MAD

__all__ = ["PRIOR", "evidence_against_dependence"]

PRIOR: Final = ((0.0, 0.6), (0.1, 0.15), (0.2, 0.02), (0.3, 0.06), (0.4, 0.16), (0.9, 0.01))
"""Autocorrelations at lag 1, and how likely each is: what ``python benchmarks/dependence_prior.py`` prints, rounded."""

_USUAL_STEP: Final = 3.0
"""Standard deviation of the sizes of steps, in standard deviations of the noise."""

_MOST: Final = 3.0
"""Standard deviations off its level from which on a value counts no more: outliers are no evidence."""

_PHI: Final = np.array([phi for phi, _ in PRIOR])
_LOG_WEIGHT: Final = np.log([weight for _, weight in PRIOR])

Floats = NDArray[np.float64]


def evidence_against_dependence(values: Floats, place: int) -> float:
    """Return the logarithm of the Bayes factor of a step before ``place`` of ``values`` (1-D, finite), over all autocorrelations.

    The level is flat, the scale has the prior of Jeffreys, and the size of the step is normal with a few standard deviations
    of the noise. Infinite where the values lie exactly on both levels.
    """
    count, later = values.size, np.arange(values.size) >= place
    scaled = values / safe_unit(values)
    level = np.where(later, np.median(scaled[place:]), np.median(scaled[:place]))
    around = scaled - level
    scale = MAD * float(np.median(np.abs(around)))
    if not scale > 0:
        return math.inf
    series = level + np.clip(around, -_MOST * scale, _MOST * scale)
    series = (series - series.mean()) / series.std()

    # Innovations of the level, of the step and of the values, a row for each autocorrelation.
    free = 1 - np.square(_PHI)
    flat, step, seen = (_innovations(each) for each in (np.ones(count), later.astype(np.float64), series))
    of_flat, between = np.square(flat).sum(axis=1), (flat * step).sum(axis=1)
    of_step = np.square(step).sum(axis=1) + free / _USUAL_STEP**2
    along_flat, along_step = (flat * seen).sum(axis=1), (step * seen).sum(axis=1)
    squares, area = np.square(seen).sum(axis=1), of_flat * of_step - np.square(between)
    explained = (
        of_step * np.square(along_flat) - 2 * between * along_flat * along_step + of_flat * np.square(along_step)
    )
    left, left_by_step = squares - np.square(along_flat) / of_flat, squares - explained / area

    freedom = (count - 1) / 2
    without = -0.5 * np.log(of_flat) - freedom * np.log(left)
    with_step = 0.5 * np.log(free / _USUAL_STEP**2) - 0.5 * np.log(area) - freedom * np.log(left_by_step)
    common = 0.5 * np.log(free) + _LOG_WEIGHT
    return float(np.logaddexp.reduce(with_step + common) - np.logaddexp.reduce(without + common))


def _innovations(series: Floats) -> Floats:
    """Return what each value adds to what its predecessor lets expect, for each autocorrelation, in one unit."""
    found = np.empty((_PHI.size, series.size))
    found[:, 0] = np.sqrt(1 - np.square(_PHI)) * series[0]
    found[:, 1:] = series[1:] - _PHI[:, None] * series[:-1]
    return found
