"""The evidence of probes that pass or fail, with a known or an unknown rate of wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.evidence import Evidence, log_sum
from knickpoint.bisect.search.problem import Observation, Problem

__all__ = ["evidence_of_answers"]

_EXACT: Final = 1e-12
"""Error rate in place of 0, so that answers which contradict each other leave a posterior."""

_RATES: Final = np.array([0.002, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.27, 0.35, 0.43, 0.5])
"""Rates of failure to choose from where they are unknown; and 1 minus each."""

_LEAST_DIFFERENCE: Final = 0.15
"""Rates before and after that differ by less are no change."""


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
