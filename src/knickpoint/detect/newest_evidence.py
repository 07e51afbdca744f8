"""Weigh whether the values since a change belong to the values before it, with little regard to the law of the noise.

A series is looked at again with every value, so a test of the newest values has to be strict enough for all looks:

- *ranks*: how probable it is that so many of the pairs of a new and an old value are ordered as they are, if the values
  could come in any order (the exact law of Mann and Whitney, Ann. Math. Stat. 18 (1947)); exact for independent values;
- *distance*: a value lies d standard deviations or more beyond its mean with probability 1 / (1 + d^2) at most, in any
  distribution (Cantelli), and all of the new values lie at least that far out; the mean and the deviation of the values
  before are taken as the true ones.

Neighbours that resemble each other say less: both are weakened by the autocorrelation. The evidence is the stronger of
the two. ``docs/decisions/identity-and-settling.md`` has the bound and where it comes from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.step import Check

BOUND: Final = -5.0
"""The evidence, as a power of ten, that makes a change certain.

Chosen by a simulation of independent normal values with 60 before, and by the ranks alone: of all numbers
of newest values from 3 to 24, some reached 1e-4 at 0.63, 1e-5 at 0.08 and 1e-6 at 0.01 of 1,000 looks. With 100 values
before and both directions it is 0.22 at 1e-5.
"""

MOST_BEFORE: Final = 100
"""Newest values of the region before that the new ones are compared with."""

_FEWEST: Final = 8
"""Values before the change that give a standard deviation and an autocorrelation."""

_UNKNOWN_PHI: Final = 0.3
"""The autocorrelation that is assumed where there are fewer."""

_SMALLEST: Final = 1e-300
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class NewestEvidence:
    """How well the newest values are explained by the values before them.

    Attributes:
        newest: how many there are.
        before: how many values before them they are compared with.
        ordered: share of the pairs of an old and a new value in which the new one lies in the direction of the change.
        phi: autocorrelation at lag 1 of the ranks of the values before.
        distance: standard deviations from their mean to the nearest of the new values, 0 where it is on the other side.
        ranks: logarithm to base 10 of the probability by ranks.
        distances: the same by distance, 0 where there are too few values before.
    """

    newest: int
    before: int
    ordered: float
    phi: float
    distance: float
    ranks: float
    distances: float

    @property
    def strength(self) -> float:
        """Return the stronger of both, as a power of ten."""
        return min(self.ranks, self.distances)

    @property
    def certain(self) -> bool:
        """Whether noise reaches it so rarely that the change is certain."""
        return self.strength <= BOUND

    def checks(self) -> tuple[Check, ...]:
        """Return the evidence as numbers with their bound."""
        return (
            Check("values since the change", float(self.newest)),
            Check("values before it that they are compared with", float(self.before)),
            Check("pairs of them in the order of the change", self.ordered),
            Check("autocorrelation of the ranks before", self.phi),
            Check("nearest new value, in standard deviations before", self.distance),
            Check("chance of noise by ranks, power of ten", self.ranks),
            Check("chance of noise by distance, power of ten", self.distances),
            Check("chance of noise at any look, power of ten", self.strength, "<=", BOUND, self.certain),
        )


def weigh_newest(before: NDArray[np.float64], newest: NDArray[np.float64], *, up: bool) -> NewestEvidence:
    """Weigh whether the ``newest`` values lie above (``up``) or below the values ``before``; both are without gaps.

    Complexity O(n log n + k^2 n) for n values before, at most :data:`MOST_BEFORE`, and k new ones.
    """
    sign = 1.0 if up else -1.0
    old, new = sign * before[-MOST_BEFORE:], sign * newest
    # Ties count against the change.
    pairs = int(np.searchsorted(np.sort(old), new, side="left").sum())
    phi = _rank_autocorrelation(old) if old.size >= _FEWEST else _UNKNOWN_PHI
    share = (1 - phi) / (1 + phi)
    distance = _nearest_distance(old, new) if old.size >= _FEWEST else 0.0
    return NewestEvidence(
        newest=new.size,
        before=old.size,
        ordered=pairs / (old.size * new.size),
        phi=phi,
        distance=distance,
        ranks=_weakened(rank_chance(old.size, new.size, pairs), share),
        distances=0.0 - new.size * share * 2 * math.log10(math.hypot(1, distance)),
    )


def rank_chance(before: int, newest: int, pairs: int) -> float:
    """Return the probability of at least ``pairs`` ordered pairs, if the values could come in any order."""
    short = before * newest - pairs
    # Count the orders with exactly j pairs the other way, j = 0 … short: the coefficients of a Gaussian binomial.
    ways = np.zeros(short + 1)
    ways[0] = 1.0
    for part in range(1, newest + 1):
        shift = before + part
        if shift <= short:
            ways[shift:] -= ways[:-shift].copy()
        padded = np.pad(ways, (0, -ways.size % part)).reshape(-1, part)
        ways = padded.cumsum(axis=0).ravel()[: short + 1]
    orders = math.comb(before + newest, newest)
    return min(1.0, max(float(ways.sum()) / orders, _SMALLEST))


def _weakened(chance: float, share: float) -> float:
    """Return the logarithm of ``chance`` as if only a ``share`` of the values said something of their own."""
    if chance >= 0.5 or share >= 1:
        return math.log10(chance)
    distance = -_NORMAL.inv_cdf(chance) * math.sqrt(share)
    return math.log10(max(math.erfc(distance / math.sqrt(2)) / 2, _SMALLEST))


def _rank_autocorrelation(values: NDArray[np.float64]) -> float:
    """Return the autocorrelation of the ranks at lag 1, between 0 and 0.8, corrected for its bias (Kendall 1954)."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable") - (values.size - 1) / 2
    first = float((ranks[1:] * ranks[:-1]).sum() / np.square(ranks).sum())
    return min(max(first + (1 + 3 * first) / values.size, 0.0), 0.8)


def _nearest_distance(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return the standard deviations by which the lowest new value lies above the mean of the old ones, 0 if below."""
    unit = float(max(np.abs(old).max(), np.abs(new).max())) or 1.0
    scaled, lowest = old / unit, float(new.min()) / unit
    gap, scale = lowest - float(scaled.mean()), float(scaled.std(ddof=1))
    if gap <= 0:
        return 0.0
    return gap / scale if scale > 1e-12 else math.inf
