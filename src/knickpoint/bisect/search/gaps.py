"""The gaps between measured places: what the candidates inside one share, and how a posterior spreads over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.problem import Problem

__all__ = ["Gaps", "inseparable_before", "prior_of"]


def prior_of(problem: Problem) -> NDArray[np.float64]:
    """Return the probability of each candidate to be the culprit, given that there is one; shape (candidates,)."""
    if problem.prior is None:
        return np.full(problem.candidates, 1.0 / problem.candidates)
    prior = np.asarray(problem.prior, dtype=np.float64)
    return np.asarray(prior / prior.sum())


@dataclass(frozen=True)
class Gaps:
    """The candidates, cut at the measured places.

    Gap ``g`` holds the candidates after place ``places[g - 1]``, up to and including place ``places[g]``; there is one
    gap more than places (the first begins at candidate 1, the last ends at the last candidate; both can be empty). No
    measurement distinguishes the candidates of a gap, so that their posterior is in proportion to their prior.

    Attributes:
        places: measured places, ascending; shape (m,).
        prior: probability of each candidate; shape (candidates,).
    """

    places: NDArray[np.int64]
    prior: NDArray[np.float64]

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """The gap of each candidate; shape (candidates,)."""
        index: NDArray[np.int64] = np.searchsorted(self.places, np.arange(1, len(self.prior) + 1), side="left")
        return index

    @cached_property
    def mass(self) -> NDArray[np.float64]:
        """Prior mass of each gap; shape (m + 1,)."""
        return np.asarray(np.bincount(self.index, self.prior, minlength=len(self.places) + 1), dtype=np.float64)

    @cached_property
    def pair_mass(self) -> NDArray[np.float64]:
        """Prior mass of two changes, the first in gap i and the second in gap j >= i; shape (m + 1, m + 1), sums to 1."""
        squares = np.bincount(self.index, self.prior**2, minlength=len(self.places) + 1)
        mass: NDArray[np.float64] = np.triu(np.outer(self.mass, self.mass), 1)
        mass[np.diag_indices_from(mass)] = np.maximum(self.mass**2 - squares, 0.0) / 2
        total = mass.sum()
        return mass / total if total > 0 else mass

    def spread(self, of_gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Spread the probability of each gap over its candidates; shape (candidates,)."""
        share = np.divide(of_gaps, self.mass, out=np.zeros_like(of_gaps), where=self.mass > 0)
        return self.prior * share[self.index]

    def spread_pairs(self, of_pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each candidate to be one of two culprits; shape (candidates,)."""
        same = np.diag(of_pairs)
        apart = of_pairs.sum(axis=0) + of_pairs.sum(axis=1) - 2 * same
        # Two culprits in one gap: candidate c is one of them with probability 2 prior_c (mass - prior_c) / (mass^2 - sum of squares).
        weights = self.prior * (self.mass[self.index] - self.prior)
        totals = np.bincount(self.index, weights, minlength=len(self.mass))
        share = np.divide(2 * same, totals, out=np.zeros_like(totals), where=totals > 0)
        return self.spread(apart) + weights * share[self.index]

    def between_pairs(self, of_pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each place to lie between two changes; shape (candidates + 1,).

        It is that of the first change to be at or before the place, less that of the second. Two changes of one gap are
        independent of each other there.
        """
        same = np.diag(of_pairs)
        begins = self.spread(of_pairs.sum(axis=1) - of_pairs.sum(axis=0))
        below = np.cumsum(self.prior) - np.concatenate([[0.0], np.cumsum(self.mass)])[self.index]
        mass = self.mass[self.index]
        share = np.divide(below, mass, out=np.zeros_like(below), where=mass > 0)
        inside = np.cumsum(begins) + same[self.index] * 2 * share * (1 - share)
        return np.concatenate([[0.0], np.clip(inside, 0.0, 1.0)])


def inseparable_before(problem: Problem) -> NDArray[np.int64]:
    """Return for each candidate the number of its class; shape (candidates,).

    Candidates c and c + 1 are of one class where place c is skipped: no measurement can separate them.
    """
    separable = np.ones(problem.candidates, dtype=np.int64)
    separable[0] = 0
    skipped = [place for place in problem.skipped if 0 < place < problem.candidates]
    separable[skipped] = 0
    return np.cumsum(separable)
