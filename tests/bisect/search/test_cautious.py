"""What is stated holds for noise with heavy tails as well: the cautious evidence, and what it asks to measure again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from knickpoint.bisect.search import conclude, plan, posterior
from knickpoint.bisect.search.cautious import fit_cautiously
from knickpoint.bisect.search.linear_model import LevelPrior
from knickpoint.bisect.search.problem import Budget, ConclusionKind, Level, Observation, Problem
from knickpoint.bisect.search.standing import Standing
from knickpoint.model.bisection import ProbePurpose

PROBLEM = Problem(16, none=0, several=0, before=Level(0.0, 1.0, 30), after=Level(4.0, 1.0, 30), movement=1)


def prior() -> LevelPrior:
    one = np.ones(1)
    return LevelPrior.of(
        np.array([[0.0, 3.0]]),
        np.diag([1e-6, 1e-6])[None],
        offset=1e-4 * one,
        shape=1e6 * one,
        scale=1e6 * one,
        probability=one,
    )


def test_a_value_under_known_levels_counts_as_the_mixture_of_shapes_says() -> None:
    value = 1.0
    after = np.array([[False], [True]])
    evidence = fit_cautiously(np.array([value]), np.ones((1, 1)), after, prior(), np.zeros((1, 1))).log_evidence
    # Shapes of noise in the order of the module: normal, Student's t, normal twice as wide after, before, both; wide t.
    for row, (freedom, before, wide) in enumerate([(0, 1, 1), (3, 1, 1), (0, 1, 2), (0, 2, 1), (0, 2, 2), (3, 2, 2)]):
        expected = [
            density(value / before, freedom) - math.log(before),
            density((value - 3) / wide, freedom) - math.log(wide),
        ]
        assert evidence[row, 0] - evidence[row, 1] == pytest.approx(expected[0] - expected[1], abs=0.02)


def density(standard: float, freedom: int) -> float:
    """Return the log density of a standard value, without constants of its shape."""
    if freedom:
        return -(freedom + 1) / 2 * math.log1p(standard**2 / freedom)
    return -(standard**2) / 2


def test_one_value_on_each_side_is_measured_again_before_a_culprit_is_stated() -> None:
    observations = [Observation(place, "a", 4.0 * (place >= 9)) for place in (0, 4, 8, 9, 12, 16)]
    standing = Standing(PROBLEM, observations)
    assert standing.likely_culprits == (8,)
    assert conclude(PROBLEM, observations, Budget()) is None
    assert [probe.purpose for probe in plan(PROBLEM, observations, (), ["a"])] == [ProbePurpose.VERIFY]
    again = [*observations, *(Observation(place, "a", 4.0 * (place >= 9)) for place in (8, 9))]
    conclusion = conclude(PROBLEM, again, Budget())
    assert conclusion is not None
    assert (conclusion.kind, conclusion.places) == (ConclusionKind.CULPRIT, (9,))
    assert 0.95 <= conclusion.probability <= posterior(PROBLEM, again).marginal[8]


@pytest.mark.parametrize("levels", [{}, {"before": Level(0.0, 1.0, 25), "after": Level(3.0, 1.0, 25), "movement": 1}])
def test_ends_that_hardly_differ_are_not_reproducible_after_few_probes(levels: dict[str, Level]) -> None:
    problem = Problem(64, **levels)  # type: ignore[arg-type]
    random = np.random.default_rng(1)
    observations: list[Observation] = []
    while (conclusion := conclude(problem, observations, Budget())) is None and len(observations) < 40:
        planned = plan(problem, observations, (), ["a"])
        observations += [Observation(probe.place, "a", float(random.standard_normal())) for probe in planned]
    assert conclusion is not None
    assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE
