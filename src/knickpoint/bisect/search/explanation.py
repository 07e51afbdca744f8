"""Explanations: the numbers behind a conclusion, for the command and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from knickpoint.bisect.search.belief import believe
from knickpoint.bisect.search.problem import Observation, Problem
from knickpoint.bisect.search.values import best_fit

__all__ = ["EstimatedLevel", "Explanation", "explain"]

_INTERVAL = 1.96
"""Half the width of an interval of 95 %, in standard deviations."""


@dataclass(frozen=True, slots=True)
class EstimatedLevel:
    """A level as estimated, and the interval that holds it with 95 %.

    It is in the unit of the values, or where probes pass or fail, the rate of failures.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The numbers behind a posterior.

    Attributes:
        before: the level of the good end.
        after: the level of the bad end; the same where "no change" explains the values best.
        noise: standard deviation of single values; nan where probes pass or fail.
        offsets: how much each device is above the others, in the unit of the values; sorted by name.
        weights: the weight of each observation, in the order given; near 0 is an outlier that counts as nothing.
        change: log Bayes factor (natural) of "a commit of the range made the change" against "none did".
        second: the same of two changes against one; -inf where two are excluded.
        reversed: probability that the ends differ in the other direction.
    """

    before: EstimatedLevel
    after: EstimatedLevel
    noise: float
    offsets: tuple[tuple[str, float], ...]
    weights: tuple[float, ...]
    change: float
    second: float
    reversed: float


def explain(problem: Problem, observations: Sequence[Observation]) -> Explanation | None:
    """Return the numbers behind the posterior of these observations, or None without observations."""
    if not observations:
        return None
    belief = believe(problem, observations)
    if problem.error is None:
        before, after, noise, offsets, weights = _of_values(problem, observations)
    else:
        before, after = _rates(problem, observations)
        noise, offsets, weights = float("nan"), (), (1.0,) * len(observations)
    return Explanation(before, after, noise, offsets, weights, belief.change, belief.second, belief.reversed)


def _of_values(
    problem: Problem, observations: Sequence[Observation]
) -> tuple[EstimatedLevel, EstimatedLevel, float, tuple[tuple[str, float], ...], tuple[float, ...]]:
    values, found, weights = best_fit(problem, observations)
    unit, centre = values.scale.unit, values.scale.centre
    levels = [
        EstimatedLevel(*(float(centre + unit * (mean + side * deviation)) for side in (0.0, -_INTERVAL, _INTERVAL)))
        for mean, deviation in zip(found.levels, found.deviations, strict=True)
    ]
    offsets = zip(values.devices, (float(offset) * unit for offset in found.offsets), strict=True)
    in_order = tuple(float(weight) for weight in weights[np.argsort(values.order)])
    return levels[0], levels[-1], found.noise * unit, tuple(offsets), in_order


def _rates(problem: Problem, observations: Sequence[Observation]) -> tuple[EstimatedLevel, EstimatedLevel]:
    """Return the rates of failure on both sides of the likeliest candidate (Agresti and Coull's interval)."""
    culprit = int(np.argmax(believe(problem, observations).posterior.marginal)) + 1
    rates = []
    for after in (False, True):
        answers = [not o.passed for o in observations if (o.place >= culprit) == after]
        count = len(answers) + _INTERVAL**2
        rate = (sum(answers) + _INTERVAL**2 / 2) / count
        half = _INTERVAL * (rate * (1 - rate) / count) ** 0.5
        mean = sum(answers) / len(answers) if answers else float(after)
        rates.append(EstimatedLevel(mean, max(rate - half, 0.0), min(rate + half, 1.0)))
    return rates[0], rates[1]
