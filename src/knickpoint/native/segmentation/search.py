"""Find and prune the candidate changes of a series, whatever its magnitude.

The kernel squares values, so a series that is extremely large or small is scaled by a power of two before it is
searched: that changes no bit of any ratio.
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
from knickpoint.native.segmentation.result import Segmentation, Segmentations

_segment = choose(reference.segment)
_segment_many = choose(reference.segment_many)

SMALLEST: Final = 1e-100
LARGEST: Final = 1e100
"""Series whose largest value lies outside are scaled by a power of two before they are judged."""


def segment(
    values: NDArray[np.float64],
    forest: Forest,
    threshold: float,
    *,
    whole_path: bool = False,
    begun: Segmentation | None = None,
) -> Segmentation:
    """Find the candidates of ``values`` (finite, contiguous) and drop the weakest until all reach ``threshold``.

    ``whole_path`` gives every candidate of every round instead of only the one that was dropped; the
    model is learnt on that. Without trees a rule scores. A search of the same values that has ``begun`` with a lower
    threshold goes on where it stopped.
    """
    exponent = _exponent(values)
    if not exponent:
        return _segment(values, forest, threshold, whole_path, begun)
    return _scaled_back(_segment(np.ldexp(values, -exponent), forest, threshold, whole_path, begun), exponent)


def segment_many(
    values: NDArray[np.float64], ends: NDArray[np.int64], forest: Forest, thresholds: NDArray[np.float64]
) -> Segmentations:
    """Find the candidates of series that lie end to end as :func:`segment` does, in one call of the kernel.

    ``ends`` says where each series ends, ``thresholds`` has one for each.
    """
    exponents = _exponents(values, ends)
    if not exponents.any():
        return _segment_many(values, ends, forest, thresholds)
    counts = np.diff(ends, prepend=0)
    found = _segment_many(np.ldexp(values, np.repeat(-exponents, counts)), ends, forest, thresholds)
    scales = map(_scale_back, found.facts[:, 0].tolist(), exponents.tolist())
    return replace(
        found,
        facts=np.column_stack([list(scales), found.facts[:, 1:]]),
        of=lambda series: _scaled_back(found.of(series), int(exponents[series])),
    )


def _exponent(values: NDArray[np.float64]) -> int:
    """Return the power of two to divide by where squares would leave the range of float64, 0 where they do not."""
    largest = float(np.abs(values).max(initial=0.0))
    return 0 if largest == 0 or SMALLEST < largest < LARGEST else math.frexp(largest)[1]


def _exponents(values: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the exponent of each series of those that lie end to end."""
    begins = np.append(0, ends[:-1])
    largest = np.zeros(ends.size)
    some = begins < ends
    if some.any():
        largest[some] = np.maximum.reduceat(np.abs(values), begins[some])
    extreme = (largest != 0) & ~((largest > SMALLEST) & (largest < LARGEST))
    return np.where(extreme, np.frexp(largest)[1], 0).astype(np.int64)


def _scaled_back(found: Segmentation, exponent: int) -> Segmentation:
    scale, phi, square, tail = found.facts
    return replace(found, facts=(_scale_back(scale, exponent), phi, square, tail))


def _scale_back(scale: float, exponent: int) -> float:
    half = exponent // 2  # twice half the way: the scale itself may be infinite
    return scale * 2.0**half * 2.0 ** (exponent - half)
