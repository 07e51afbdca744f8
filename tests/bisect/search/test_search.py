"""The search finds the commit, says when there is none, and never names what it cannot measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from knickpoint.bisect.search import conclude, moot, plan, posterior
from knickpoint.bisect.search.problem import (
    Budget,
    Conclusion,
    ConclusionKind,
    Level,
    Observation,
    PlannedProbe,
    Problem,
)
from knickpoint.model.bisection import ProbePurpose

Measure = Callable[[PlannedProbe], Observation]

KNOWN = {"before": Level(100.0, 1.0, 25), "after": Level(104.0, 1.0, 25), "movement": 1}


def search(
    problem: Problem, measure: Measure, devices: Sequence[str] = ("a",), limit: int = 200
) -> tuple[Conclusion, list[Observation], int]:
    """Play a search in rounds, until it ends."""
    observations: list[Observation] = []
    for rounds in range(limit):
        conclusion = conclude(problem, observations, Budget())
        if conclusion is not None:
            return conclusion, observations, rounds
        planned = plan(problem, observations, (), devices)
        assert planned, "a search that goes on plans something"
        observations += [measure(probe) for probe in planned]
    raise AssertionError("the search does not end")


def exact(culprit: int) -> Measure:
    return lambda probe: Observation(probe.place, probe.device, passed=probe.place < culprit)


def noisy(culprit: int, seed: int, *, size: float = 4.0, deviation: float = 1.0) -> Measure:
    rng = np.random.default_rng(seed)
    return lambda probe: Observation(
        probe.place, probe.device, 100.0 + size * (probe.place >= culprit) + deviation * rng.normal()
    )


@pytest.mark.parametrize("culprit", [1, 2, 9, 15, 16])
def test_exact_answers_find_each_culprit_of_sixteen_in_four_probes(culprit: int) -> None:
    conclusion, observations, _ = search(Problem(16, none=0, several=0, error=0.0), exact(culprit))
    assert conclusion.kind is ConclusionKind.CULPRIT
    assert conclusion.places == (culprit,)
    assert len(observations) <= 4


def test_a_failure_that_was_repaired_before_the_culprit_is_named() -> None:
    problem = Problem(16, error=0.0)
    failing = {8, 13, 16}
    observations = [Observation(place, "a", passed=place not in failing) for place in (0, 7, 8, 9, 12, 13, 16)]
    conclusion = conclude(problem, observations, Budget())
    assert conclusion is not None
    assert (conclusion.kind, conclusion.places) == (ConclusionKind.CULPRIT, (13,))
    assert conclusion.open == "another commit of the range may have caused failures, too: place 8 fails"
    alone = conclude(problem, [each for each in observations if each.place != 8], Budget())
    assert alone is not None
    assert (alone.places, alone.open) == ((13,), "")


def test_three_devices_find_one_of_sixteen_in_two_rounds() -> None:
    conclusion, _, rounds = search(Problem(16, none=0, several=0, error=0.0), exact(7), ("a", "b", "c"))
    assert (conclusion.places, rounds) == ((7,), 2)


@pytest.mark.parametrize("culprit", [1, 7, 20])
def test_measured_values_find_the_culprit(culprit: int) -> None:
    conclusion, _, _ = search(Problem(20, **KNOWN), noisy(culprit, 1))  # type: ignore[arg-type]
    assert conclusion.kind is ConclusionKind.CULPRIT
    assert conclusion.places == (culprit,)
    assert conclusion.probability >= 0.95


def test_measured_values_find_the_culprit_without_a_history() -> None:
    conclusion, _, _ = search(Problem(20), noisy(12, 2, size=8.0))
    assert (conclusion.kind, conclusion.places) == (ConclusionKind.CULPRIT, (12,))


def test_ends_that_do_not_differ_are_not_reproducible() -> None:
    conclusion, _, _ = search(Problem(20, **KNOWN), noisy(99, 3))  # type: ignore[arg-type]
    assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE


def test_the_first_probes_are_the_ends_on_one_device() -> None:
    problem = Problem(20, **KNOWN)  # type: ignore[arg-type]
    first = plan(problem, [], [], ["a"])
    second = plan(problem, [Observation(first[0].place, "a", 100.0)], [], ["b", "a"])
    ends = [probe for probe in (*first, *second) if probe.purpose is ProbePurpose.END]
    assert [(probe.place, probe.device) for probe in ends] == [(0, "a"), (20, "a")]


def test_commits_that_cannot_be_measured_leave_a_range() -> None:
    problem = Problem(16, none=0, several=0, error=0.0, skipped=frozenset({7, 8}))
    conclusion, observations, _ = search(problem, exact(8))
    assert (conclusion.kind, conclusion.places) == (ConclusionKind.RANGE, (7, 8, 9))
    assert not {observation.place for observation in observations} & {7, 8}


def test_probes_whose_answer_is_known_are_moot() -> None:
    problem = Problem(16, none=0, several=0, error=0.0)
    under_way = [PlannedProbe(4, "a"), PlannedProbe(12, "b")]
    assert moot(problem, [Observation(8, "c", passed=True)], under_way) == (under_way[0],)


def test_probabilities_sum_to_one() -> None:
    problem = Problem(20, **KNOWN)  # type: ignore[arg-type]
    measure = noisy(12, 4)
    observations = [measure(PlannedProbe(place, device)) for place in (0, 20, 5, 10, 15) for device in "ab"]
    result = posterior(problem, observations)
    assert result.single.sum() + result.none + result.several == pytest.approx(1.0)


def test_the_budget_ends_a_search_with_what_is_left() -> None:
    conclusion = conclude(
        Problem(16, none=0, several=0, error=0.0), [Observation(8, "a", passed=True)], Budget(probes=1, spent_probes=1)
    )
    assert conclusion is not None
    assert conclusion.kind is ConclusionKind.GAVE_UP
    assert set(conclusion.places) <= set(range(9, 17))
