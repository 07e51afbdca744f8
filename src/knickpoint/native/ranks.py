"""The Mann-Whitney U test of many pairs of samples: compiled, or in NumPy."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.kernel import COMPILED

__all__ = ["LARGEST_TIED", "ranks"]

LARGEST_TIED: Final = 25
"""Samples up to this size each get an exact tail where values are tied."""

Floats = NDArray[np.float64]


def ranks(values: Floats, rows: int, step: int, n: int, m: int) -> tuple[Floats, Floats, Floats]:
    """Compare ``values[i * step:][:n]`` with the ``m`` values after them, for ``i`` below ``rows``.

    Returns for each 2U (pairs in which the first is larger count 2, ties 1); the sum of t**3 - t over groups of t
    equal values; and how many ways to draw ``n`` of the values have a U as far from the middle on the same side, or
    -1 where no values are tied or a sample is larger than :data:`LARGEST_TIED`.
    """
    if COMPILED:
        from knickpoint.native.ranks_compiled import ranks as chosen
    else:
        from knickpoint.native.ranks_reference import ranks as chosen
    return chosen(values, rows, step, n, m)
