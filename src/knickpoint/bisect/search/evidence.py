"""The evidence of observations: how well each hypothesis explains them, before any prior of commits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Evidence", "Predictions", "log_sum"]


@dataclass(frozen=True, slots=True)
class Predictions:
    """What each hypothesis expects of the next value, in the unit of the search.

    The hypotheses are one change in each of the m + 1 gaps, then "no change" at the level of the good end and at that of
    the bad end; h = m + 3.

    Attributes:
        devices: names of the devices that have measured.
        before: the expected value of each device at a place before the change; shape (h, devices).
        after: the same at a place after it.
        variance: variance of the value around it, with that of the level before, or after; shape (h, 2).
    """

    devices: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    variance: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Logarithms of the probability of all observations, each under one hypothesis; common terms are left out.

    Attributes:
        places: measured places, ascending; shape (m,).
        none_before: no change, and all places have the level of the good end.
        none_after: no change, and all places have the level of the bad end.
        single: one change, in each gap; shape (m + 1,), see :class:`~knickpoint.bisect.search.gaps.Gaps`.
        reversed: one change in the other direction, in each gap; shape (m + 1,). -inf where each direction is the change.
        pair: two changes, the first in gap i and the second in gap j >= i; shape (m + 1, m + 1), -inf below the diagonal.
        predictions: the values that are expected next; None where probes pass or fail.
        negligible: probability of each single change to be too small to be the change in question; shape (m + 1,), or None.
        negligible_pair: the same of each two changes, as far as they were measured; shape (m + 1, m + 1), or None.
    """

    places: NDArray[np.int64]
    none_before: float
    none_after: float
    single: NDArray[np.float64]
    reversed: NDArray[np.float64]
    pair: NDArray[np.float64]
    predictions: Predictions | None = None
    negligible: NDArray[np.float64] | None = None
    negligible_pair: NDArray[np.float64] | None = None


def log_sum(values: NDArray[np.float64], axis: int | None = None) -> NDArray[np.float64]:
    """Return the logarithm of the sum of ``exp(values)``, along an axis or of all; -inf where all are."""
    top = np.max(values, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(values - top), axis=axis, keepdims=True)) + top
    return np.asarray(np.squeeze(total, axis=axis))
