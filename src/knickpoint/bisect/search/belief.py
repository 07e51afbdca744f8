"""What observations say about the commits: priors of hypotheses times their evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.linear_model import Evidence, Predictions, log_sum
from knickpoint.bisect.search.problem import Observation, Problem
from knickpoint.bisect.search.values import evidence_of_one_change, evidence_of_values
from knickpoint.model.posterior import Posterior

# The evidence of probes that pass or fail, with a known or an unknown rate of wrong answers.


_EXACT: Final = 1e-12
"""Error rate in place of 0, so that answers which contradict each other leave a posterior."""

_RATES: Final = np.array([0.002, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.27, 0.35, 0.43, 0.5])
"""Rates of failure to choose from where they are unknown; and 1 minus each."""

_LEAST_DIFFERENCE: Final = 0.15
"""Rates before and after that differ by less are not a change."""


def evidence_of_answers(problem: Problem, observations: Sequence[Observation]) -> Evidence:
    """Return the evidence of observations that pass or fail.

    A commit before the change fails with one rate, a commit after it with another, larger one. With a known error these
    are the error and 1 minus it; otherwise a grid of both rates is summed over, under Beta priors around the guess.
    Two changes are excluded: the second would take the first one back, so that the bad end passed.
    """
    where = np.array([observation.place for observation in observations], dtype=np.int64)
    failed = np.array([not observation.passed for observation in observations], dtype=np.float64)
    places, index = np.unique(where, return_inverse=True)
    fails = np.concatenate([[0.0], np.cumsum(np.bincount(index, failed, minlength=len(places)))])
    counts = np.concatenate([[0.0], np.cumsum(np.bincount(index, minlength=len(places)))])

    rates, weights = _rates(problem)
    hit, miss = np.log(rates), np.log1p(-rates)
    left = np.outer(fails, hit) + np.outer(counts - fails, miss)  # (gaps, rates): all places below the gap
    right = left[-1] - left
    joint = left[:, :, None] + right[:, None, :] + weights
    backwards = right[:, :, None] + left[:, None, :] + weights
    before, after = log_sum(weights, axis=1), log_sum(weights, axis=0)

    gaps = len(places) + 1
    return Evidence(
        places=places,
        none_before=float(log_sum(left[-1] + before)),
        none_after=float(log_sum(left[-1] + after)),
        single=log_sum(joint.reshape(gaps, -1), axis=1),
        reversed=log_sum(backwards.reshape(gaps, -1), axis=1),
        pair=np.full((gaps, gaps), -np.inf),
    )


def _rates(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rates of failure, shape (r,), and the log prior of (rate before, rate after), shape (r, r)."""
    error = min(max(problem.error or 0.0, _EXACT), 0.5 - _EXACT)
    if not problem.unknown_error:
        with np.errstate(divide="ignore"):
            return np.array([error, 1 - error]), np.log(np.array([[0.0, 1.0], [0.0, 0.0]]))
    rates = np.concatenate([_RATES, 1 - _RATES[-2::-1]])
    guess = min(max(error, 0.05), 0.5)
    cells = np.gradient(rates)
    before = cells * rates ** (2 * guess - 1) * (1 - rates) ** (2 * (1 - guess) - 1)
    after = cells * rates ** (1 - guess - 0.5) * (1 - rates) ** (guess - 0.5)
    prior = np.outer(before, after) * (rates[None, :] - rates[:, None] >= _LEAST_DIFFERENCE)
    with np.errstate(divide="ignore"):
        return rates, np.log(prior / prior.sum())


# The gaps between measured places: what the candidates inside one share, and how a posterior spreads over them.


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
        """Prior mass of two changes, the first in gap i and the second in gap j >= i.

        Shape (m + 1, m + 1), sums to 1.
        """
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
        # Two culprits in one gap: candidate c is one of them with probability 2 prior_c (mass - prior_c) / (mass^2 -
        # sum of squares).
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


_REVERSED: Final = 0.1
"""Share of "no commit made the change" in which a commit made one in the other direction."""


