"""Reduce long series to what a plot can show, without losing a peak."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["thin"]

_WITH_ENDS: Final = 4
"""The least number of points that has room for the first and the last value in addition to the extremes."""


def thin(values: NDArray[np.float64], points: int) -> NDArray[np.int64]:
    """Return the indices of at most ``points`` of ``values`` that look the same when drawn.

    The values are cut into runs, and the least and the greatest of each are kept, so that no spike is lost; the
    first and the last value as well where ``points >= 4``. Needs ``points >= 2`` and finite values.
    """
    if len(values) <= points:
        return np.arange(len(values), dtype=np.int64)
    ends_kept = np.array([0, len(values) - 1] if points >= _WITH_ENDS else [], dtype=np.int64)
    runs = (points - len(ends_kept)) // 2
    begins = np.arange(runs, dtype=np.int64) * len(values) // runs
    run = np.repeat(np.arange(runs), np.diff(np.append(begins, len(values))))
    order = np.lexsort((values, run))
    ends = np.append(begins[1:], len(values)) - 1
    return np.unique(np.concatenate([ends_kept, order[begins], order[ends]]))
