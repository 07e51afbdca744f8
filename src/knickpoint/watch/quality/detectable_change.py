"""The smallest change that a trace could show: how large a step must be for the default method to find most of them.

For a step between ``before`` and ``after`` values with independent noise of the standard deviation s, the default method
finds four of five steps of the size :data:`FACTOR` · s · √(1/before + 1/after). The root is the standard error of the
difference between the means of both sides. A test of one known place would need 2.8 of them for that power at 5 %; the rest
is the price of not knowing the place. The factor is measured by simulation, and a test repeats it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.normal_noise import MAD

__all__ = ["AFTER", "FACTOR", "DetectableChange", "detectable_change", "detectable_size"]

FACTOR: Final = 5.5
AFTER: Final = 20
"""Values after a change at which it should be found."""


@dataclass(frozen=True, slots=True)
class DetectableChange:
    """The smallest change that ``after`` values could show behind the ``before`` values of the newest stable region.

    ``size`` is in the unit of the trace, ``relative_size`` that over the |median| of the region, inf where that is 0.
    """

    before: int
    after: int
    deviation: float
    size: float
    relative_size: float


def detectable_size(deviation: float, before: int, after: int) -> float:
    """Return the size of a step that the default method finds in four of five cases."""
    return FACTOR * deviation * math.sqrt(1 / before + 1 / after)


def detectable_change(values: NDArray[np.float64], *, after: int = AFTER) -> DetectableChange | None:
    """Return the smallest change behind ``values``, the newest stable region without gaps; None below four values.

    The deviation is the robust one of the median absolute deviation.
    """
    if values.size < 4:
        return None
    centre = float(np.median(values))
    deviation = MAD * float(np.median(np.abs(values - centre)))
    size = detectable_size(deviation, values.size, after)
    return DetectableChange(values.size, after, deviation, size, size / abs(centre) if centre else math.inf)
