"""Replay the past commits as if each had been the new one: how far unchanged values strayed from their level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family.levels import Levels
from knickpoint.detect.family.scale import Prior, Scales
from knickpoint.detect.family.serial import difference_variance, normal_score

# Medians of all beginnings of many series at once, and the squares around them.


_ROUNDING_OF_SQUARES: Final = 64 * float(np.finfo(np.float64).eps)
"""Share of the sums of squares that rounding may leave of a beginning whose values are all equal."""


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The beginnings of some series: column k is about the first k values.

    ``medians`` and ``squares`` are series x (longest length + 1); the first column and what lies beyond a series are
    nan. ``squares`` are the sums of the squared distances from the median.
    """

    medians: Array
    squares: Array


def describe_prefixes(series: Sequence[Array]) -> Prefixes:
    """Return the median of each beginning of each series (1-D, finite), and the squares around it.

    Beginnings are visited from the whole series down, and one value leaves at a time: a linked list in the order of the
    values gives its neighbours, so that the median moves by at most one place. O(n log n) time for each series of n
    values, where selecting each median anew takes O(n^2). All series are worked on at once; shorter ones end in
    infinite values, which leave first.
    """
    lengths = np.array([each.size for each in series])
    values = np.full((len(series), int(lengths.max())), np.inf)
    for row, each in zip(values, series, strict=True):
        row[: each.size] = each
    counts = np.arange(values.shape[1] + 1)
    beyond = (counts > lengths[:, None]) | (counts == 0)
    medians = np.where(beyond, np.nan, _medians(values))
    # Around the median of the whole series, sums of squares lose few digits.
    centre = np.take_along_axis(medians, lengths[:, None], axis=1)
    off = np.where(np.isinf(values), 0.0, values - centre)
    beginning = np.zeros((len(values), 1))
    sums = np.hstack([beginning, np.cumsum(off, axis=1)])
    of_squares = np.hstack([beginning, np.cumsum(np.square(off), axis=1)])
    shift = medians - centre
    squares = of_squares - 2 * shift * sums + counts * np.square(shift)
    least = _ROUNDING_OF_SQUARES * (of_squares + counts * np.square(shift))
    return Prefixes(medians, np.where(squares > least, squares, np.where(beyond, np.nan, 0.0)))


def _medians(values: Array) -> Array:
    """Return the medians of all beginnings of the rows; infinite values come last in a row."""
    count, length = values.shape
    rows = np.arange(count)
    order = np.argsort(values, axis=1, kind="stable")
    # Nodes 1 .. length stand for the values in ascending order; 0 and length + 1 are the ends of the list.
    node = np.empty((count, length), dtype=np.intp)
    np.put_along_axis(node, order, np.arange(1, length + 1)[None, :], axis=1)
    ascending = np.zeros((count, length + 2))
    ascending[:, 1:-1] = np.take_along_axis(values, order, axis=1)
    before = np.tile(np.arange(-1, length + 1), (count, 1))
    after = np.tile(np.arange(1, length + 3), (count, 1))
    medians = np.full((count, length + 1), np.nan)
    middle = np.full(count, (length - 1) // 2 + 1)
    for size in range(length, 0, -1):
        low = ascending[rows, middle]
        medians[:, size] = low if size % 2 else 0.5 * low + 0.5 * ascending[rows, after[rows, middle]]
        # The last value leaves. The lower middle of an even number stays in place, that of an odd one moves down.
        gone = node[:, size - 1]
        if size % 2:
            middle = np.where(gone >= middle, before[rows, middle], middle)
        else:
            middle = np.where(gone <= middle, after[rows, middle], middle)
        left, right = before[rows, gone], after[rows, gone]
        after[rows, left], before[rows, right] = right, left
    return medians


_SPARED: Final = 5
"""Samples of which one need not agree."""

_ROUNDING: Final = 1e-9

REFERENCE: Final = 4
"""Values that a reference must have; with fewer on both sides of a block it takes the values of both sides."""

Array = NDArray[np.float64]


def agreeing(count: int, depth: int) -> int:
    """Return the rank (from 0, ascending) of the sample that must lie above a bar for blocks of ``depth`` samples.

    Of blocks of two and three, all samples have to; of five, all but one. Of more samples than a block has, the rank is
    no higher among them than in a block, so that they stray no further.
    """
    quantile = (1 + depth // _SPARED) / (depth + 1)
    return max(math.floor(quantile * (count + 1) + _ROUNDING) - 1, 0) if count > 1 else 0


def past_deviations(levels: Sequence[Levels], scales: Scales, columns: int, depth: int, phi: float) -> Array:
    """Return the joint rises and falls of the values of each block of ``depth`` values, as normal scores.

    The result is 2 x benchmarks x ``columns``: how far the block rose, then how far it fell, at the first commit of the
    block, nan for none. What counts is :func:`agreeing`: the value that is nearest to the level or on the other side of
    it, where the score is below 0. The reference of a block is the longer part of its level, before or after it: like a
    new value, the block stands at one end of what it is compared with. Levels are replayed one by one, so changes of
    level are not deviations.
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
    """Return the scores of all blocks of all levels, up and down: levels x first values."""
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
