"""Find and prune the candidate changes of a series, whatever its magnitude.

The kernel squares values, so a series that is extremely large or small is scaled by a power of two before it is searched:
that changes no bit of any ratio.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.choice import choose
from knickpoint.native.forest import Forest
from knickpoint.native.segmentation import reference
from knickpoint.native.segmentation.result import Segmentation

__all__ = ["segment"]

_segment = choose(reference.segment)

SMALLEST: Final = 1e-100
LARGEST: Final = 1e100
"""Series whose largest value lies outside are scaled by a power of two before they are judged."""


def segment(values: NDArray[np.float64], forest: Forest, threshold: float, *, whole_path: bool = False) -> Segmentation:
    """Find the candidates of ``values`` (finite, contiguous) and drop the weakest until all reach ``threshold``.

    ``whole_path`` gives every candidate of every round instead of only the one that was dropped; the
    model is learnt on that. Without trees a rule scores.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0 or SMALLEST < largest < LARGEST:
        return _segment(values, forest, threshold, whole_path)
    exponent = math.frexp(largest)[1]  # squares would leave the range of float64
    found = _segment(np.ldexp(values, -exponent), forest, threshold, whole_path)
    scale, phi, square, tail = found.facts
    half = exponent // 2  # twice half the way: the scale itself may be infinite
    return replace(found, facts=(scale * 2.0**half * 2.0 ** (exponent - half), phi, square, tail))
