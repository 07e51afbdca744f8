"""Replay the past commits as if each had been the new one: how far unchanged values strayed from their level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family.levels import Levels
from knickpoint.detect.family.scale import Prior, Scales
from knickpoint.detect.family.serial import difference_variance, normal_score

__all__ = ["in_another_order", "past_deviations"]

REFERENCE: Final = 4
"""Values that a reference must have; with fewer on both sides of a block it takes the values of both sides."""

Array = NDArray[np.float64]


def past_deviations(levels: Sequence[Levels], scales: Scales, columns: int, depth: int, phi: float) -> Array:
    """Return the deviation of each block of ``depth`` values from its level, as normal scores.

    The result has a row for each benchmark and ``columns`` columns, with the score at the first commit of the block, nan for
    none. The reference of a block is the longer part of its level, before or after it: like a new value, the block stands
    at one end of what it is compared with. Levels are replayed one by one, so changes of level are no deviations.
    """
    scores = np.full((len(levels), columns), np.nan)
    shapes: dict[tuple[int, Prior], list[tuple[int, Array, NDArray[np.intp]]]] = {}
    for row, (history, prior) in enumerate(zip(levels, scales.priors, strict=True)):
        for values, places in history.parts:
            if values.size >= REFERENCE + depth:
                shapes.setdefault((values.size, prior), []).append((row, values, places))
    for (_, prior), found in shapes.items():
        rows = np.array([row for row, _, _ in found])
        values = np.stack([part for _, part, _ in found])
        places = np.stack([place for _, _, place in found])
        for first in range(values.shape[1] - depth + 1):
            deviation = _deviation(values, slice(first, first + depth), prior, scales.variance[rows], phi)
            scores[rows, places[:, first]] = deviation
    return scores


def in_another_order(levels: Sequence[Levels], order: NDArray[np.intp]) -> list[Levels]:
    """Return the levels with their values in another order; ``order`` has the rank of each commit, for all benchmarks.

    Where neighbours do not resemble each other, any order is as good, and shows other blocks.
    """
    reordered = []
    for row in levels:
        ranks = [first + np.argsort(order[columns]) for first, (_, columns) in zip(row.bounds, row.parts, strict=False)]
        places = np.concatenate(ranks)
        reordered.append(Levels(row.values[places], row.columns[places], row.bounds))
    return reordered


def _deviation(values: Array, block: slice, prior: Prior, fallback: Array, phi: float) -> Array:
    """Return the scores of one block of each row of ``values``, levels of one length.

    ``fallback`` is the variance of a row whose reference does not vary.
    """
    # The reference: the longer side, or both sides where that is too short.
    before, after = 0, values.shape[1]
    if block.start >= after - block.stop:
        after = block.start if block.start >= REFERENCE else after
    elif after - block.stop >= REFERENCE:
        before = block.stop
    inside = np.ones(values.shape[1], dtype=bool)
    inside[:before], inside[after:], inside[block] = False, False, False
    reference = values[:, inside]
    # Its level and noise, and how far the block lies from it.
    level = np.median(reference, axis=1)
    freedom = reference.shape[1] - 1
    own = np.square(reference - level[:, None]).sum(axis=1) / freedom
    variance = prior.moderate(own, float(freedom), level)
    variance = np.where(variance > 0, variance, fallback)
    distance = np.median(values[:, block], axis=1) - level
    error = np.sqrt(variance * difference_variance(block.start, block.stop - block.start, before, after, phi))
    t = np.divide(distance, error, out=np.zeros_like(distance), where=error > 0)
    return normal_score(t, freedom + prior.freedom)
