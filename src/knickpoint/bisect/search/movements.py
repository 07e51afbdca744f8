"""Movements between levels: their signs, and which are too small to be the change in question."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.cautious import CautiousFit
from knickpoint.bisect.search.evidence import log_sum
from knickpoint.bisect.search.knowledge import Scale
from knickpoint.bisect.search.linear_model import Estimate
from knickpoint.bisect.search.problem import Problem

__all__ = ["least_movement", "log_positive", "negligible", "negligible_steps"]

Array = NDArray[np.float64]

_NEGLIGIBLE: Final = 0.5
"""A movement of less than this share of that of the history is not the change in question."""


def least_movement(problem: Problem, scale: Scale) -> float:
    """Return half the movement of the history, in the unit of the scale, with its sign; 0 without one: then it is the noise."""
    if problem.before.count and problem.after.count:
        return (problem.after.mean - problem.before.mean) / scale.unit * _NEGLIGIBLE
    return 0.0


def negligible(fitted: Estimate | CautiousFit, evidence: Array, least: float) -> Array:
    """Return the probability of each single change to be smaller than half that of the history, or than the noise without one."""
    shares = np.exp(evidence - log_sum(evidence, axis=0))
    deviation = np.sqrt(fitted.movement_variance * fitted.variance)
    movement = fitted.movement * np.sign(least) if least else np.abs(fitted.movement)
    bound = abs(least) or np.sqrt(fitted.variance)
    return np.asarray((shares * np.exp(log_positive((bound - movement) / deviation))).sum(axis=0))


def negligible_steps(fitted: Estimate, least: float) -> Array:
    """Return the probability that all levels that were measured are closer together than the least movement; shape (a, h).

    The level of a segment without values is not known, and no reason to go on: measuring places decides what was seen.
    """
    seen = fitted.count.sum(axis=2) > 0  # (h, k)
    bound = abs(least) or np.sqrt(fitted.variance)
    small = np.ones(fitted.variance.shape)
    for first, second in combinations(range(seen.shape[1]), 2):
        covariance = fitted.covariance
        spread = covariance[..., first, first] + covariance[..., second, second] - 2 * covariance[..., first, second]
        movement = np.abs(fitted.levels[..., second] - fitted.levels[..., first])
        probability = np.exp(log_positive((bound - movement) / np.sqrt(spread * fitted.variance)))
        small = np.minimum(small, np.where(seen[:, first] & seen[:, second], probability, 1.0))
    return small


def log_positive(standard: Array) -> Array:
    """Return the log probability that a quantity is positive, from its estimate in standard deviations (logistic)."""
    return np.asarray(-np.logaddexp(0.0, -1.702 * standard))
