"""Medians of all beginnings of many series at once, and the squares around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Prefixes", "describe_prefixes"]

_ROUNDING: Final = 64 * float(np.finfo(np.float64).eps)
"""Share of the sums of squares that rounding may leave of a beginning whose values are all equal."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The beginnings of some series: column k is about the first k values.

    ``medians`` and ``squares`` are series x (longest length + 1); the first column and what lies beyond a series are nan.
    ``squares`` are the sums of the squared distances from the median.
    """

    medians: Array
    squares: Array


def describe_prefixes(series: Sequence[Array]) -> Prefixes:
    """Return the median of each beginning of each series (1-D, finite), and the squares around it.

    Beginnings are visited from the whole series down, and one value leaves at a time: a linked list in the order of the values
    gives its neighbours, so that the median moves by at most one place. O(n log n) time for each series of n values, where
    selecting each median anew takes O(n^2). All series are worked on at once; shorter ones end in infinite values, which
    leave first.
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
    least = _ROUNDING * (of_squares + counts * np.square(shift))
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
