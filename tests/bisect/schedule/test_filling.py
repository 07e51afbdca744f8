"""Which commits of a suspect range are worth a measurement."""

from __future__ import annotations

from math import ceil, log2

from hypothesis import given
from hypothesis import strategies as st

from knickpoint.bisect.schedule import FillRange, useful_commits


def names(count: int) -> tuple[str, ...]:
    return tuple(f"c{place}" for place in range(count))


def narrowed(suspects: FillRange, culprit: int, at_once: int) -> tuple[int, int]:
    """Measure what is useful until one commit is left; return the rounds and the measurements."""
    low, high, rounds, probes = -1, len(suspects.commits) - 1, 0, 0
    while high - low > 1:
        part = FillRange(suspects.commits[low + 1 : high + 1], weights=suspects.weights[low + 1 : high + 1])
        chosen = useful_commits(part, at_once)
        rounds, probes = rounds + 1, probes + len(chosen)
        for place in (suspects.commits.index(name) for name in chosen):
            if place >= culprit:
                high = min(high, place)
            else:
                low = max(low, place)
    assert high == culprit
    return rounds, probes


@given(st.integers(1, 64).flatmap(lambda count: st.tuples(st.just(count), st.integers(0, count - 1))))
def test_one_at_a_time_takes_the_logarithm_of_the_range(case: tuple[int, int]) -> None:
    count, culprit = case
    rounds, probes = narrowed(FillRange(names(count)), culprit, 1)
    assert rounds == probes <= ceil(log2(count))


def test_three_devices_decide_sixteen_commits_in_two_rounds() -> None:
    assert all(narrowed(FillRange(names(16)), culprit, 3)[0] == 2 for culprit in range(16))


def test_a_likely_commit_is_separated_first() -> None:
    weights = (0.02, 0.02, 0.02, 0.02, 0.88, 0.02, 0.01, 0.01)
    assert useful_commits(FillRange(names(8), weights=weights), 2) == ("c3", "c4")


def test_what_is_measured_or_under_way_counts_as_answered() -> None:
    assert useful_commits(FillRange(names(8), answered=frozenset({3})), 1) == ("c1",)


def test_what_cannot_be_measured_is_passed_over() -> None:
    assert useful_commits(FillRange(names(8), impossible=frozenset({2, 3, 4})), 1) == ("c1",)


def test_a_range_without_missing_measurements_needs_none() -> None:
    assert useful_commits(FillRange(names(1)), 3) == ()
    assert useful_commits(FillRange(names(3), answered=frozenset({0, 1})), 3) == ()


@given(st.integers(1, 12), st.integers(0, 20))
def test_nothing_is_chosen_twice_nor_at_the_end(count: int, at_once: int) -> None:
    chosen = useful_commits(FillRange(names(count)), at_once)
    assert len(set(chosen)) == len(chosen) == min(at_once, count - 1)
    assert names(count)[-1] not in chosen
