"""How consecutive values resemble each other, and what that means for the difference of two blocks of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family.levels import Levels

FEWEST: Final = 5
"""Values that a level must have to show autocorrelation."""

LARGEST: Final = 0.9
"""The largest autocorrelation that is reckoned with."""

CLEAR: Final = 200
"""Values from which on an autocorrelation within two standard errors of 0 counts as none."""

_SIDE_ERRORS: Final = 0.5
"""Standard errors by which the estimated spread of the samples of one side is lowered, to be on the safe side."""

_RANK_DEVIATION: Final = 1 / math.sqrt(12)
"""Standard deviation of a rank that is uniform on 0 to 1."""

Array = NDArray[np.float64]


def autocorrelation(levels: Sequence[Levels]) -> float:
    """Return the common autocorrelation at lag one, 0 to 0.9, a standard error higher than it looks.

    The bias of an estimated level, (1 + 3 phi) / n, is taken out (Kendall 1954).
    """
    products = squares = 0.0
    count = parts = 0
    for part in (part for row in levels for part, _ in row.parts):
        spread = float(part.std())
        if part.size < FEWEST or not spread > 0:
            continue
        residual = np.clip((part - part.mean()) / spread, -3, 3)
        products += float((residual[1:] * residual[:-1]).sum())
        squares += float(np.square(residual).sum())
        count, parts = count + part.size, parts + 1
    if not squares > 0:
        return 0.0
    found = products / squares
    found += (1 + 3 * found) * parts / count
    error = 1 / math.sqrt(count)
    if count >= CLEAR and found <= 2 * error:
        return 0.0
    return min(max(found + error, 0.0), LARGEST)


def _median_to_mean(count: int) -> float:
    """Return the variance of the median of so many normal values over that of their mean, to 3 % for odd numbers."""
    odd = count - 1 + count % 2
    return math.pi * odd / (2 * odd + math.pi - 2)


@lru_cache(maxsize=4096)
def difference_variance(first: int, block: int, before: int, after: int, phi: float) -> float:
    """Return the variance of the median of a block less that of its reference, over what the reference shows of it.

    The block begins at ``first`` and has ``block`` values; the reference are the values from ``before`` (inclusive) to
    ``after`` (exclusive) without those of the block. All are values of one series with the autocorrelation ``phi``.
    """
    everything = np.arange(before, after)
    reference = everything[(everything < first) | (everything >= first + block)]
    places = np.concatenate([np.arange(first, first + block), reference])
    resemblance = phi ** np.abs(places[:, None] - places) if phi > 0 else np.eye(places.size)
    of_block = float(resemblance[:block, :block].mean()) * _median_to_mean(block)
    of_level = float(resemblance[block:, block:].mean())
    both = float(resemblance[:block, block:].mean())
    count = reference.size
    shown = count * (1 - of_level) / (count - 1) if count > 1 else 1.0
    return (of_block + of_level * _median_to_mean(count) - 2 * both) / max(shown, 1e-3)


def side_correlation(histories: Sequence[Array], samples: Sequence[Array], depth: int) -> float:
    """Return the correlation of the samples of the new side beyond that of neighbours in the history, 0 to 1.

    Samples of one machine at one time vary less than values of the history do. The range of each ``depth`` samples in a
    row is ranked among those of the history; under the same noise the mean rank is a half. The factor by which the
    ranges have to grow for that is the missing spread, which all samples of a side have in common.
    """
    view = np.lib.stride_tricks.sliding_window_view
    known = [
        (np.sort(np.ptp(view(past, depth), axis=1)), np.ptp(view(new, depth), axis=1))
        for past, new in zip(histories, samples, strict=True)
        if past.size >= FEWEST and new.size >= depth and np.ptp(past) > 0
    ]
    if not known:
        return 0.0

    def mean_rank(factor: float) -> float:
        """Return the mean rank of the new ranges, stretched by ``factor``."""
        ranks = [
            np.mean(np.searchsorted(past, new * factor, "left") + np.searchsorted(past, new * factor, "right"))
            / (2 * past.size)
            for past, new in known
        ]
        return float(np.mean(ranks))

    wanted = 0.5 + _SIDE_ERRORS * _RANK_DEVIATION / math.sqrt(len(known))
    low, high = 1.0, 1e3
    if mean_rank(low) >= wanted:
        return 0.0
    if mean_rank(high) < wanted:
        return 1.0
    for _ in range(20):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if mean_rank(middle) < wanted else (low, middle)
    return 1 - 1 / high**2


def normal_score(t: Array, freedom: Array | float) -> Array:
    """Return the normal deviate with the tail probability of Student's ``t``, to 1 % (Wallace 1959)."""
    factor = (8 * freedom + 1) / (8 * freedom + 3)
    with np.errstate(over="ignore"):  # the score of a t that large is infinite
        score: Array = np.sign(t) * factor * np.sqrt(freedom * np.log1p(t * t / freedom))
    return score


def from_normal_score(score: float, freedom: Array) -> Array:
    """Return the t with the normal deviate ``score`` >= 0: the inverse of :func:`normal_score`."""
    factor = (8 * freedom + 1) / (8 * freedom + 3)
    exponent = np.minimum((score / factor) ** 2 / freedom, 700.0)
    t: Array = np.sqrt(freedom * np.expm1(exponent))
    return t
