"""What observations say about the commits: priors of hypotheses times their evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.answers import evidence_of_answers
from knickpoint.bisect.search.evidence import Evidence, Predictions, log_sum
from knickpoint.bisect.search.gaps import Gaps, prior_of
from knickpoint.bisect.search.problem import Observation, Posterior, Problem
from knickpoint.bisect.search.values import evidence_of_one_change, evidence_of_values

__all__ = ["Belief", "believe", "believe_in_one_change", "posterior"]

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
        hypotheses: probability of each hypothesis of ``predictions``, given that there are not two changes; shape (m + 3,).
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