@dataclass(frozen=True, slots=True)
class Belief:
    """The posterior, and what planning and conclusions need beside it.

    Attributes:
        posterior: the probabilities of the contract.
        none_before: part of ``posterior.none`` in which all places have the level of the good end.
        none_after: part in which all places have the level of the bad end.
        reversed: part in which the levels change in the other direction.
        negligible: probability of changes that are too small to be the one in question: not part of ``posterior.none``.
        change: log Bayes factor of "a commit made the change" against "no commit did"; 0 without observations.
        second: log Bayes factor of several changes against one.
        between: probability of each place to lie between two changes; shape (candidates + 1,).
        hypotheses: probability of each hypothesis of ``predictions``, given that there are not two changes; shape (m +
            3,).
        predictions: the values that are expected next; None where probes pass or fail, and before the first value.
    """

    posterior: Posterior
    none_before: float
    none_after: float
    reversed: float
    negligible: float
    change: float
    second: float
    between: NDArray[np.float64]
    hypotheses: NDArray[np.float64]
    predictions: Predictions | None


def posterior(problem: Problem, observations: Sequence[Observation]) -> Posterior:
    """Return the probability of each candidate, of none and of several, given all observations."""
    return believe(problem, observations).posterior


def believe(problem: Problem, observations: Sequence[Observation]) -> Belief:
    """Weigh all hypotheses; the order of the observations does not matter."""
    return _weigh(problem, _evidence(problem, observations))


def believe_in_one_change(problem: Problem, observations: Sequence[Observation]) -> Belief:
    """Weigh one change of values and none."""
    return _weigh(replace(problem, several=0.0), evidence_of_one_change(problem, observations))


def _weigh(problem: Problem, evidence: Evidence) -> Belief:
    gaps = Gaps(evidence.places, prior_of(problem))
    with np.errstate(divide="ignore"):
        mass, pair_mass = np.log(gaps.mass), np.log(gaps.pair_mass)
    single = evidence.single + mass
    pairs = evidence.pair + pair_mass
    turned = float(log_sum(evidence.reversed + mass))
    none = np.array([evidence.none_before, evidence.none_after]) + math.log(0.5)
    if math.isfinite(turned):
        none = np.array([*(none + math.log1p(-_REVERSED)), turned + math.log(_REVERSED)])
    none_total, single_total, pair_total = float(log_sum(none)), float(log_sum(single)), float(log_sum(pairs))

    # Prior probabilities of none, one and several; what the evidence leaves of them.
    several = problem.several if problem.error is None else 0.0
    one = max(1.0 - problem.none - several, 0.0)
    logs = np.array([_log(problem.none) + none_total, _log(one) + single_total, _log(several) + pair_total])
    shares = np.exp(logs - log_sum(logs))
    of_none = shares[0] * np.exp(none - none_total)
    of_gaps = shares[1] * np.exp(single - single_total)
    of_pairs = shares[2] * np.exp(pairs - pair_total) if shares[2] > 0 else np.zeros_like(pairs)
    alone = gaps.spread(of_gaps)
    at_most_one = np.concatenate([of_gaps, of_none[:2]])
    changes = np.array([_log(one) + single_total, _log(several) + pair_total])
    change = float(log_sum(changes)) - _log(1.0 - problem.none) - none_total
    return Belief(
        posterior=Posterior(
            single=alone,
            none=float(shares[0]),
            several=float(shares[2]),
            marginal=alone + gaps.spread_pairs(of_pairs),
        ),
        none_before=float(of_none[0]),
        none_after=float(of_none[1]),
        reversed=float(of_none[2]) if len(of_none) == 3 else 0.0,
        negligible=_sum_of(of_gaps, evidence.negligible) + _sum_of(of_pairs, evidence.negligible_pair),
        change=change,
        second=pair_total - single_total,
        between=gaps.between_pairs(of_pairs),
        hypotheses=at_most_one / (at_most_one.sum() or 1.0),
        predictions=evidence.predictions,
    )


def _evidence(problem: Problem, observations: Sequence[Observation]) -> Evidence:
    if not observations:
        empty: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        pair = np.zeros((1, 1)) if problem.several > 0 else np.full((1, 1), -np.inf)
        return Evidence(empty, 0.0, 0.0, np.zeros(1), np.full(1, -np.inf), pair)
    if problem.error is None:
        return evidence_of_values(problem, observations)
    return evidence_of_answers(problem, observations)


def _sum_of(probability: NDArray[np.float64], share: NDArray[np.float64] | None) -> float:
    return 0.0 if share is None else float((probability * share).sum())


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf
