"""Replay the past commits as if each had been the new one: how far unchanged values strayed from their level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family.levels import Levels
from knickpoint.detect.family.prefixes import describe_prefixes
from knickpoint.detect.family.scale import Prior, Scales
from knickpoint.detect.family.serial import difference_variance, normal_score

__all__ = ["agreeing", "in_another_order", "past_deviations"]

_SPARED: Final = 5
"""Samples of which one need not agree."""

_ROUNDING: Final = 1e-9

REFERENCE: Final = 4
"""Values that a reference must have; with fewer on both sides of a block it takes the values of both sides."""

Array = NDArray[np.float64]


def agreeing(count: int, depth: int) -> int:
    """Return the rank, from 0 in ascending order, of the sample that has to lie above a bar for blocks of ``depth`` samples.

    Of blocks of two and three, all samples have to; of five, all but one. Of more samples than a block has, the rank is no
    higher among them than in a block, so that they stray no further.
    """
    quantile = (1 + depth // _SPARED) / (depth + 1)
    return max(math.floor(quantile * (count + 1) + _ROUNDING) - 1, 0) if count > 1 else 0


def past_deviations(levels: Sequence[Levels], scales: Scales, columns: int, depth: int, phi: float) -> Array:
    """Return how far the values of each block of ``depth`` values rose and fell together, as normal scores.

    The result is 2 x benchmarks x ``columns``: how far the block rose, then how far it fell, at the first commit of the
    block, nan for none. What counts is :func:`agreeing`: the value that is nearest to the level or on the other side of it,
    where the score is below 0. The reference of a block is the longer part of its level, before or after it: like a new
    value, the block stands at one end of what it is compared with. Levels are replayed one by one, so changes of level are
    no deviations.
    """
    scores = np.full((2, len(levels), columns), np.nan)
    parts: dict[Prior, list[_Part]] = {}
    for row, (history, prior) in enumerate(zip(levels, scales.priors, strict=True)):
        for values, places in history.parts:
            if values.size >= REFERENCE + depth:
                part = _Part(row, values, places, float(scales.variance[row]))
                parts.setdefault(prior, []).append(part)
    for prior, found in parts.items():
        of_parts = _deviations(found, prior, depth, phi)
        for place, part in enumerate(found):
            blocks = part.values.size - depth + 1
            scores[:, part.row, part.places[:blocks]] = of_parts[:, place, :blocks]
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


@dataclass(frozen=True, slots=True)
class _Part:
    """One level: the row of its benchmark, its values and their commits, and the variance where no reference varies."""

    row: int
    values: Array
    places: NDArray[np.intp]
    fallback: float


def _deviations(parts: Sequence[_Part], prior: Prior, depth: int, phi: float) -> Array:
    """Return the scores of all blocks of all levels: up and down, a row a level, a column for each first value of a block."""
    lengths = np.array([part.values.size for part in parts])[:, None]
    left = np.arange(int(lengths.max()) - depth + 1)[None, :]
    right = lengths - depth - left
    exists = right >= 0

    # The reference: the longer side, or both sides where that is too short. Of both sides there are few.
    count = np.where(exists, np.maximum(left, right), 0)
    level, squares = _longer_side(parts, left, right, count)
    for row, first in np.argwhere(exists & (count < REFERENCE)):
        rest = np.delete(parts[row].values, np.arange(first, first + depth))
        level[row, first] = np.median(rest)
        squares[row, first] = np.square(rest - level[row, first]).sum()
    ratio = _ratios(left, right, count, depth, phi)
    count = np.where(count < REFERENCE, np.maximum(left + right, 1), count)

    # Its noise, and how far each block lies from it.
    freedom = np.maximum(count - 1, 1).astype(np.float64)
    variance = prior.moderate(squares / freedom, freedom, level)
    variance = np.where(variance > 0, variance, np.array([part.fallback for part in parts])[:, None])
    low, high = _block_ends(parts, depth, left.size)
    distance = np.stack([low - level, level - high])
    error = np.sqrt(variance * ratio)
    t = np.divide(distance, error, out=np.zeros_like(distance), where=error > 0)
    return np.where(exists, normal_score(t, freedom + prior.freedom), np.nan)


def _longer_side(
    parts: Sequence[_Part], left: NDArray[np.intp], right: NDArray[np.intp], count: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Return the medians of the longer sides of all blocks, and the squares around them."""
    beginnings = describe_prefixes([part.values for part in parts])
    ends = describe_prefixes([part.values[::-1] for part in parts])
    return (
        np.where(
            left >= right,
            np.take_along_axis(beginnings.medians, count, axis=1),
            np.take_along_axis(ends.medians, count, axis=1),
        ),
        np.where(
            left >= right,
            np.take_along_axis(beginnings.squares, count, axis=1),
            np.take_along_axis(ends.squares, count, axis=1),
        ),
    )


def _ratios(left: NDArray[np.intp], right: NDArray[np.intp], count: NDArray[np.intp], depth: int, phi: float) -> Array:
    """Return the variance of each distance over what its reference shows of the variance of a value."""
    # A reference after the block is the mirror of one before it.
    one_sided = np.array([difference_variance(n, depth, 0, n, phi) if n else 1.0 for n in range(int(count.max()) + 1)])
    ratio: Array = one_sided[count]
    for row, first in np.argwhere((right >= 0) & (count < REFERENCE)):
        length = int(first + depth + right[row, first])
        ratio[row, first] = difference_variance(int(left[0, first]), depth, 0, length, phi)
    return ratio


def _block_ends(parts: Sequence[_Part], depth: int, columns: int) -> tuple[Array, Array]:
    """Return the values of each block of each level that count for a rise and for a fall, nan beyond the level."""
    low, high = np.full((2, len(parts), columns), np.nan)
    rank = agreeing(depth, depth)
    for row, part in enumerate(parts):
        blocks = np.sort(np.lib.stride_tricks.sliding_window_view(part.values, depth), axis=1)
        low[row, : len(blocks)], high[row, : len(blocks)] = blocks[:, rank], blocks[:, depth - 1 - rank]
    return low, high
