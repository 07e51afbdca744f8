"""The kernels again, in NumPy: the oracle of the tests, and the fallback where no compiler was at hand.

Every function here has a compiled twin of the same name and meaning in :mod:`knickpoint.native`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["region"]

Region = tuple[int, int, int, float, float, float, float, float]


def region(values: NDArray[np.float64], first: int, last: int) -> Region | None:
    """Describe the measured values of ``values[first:last + 1]``, None when there is none.

    Returns first and last measured row, count, minimum, maximum, median, mean, variance (divisor
    ``count - 1``, 0 for one value or equal values).
    """
    rows = np.flatnonzero(~np.isnan(values[first : last + 1]))
    if not rows.size:
        return None
    part = values[first : last + 1][rows]
    low, high = float(part.min()), float(part.max())
    mean = low if low == high else float(part.mean())
    variance = 0.0 if low == high else float(np.square(part - mean).sum() / (part.size - 1))
    return (
        first + int(rows[0]),
        first + int(rows[-1]),
        int(rows.size),
        low,
        high,
        float(np.median(part)),
        mean,
        variance,
    )
