"""A search without a budget ends, whatever the noise, the devices and the place of the culprit."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.bisect.search import conclude, moot, plan
from knickpoint.bisect.search.problem import Budget, ConclusionKind, Level, Observation, Problem
from knickpoint.bisect.search.standing import Standing

MOST = 200


def probes_to_the_end(problem: Problem, culprits: set[int], devices: int, seed: int, delta: float = 3.0) -> int:
    """Play a search in rounds and count its probes; an assertion where it takes too many, or plans what is moot."""
    random = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(devices)]
    observations: list[Observation] = []
    while len(observations) < MOST:
        if conclude(problem, observations, Budget()):
            return len(observations)
        planned = plan(problem, observations, (), names)
        assert planned, "a search that goes on plans something"
        assert not moot(problem, observations, planned), "what is planned is worth its answer"
        for probe in planned:
            changes = sum(culprit <= probe.place for culprit in culprits) % 2
            value = delta * changes + float(random.standard_normal())
            wrong = random.random() < (problem.error or 0.0)
            observations.append(
                Observation(probe.place, probe.device, value)
                if problem.error is None
                else Observation(probe.place, probe.device, passed=bool(changes) == wrong)
            )
    raise AssertionError(f"the search for {culprits} does not end")


@pytest.mark.thorough
@settings(max_examples=examples(8), deadline=None)
@given(st.integers(1, 16), st.integers(1, 17), st.integers(1, 3), st.sampled_from([0.05, 0.1, 0.2]), st.integers(0, 99))
def test_a_search_of_answers_ends(candidates: int, culprit: int, devices: int, error: float, seed: int) -> None:
    probes_to_the_end(Problem(candidates, error=error), {culprit}, devices, seed)


@pytest.mark.thorough
@settings(max_examples=examples(5), deadline=None)
@given(st.integers(1, 16), st.integers(1, 17), st.integers(1, 3), st.integers(0, 99))
def test_a_search_of_values_ends(candidates: int, culprit: int, devices: int, seed: int) -> None:
    levels = Level(0.0, 1.0, 20), Level(3.0, 1.0, 20)
    same_machine = seed % 2 == 0
    problem = Problem(candidates, before=levels[0], after=levels[1], movement=1, same_machine=same_machine)
    probes_to_the_end(problem, {culprit}, devices, seed)


@pytest.mark.parametrize("answers", [(True, True), (False, False), (False, True)])
@pytest.mark.parametrize("candidates", [1, 2, 1000])
def test_exact_answers_of_both_ends_say_that_there_is_no_change(candidates: int, answers: tuple[bool, bool]) -> None:
    problem = Problem(candidates, error=0.0)
    good, bad = (Observation(place, "a", passed=ok) for place, ok in zip((0, candidates), answers, strict=True))
    for one in ([good], [bad]):
        assert conclude(problem, one, Budget()) is None, "the other end says more of what is wrong"
    conclusion = conclude(problem, [good, bad], Budget())
    assert conclusion is not None
    assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE


def test_a_bad_end_that_passes_is_measured_again_and_the_good_one_rarely() -> None:
    problem = Problem(1000, error=0.05)
    observations = [Observation(0, "a", passed=True)]
    while conclude(problem, observations, Budget()) is None:
        observations += [Observation(probe.place, "a", passed=True) for probe in plan(problem, observations, (), ["a"])]
    assert [o.place for o in observations] == [0, 1000, 1000]


def test_ends_that_agree_against_the_history_leave_open_that_changes_cancel() -> None:
    problem = Problem(32, before=Level(100.0, 1.0, 25), after=Level(104.0, 1.0, 25), movement=1)
    ends = [Observation(place, "a", 100.1) for place in (0, 32) * 3]
    assert conclude(problem, ends, Budget()) is None, "the ends alone do not say what is between them"
    between = [Observation(place, "a", 99.9) for place in (8, 16, 24)]
    conclusion = conclude(problem, [*ends, *between], Budget())
    assert conclusion is not None
    assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE
    assert re.fullmatch(
        r"the ends do not differ when they are measured again; a change above [0-9.]+ % is excluded; "
        r"3 of 31 commits between them measured; changes there may cancel each other",
        conclusion.open,
    )


def test_ends_that_moved_the_other_way_state_by_how_much() -> None:
    problem = Problem(4, before=Level(100.0, 1.0, 25), after=Level(104.0, 1.0, 25), movement=1)
    values = [
        Observation(place, "a", 104.0 - 4 * (place > 1) + noise) for place in range(5) for noise in (-0.5, 0.1, 0.5)
    ]
    conclusion = conclude(problem, values, Budget())
    assert conclusion is not None
    stated = "measured again, the bad end is 3.8 % below the good end, and the change in question raises the value"
    assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE
    assert conclusion.open.startswith(f"{stated}; a change above ")


def test_a_level_that_is_hardly_known_is_measured_at_its_end() -> None:
    problem = Problem(
        16, none=0, several=0, before=Level(0.3, 1.0, 30), after=Level(0.6, 1.0, 30), movement=1, same_machine=True
    )
    quiet = [Observation(15, "a", value) for value in (-1.0, 0.0, 1.0) * 20]
    assert [probe.place for probe in plan(problem, quiet, (), ["a"])] == [16]


@pytest.mark.parametrize("outlier", [40.0, -40.0])
def test_ends_that_agree_but_for_outliers_are_not_reproducible(outlier: float) -> None:
    problem = Problem(4, before=Level(100.0, 1.0, 25), after=Level(103.0, 1.0, 25), movement=1)
    calm = [Observation(place, "a", value) for place in range(5) for value in (99.5, 100.5)]
    outliers = [Observation(4, "a", 100 + outlier), Observation(0, "a", 100 - outlier)]
    conclusion = conclude(problem, [*calm, *outliers], Budget())
    assert conclusion is not None
    assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE
    expected = r"the ends do not differ when they are measured again; a change above [0-9.]+ % is excluded"
    assert re.fullmatch(expected, conclusion.open), "every commit was measured"


def test_two_small_changes_are_no_reason_to_go_on() -> None:
    problem = Problem(8, before=Level(0.0, 1.0, 30), after=Level(3.0, 1.0, 30), movement=1)
    values = [Observation(place, "a", place / 20 + noise) for place in range(9) for noise in (-1.0, 0.0, 1.0)]
    belief = Standing(problem, values).belief
    assert belief.posterior.none + belief.negligible > 0.99, "two changes that are too small count as none, too"


def test_a_history_counts_without_its_outliers() -> None:
    values = np.array([9.0, 10.0, 11.0] * 8)
    level = Level.of([*values, 100.0])
    assert (level.mean, level.count) == (10.0, 24)
    assert level.deviation == pytest.approx(values.std(ddof=1))
    assert Level.of([5.0, 5.0, 5.0]) == Level(5.0, 0.0, 3)
    assert Level.of([5.0]) == Level()
