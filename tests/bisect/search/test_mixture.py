"""What is stated holds for heavy tails, bursts and a second mode, too: the mixture of shapes of noise, and what it asks to measure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from knickpoint.bisect.search import conclude, plan, posterior
from knickpoint.bisect.search.linear_model import Scale, knowledge_of
from knickpoint.bisect.search.mixture import Change, fit_mixture
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

KNOWN = Problem(16, none=0, several=0, before=Level(100.0, 1.0, 30), after=Level(104.0, 1.0, 30), movement=1)

Draw = Callable[[np.random.Generator], float]


def played(problem: Problem, culprit: int, seed: int, size: float, draw: Draw) -> tuple[Conclusion, list[Observation]]:
    """Play a search on one device; ``draw`` gives the factor of the level of one probe."""
    random = np.random.default_rng(seed)
    observations: list[Observation] = []
    while (conclusion := conclude(problem, observations, Budget())) is None:
        assert len(observations) < 150, "the search does not end"
        for probe in plan(problem, observations, (), ["a"]):
            value = 100.0 * (1 + size * (probe.place >= culprit)) * draw(random)
            observations.append(Observation(probe.place, "a", value, purpose=probe.purpose))
    return conclusion, observations


def quiet(random: np.random.Generator) -> float:
    return 1 + 0.01 * random.standard_normal()


def bursting(random: np.random.Generator) -> float:
    return quiet(random) * (random.uniform(1.3, 2.0) if random.random() < 0.2 else 1.0)


def bimodal(random: np.random.Generator) -> float:
    return quiet(random) + 0.08 * (random.random() < 0.25)


def test_one_change_of_exact_levels_has_the_evidence_of_its_normal_values() -> None:
    known = knowledge_of(Level(0.0, 1.0, 10_000), Level(3.0, 1.0, 10_000), Scale(0.0, 1.0), same_machine=True)
    values = np.array([0.2, -0.4, 0.1, 2.9, 3.3])
    found = fit_mixture(values, np.arange(6), known, Change(1, 1.0))
    expected = [-0.5 * float(((values - 3.0 * (np.arange(5) >= gap)) ** 2).sum()) for gap in (3, 2, 4)]
    assert int(found.single.argmax()) == 3
    # Other shapes of the mixture say less of a value that is far off: a burst may explain it.
    assert 3.0 < found.single[3] - found.single[2] < expected[0] - expected[1]
    assert 3.0 < found.single[3] - found.single[4] < expected[0] - expected[2]


def test_a_burst_counts_less_than_a_value_of_the_other_level() -> None:
    def odds(value: float) -> float:
        rows = [(0, 100.0), (0, 101.0), (16, 150.0), (16, 150.5), (8, 149.5), (4, 100.5), (6, value)]
        single = posterior(Problem(16), [Observation(place, "a", each) for place, each in rows]).single
        return math.log(single[4:6].sum() / single[6:8].sum())

    assert odds(150.2) > odds(172.0) > odds(100.2)


def test_a_culprit_needs_a_second_value_on_each_side_measured_in_turns() -> None:
    once = [Observation(place, "a", 100.0 + 4 * (place >= 9)) for place in (0, 16, 4, 12, 8, 0, 9, 16)]
    assert conclude(KNOWN, once, Budget()) is None
    asked = []
    while (conclusion := conclude(KNOWN, once, Budget())) is None:
        (probe,) = plan(KNOWN, once, (), ["a"])
        asked.append((probe.place, probe.purpose))
        once.append(Observation(probe.place, "a", 100.0 + 4 * (probe.place >= 9)))
    assert asked[:2] == [(8, ProbePurpose.VERIFY), (9, ProbePurpose.VERIFY)]
    assert (conclusion.kind, conclusion.places) == (ConclusionKind.CULPRIT, (9,))
    assert 0.95 <= conclusion.probability <= posterior(KNOWN, once).marginal[8]


def test_values_of_two_devices_do_not_verify_a_culprit_together() -> None:
    observations = [Observation(place, "a", 100.0 + 50 * (place >= 9)) for place in (0, 16, 0, 16, 8, 8, 8)]
    observations += [Observation(9, "b", 150.0) for _ in range(3)]
    assert conclude(Problem(16), observations, Budget()) is None
    assert {(probe.place, probe.device) for probe in plan(Problem(16), observations, (), ["a"])} == {(9, "a")}


@pytest.mark.long
@pytest.mark.parametrize(("draw", "size"), [(bursting, 0.5), (bimodal, 0.05)])
def test_bursts_and_a_second_mode_hide_no_change_and_make_none(draw: Draw, size: float) -> None:
    searches = [(seed, 1 + 5 * seed % 16) for seed in range(3)]
    found = [(played(Problem(16), culprit, seed, size, draw)[0], culprit) for seed, culprit in searches]
    assert [(each.kind, each.places) for each, _ in found] == [
        (ConclusionKind.CULPRIT, (culprit,)) for _, culprit in found
    ]


def test_a_search_without_a_change_names_the_size_that_it_excludes() -> None:
    conclusion, _ = played(Problem(16), 17, 1, 0.1, quiet)
    assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE
    stated = re.search(r"; a change above ([0-9.]+) % is excluded; ", conclusion.open)
    assert stated is not None
    assert 0.2 < float(stated[1]) < 5


@pytest.mark.long
def test_a_search_for_a_size_goes_on_until_that_size_is_excluded() -> None:
    lengths = []
    for size in (0.2, 0.02):
        conclusion, observations = played(Problem(16, least=size), 17, 2, 0.1, quiet)
        assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE
        assert conclusion.open.startswith(f"the ends do not differ by {100 * size:g} % when they are measured again; ")
        stated = re.search(r"a change above ([0-9.]+) % is excluded", conclusion.open)
        assert stated is not None
        assert float(stated[1]) <= 100 * size
        lengths.append(len(observations))
    assert lengths[0] < lengths[1]


def test_a_change_below_the_size_that_is_looked_for_is_not_the_culprit() -> None:
    conclusion, _ = played(Problem(16, least=0.2), 5, 3, 0.05, quiet)
    assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE


def test_the_budget_ends_with_the_size_that_is_excluded_by_then() -> None:
    observations = [
        Observation(place, "a", value) for place, value in ((0, 100.0), (16, 101.0), (0, 101.0), (16, 100.0))
    ]
    conclusion = conclude(Problem(16), observations, Budget(probes=4, spent_probes=4))
    assert conclusion is not None
    assert conclusion.kind is ConclusionKind.GAVE_UP
    assert "excluded" in conclusion.open


@pytest.mark.parametrize("levels", [{}, {"before": Level(0.0, 1.0, 25), "after": Level(3.0, 1.0, 25), "movement": 1}])
def test_ends_that_hardly_differ_are_not_reproducible_after_few_probes(levels: dict[str, Level]) -> None:
    problem = Problem(64, **levels)  # type: ignore[arg-type]
    random = np.random.default_rng(1)
    observations: list[Observation] = []
    while (conclusion := conclude(problem, observations, Budget())) is None and len(observations) < 40:
        planned: tuple[PlannedProbe, ...] = plan(problem, observations, (), ["a"])
        observations += [Observation(probe.place, "a", float(random.standard_normal())) for probe in planned]
    assert conclusion is not None
    assert conclusion.kind is ConclusionKind.NOT_REPRODUCIBLE
