"""Movements between levels: their signs, and which are too small to be the change in question."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.knowledge import Scale
from knickpoint.bisect.search.linear_model import Estimate
from knickpoint.bisect.search.mixture import Change
from knickpoint.bisect.search.problem import Problem

__all__ = ["change_in_question", "least_movement", "log_positive", "negligible_steps"]

Array = NDArray[np.float64]

_NEGLIGIBLE: Final = 0.5
"""A movement of less than this share of that of the history is not the change in question."""


def least_movement(problem: Problem, scale: Scale) -> float:
    """Return the least movement that counts, in the unit of the scale; 0 where that is the noise.

    It is the one that is asked for, or half that of the history.
    """
    if problem.least:
        return problem.least * abs(scale.centre) / scale.unit
    if problem.before.count and problem.after.count:
        return abs(problem.after.mean - problem.before.mean) / scale.unit * _NEGLIGIBLE
    return 0.0


def change_in_question(problem: Problem, scale: Scale) -> Change:
    """Return which changes count, in the unit of the scale."""
    if problem.least:
        return Change(problem.movement, problem.least, -scale.centre / scale.unit)
    return Change(problem.movement, least_movement(problem, scale))


def negligible_steps(fitted: Estimate, least: float) -> Array:
    """Return the probability that all levels that were measured are closer together than the least movement; shape (a, h).

    The level of a segment without values is not known, and no reason to go on: measuring places decides what was seen.
    """
    seen = fitted.count.sum(axis=2) > 0  # (h, k)
    bound = least or np.sqrt(fitted.variance)
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
