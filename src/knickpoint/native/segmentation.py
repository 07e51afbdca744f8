"""Candidate changes of one series, pruned by a forest of decision trees: compiled, or in NumPy.

The two say the same; the constants and features are described in :mod:`knickpoint.native.segmentation_reference`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.kernel import COMPILED

__all__ = ["Forest", "Segmentation", "segment"]

SMALLEST: Final = 1e-100
LARGEST: Final = 1e100
"""Series whose largest value lies outside are scaled by a power of two before they are judged."""


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Hold boosted decision trees as flat arrays, one entry a node.

    ``root`` has the first node of each tree. A node asks ``x[feature] <= bound`` and goes ``below``, which is
    always the next node, or ``above``; a leaf has ``feature`` -1. ``value`` is the log-odds at a leaf, and at an
    inner node what its branch gives on average, so that a path tells what each feature added. ``base`` is where
    all begin. Integers are int32, the rest float64.
    """

    base: float
    root: NDArray[np.int32]
    feature: NDArray[np.int32]
    below: NDArray[np.int32]
    above: NDArray[np.int32]
    bound: NDArray[np.float64]
    value: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Hold the candidates in the order in which they were dropped, those that stay last.

    ``rounds`` is -1 for what stays, ``indices`` the first point of the new level, ``scores`` the log-odds.
    ``features`` and ``parts`` are candidates x features: the numbers, and what each added to the score.
    ``facts``: scale of the noise, lag-one autocorrelation, mean square and share beyond 4 of the residuals.
    """

    rounds: NDArray[np.int32]
    indices: NDArray[np.int32]
    scores: NDArray[np.float64]
    features: NDArray[np.float64]
    parts: NDArray[np.float64]
    facts: tuple[float, float, float, float]


def segment(values: NDArray[np.float64], forest: Forest, threshold: float, *, whole_path: bool = False) -> Segmentation:
    """Find the candidates of ``values`` (finite, contiguous) and drop the weakest until all reach ``threshold``.

    ``whole_path`` gives every candidate of every round instead of only the one that was dropped; the
    model is learnt on that. Without trees a rule scores.
    """
    if COMPILED:
        from knickpoint.native.segmentation_compiled import segment as chosen
    else:
        from knickpoint.native.segmentation_reference import segment as chosen
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0 or SMALLEST < largest < LARGEST:
        return chosen(values, forest, threshold, whole_path)
    exponent = math.frexp(largest)[1]  # squares would leave the range of float64
    found = chosen(np.ldexp(values, -exponent), forest, threshold, whole_path)
    scale, phi, square, tail = found.facts
    half = exponent // 2  # twice half the way: the scale itself may be infinite
    return replace(found, facts=(scale * 2.0**half * 2.0 ** (exponent - half), phi, square, tail))
