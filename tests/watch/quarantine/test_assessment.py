"""Which runs of a machine are suspect, and which outcome is known."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.model.quarantine import QuarantineState
from knickpoint.watch.quarantine.assessment import CanaryTrace, KeptWalks, MachineRun, Verdicts, assess_machine
from knickpoint.watch.quarantine.canaries import QuarantineRule

CANARIES = {1: CanaryTrace("loop", 1, ",name=loop,", "ms"), 2: CanaryTrace("copy", 2, ",name=copy,", "ms")}
RULE = QuarantineRule()
QUARANTINED, KEPT_OUT = QuarantineState.QUARANTINED, QuarantineState.KEPT_OUT
CHANGED = QuarantineState.ENVIRONMENT_CHANGED


def run(position: int, *values: float, identity: str = "", **facts: str) -> MachineRun:
    return MachineRun(identity or f"run-{position:03}", position, facts, dict(zip(CANARIES, values, strict=False)))


def assess(runs: Sequence[MachineRun], machine: str = "bench-1") -> Verdicts:
    return assess_machine(runs, CANARIES, RULE, machine=machine)


def states(verdicts: Verdicts) -> Mapping[str, QuarantineState]:
    return {identity: each.state for identity, each in sorted(verdicts.runs.items())}


def calm(count: int, *, first: int = 0, level: float = 10.0, **facts: str) -> list[MachineRun]:
    noise = np.random.default_rng(first).normal(0, 0.02, count)
    return [run(first + place, level + each, **facts) for place, each in enumerate(noise)]


def test_a_calm_machine_is_not_suspect() -> None:
    assert states(assess(calm(40))) == {}


def test_a_canary_that_moved_makes_its_run_suspect_and_says_by_how_much() -> None:
    verdicts = assess([*calm(20), run(20, 12.0)])
    assert states(verdicts) == {"run-020": QUARANTINED}
    ((move,),) = [each.moves for each in verdicts.runs.values()]
    assert (move.canary, move.value, round(move.relative_size, 2)) == ("loop", 12.0, 0.20)
    assert move.low < move.level < move.high < 12.0


def test_results_of_a_slow_machine_stay_out_once_it_is_as_before() -> None:
    slow = [run(position, 12.0) for position in (20, 21, 22)]
    verdicts = assess([*calm(20), *slow, *calm(3, first=23)])
    assert states(verdicts) == dict.fromkeys(["run-020", "run-021", "run-022"], KEPT_OUT)


def test_a_canary_that_stays_off_is_a_new_level_and_the_results_count() -> None:
    verdicts = assess([*calm(20, kernel="6.1"), *calm(12, first=20, level=12.0, kernel="6.2")])
    assert states(verdicts) == {f"run-{number:03}": CHANGED for number in range(20, 25)}
    assert str(verdicts.runs["run-020"].facts[0]) == "kernel changed from 6.1 to 6.2"


def test_a_rerun_of_the_commit_keeps_the_first_run_out() -> None:
    again = run(20, 10.0, identity="again")
    assert states(assess([*calm(20), run(20, 12.0, identity="first"), again])) == {"first": KEPT_OUT}


@pytest.mark.parametrize("commits", [30, 60])
def test_bad_commits_in_a_row_are_one_move_though_each_was_measured_again(commits: int) -> None:
    bad = [run(position, 13.0, identity=f"bad-{position}") for position in (20, 21, 22)]
    verdicts = assess([*calm(commits), *bad])
    assert states(verdicts) == dict.fromkeys(["bad-20", "bad-21", "bad-22"], KEPT_OUT)
    (health,) = verdicts.health
    assert (health.episodes, health.useless) == (1, "")


def test_a_canary_that_moves_at_separate_commits_of_a_young_history_is_useless() -> None:
    bad = [run(position, 13.0, identity=f"bad-{position}") for position in (14, 18, 22)]
    (health,) = assess([*calm(24), *bad]).health
    assert health.episodes == 3
    assert health.useless


def test_changed_facts_are_suspect_where_no_canary_was_measured() -> None:
    before = [run(position, kernel="6.1") for position in range(6)]
    first, second, third = (run(position, kernel="6.2") for position in (6, 7, 8))
    assert states(assess([*before, first, second])) == {"run-006": QUARANTINED, "run-007": QUARANTINED}
    assert set(states(assess([*before, first, second, third])).values()) == {CHANGED}
    assert states(assess([*before, first, run(7, kernel="6.1")])) == {"run-006": KEPT_OUT}


def test_changed_facts_do_not_matter_while_canaries_are_at_their_levels() -> None:
    assert states(assess([*calm(20, kernel="6.1"), *calm(5, first=20, kernel="6.2")])) == {}


def test_changed_facts_do_not_count_where_runs_name_no_machine() -> None:
    runs = [*(run(position, kernel="6.1") for position in range(6)), run(6, kernel="6.2")]
    assert states(assess(runs, machine="")) == {}


def test_a_fact_that_changes_all_the_time_does_not_count() -> None:
    assert states(assess([run(position, kernel=str(position % 2)) for position in range(12)])) == {}


def test_runs_without_canaries_share_what_the_canaries_of_their_machine_and_commit_say() -> None:
    other = run(20, identity="other")
    runs = [*calm(20), run(20, 12.0), other]
    assert states(assess(runs)) == {"other": QUARANTINED, "run-020": QUARANTINED}
    assert states(assess(runs, machine="")) == {"run-020": QUARANTINED}
    assert "other" not in states(assess([*calm(20), run(20, 10.0), other]))


def test_a_canary_that_moves_all_the_time_is_ignored_and_named() -> None:
    flaky = [
        run(
            position,
            10.0 + 0.001 * (position % 7),
            15.0 if position > 10 and position % 6 == 5 else 10.0 + 0.001 * (position % 5),
        )
        for position in range(60)
    ]
    verdicts = assess(flaky)
    assert states(verdicts) == {}
    assert {each.trace.canary: bool(each.useless) for each in verdicts.health} == {"loop": False, "copy": True}


def test_a_run_without_canaries_does_not_show_that_the_machine_is_as_before() -> None:
    assert states(assess([*calm(20), run(20, 12.0), run(21), run(22)])) == {"run-020": QUARANTINED}


def test_a_new_machine_is_not_suspect() -> None:
    assert states(assess([run(0, 10.0), run(1, 15.0), run(2, 7.0)])) == {}


levels = st.sampled_from([10.0, 10.01, 9.99, 12.0, 8.0])
kernels = st.sampled_from(["6.1", "6.2"])


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    tail=st.lists(st.tuples(st.integers(20, 30), st.lists(levels, max_size=2), kernels), max_size=14),
    seed=st.randoms(use_true_random=False),
)
def test_the_verdicts_do_not_depend_on_the_order_of_arrival(
    tail: list[tuple[int, list[float], str]], seed: random.Random
) -> None:
    late = [run(place, *values, identity=f"{n}", kernel=kernel) for n, (place, values, kernel) in enumerate(tail)]
    runs = [*calm(20, kernel="6.1"), *late]
    expected = assess(runs).runs
    shuffled = list(runs)
    seed.shuffle(shuffled)
    assert assess(shuffled).runs == expected


@settings(max_examples=60, deadline=None)
@given(tail=st.lists(st.tuples(st.lists(levels, max_size=2), kernels), max_size=12))
def test_nothing_waits_longer_than_a_machine_needs_to_stay_or_to_come_back(
    tail: list[tuple[list[float], str]],
) -> None:
    late = [run(20 + place, *values, kernel=kernel) for place, (values, kernel) in enumerate(tail)]
    waiting = [each for each in assess([*calm(20, kernel="6.1"), *late]).runs.values() if each.state is QUARANTINED]
    assert len(waiting) < RULE.stays


@pytest.mark.thorough
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(5), deadline=None)
def test_what_was_assessed_before_is_kept_without_another_verdict(seed: int) -> None:
    draw = random.Random(seed)
    runs = [
        run(place, draw.gauss(10.0 if draw.random() < 0.9 else 12.0, 0.02), kernel=str(draw.random() < 0.02))
        for place in range(160)
    ]
    kept = KeptWalks()
    late = draw.randrange(140)
    for known in (runs[:90], runs[:late] + runs[late + 1 : 150], runs):
        again = assess_machine(known, CANARIES, RULE, machine="bench-1", kept=kept)
        fresh = assess(known)
        assert (again.runs, repr(again.health)) == (fresh.runs, repr(fresh.health))


def test_a_canary_that_strays_for_single_commits_again_and_again_has_not_moved_when_it_strays_no_further() -> None:
    def strayed(position: int, value: float = 12.0) -> list[MachineRun]:
        return [run(position, value), *calm(9, first=position + 1)]

    twice = [*calm(20), *strayed(20), *strayed(30)]
    assert states(assess([*twice, *strayed(40)])) == dict.fromkeys(["run-020", "run-030"], KEPT_OUT)
    assert "run-040" in states(assess([*twice, *strayed(40, 13.0)]))
    assert "run-300" in states(assess([*twice, *calm(260, first=40), *strayed(300)]))


def test_what_a_slow_machine_showed_for_several_commits_is_no_stray() -> None:
    def slow(first: int) -> list[MachineRun]:
        return [*(run(position, 12.0) for position in (first, first + 1)), *calm(8, first=first + 2)]

    verdicts = assess([*calm(20), *slow(20), *slow(30), *slow(40)])
    assert {"run-040", "run-041"} <= states(verdicts).keys()


def _heavy(seed: int, count: int = 160) -> list[float]:
    noise: list[float] = np.random.default_rng(seed).standard_t(3, count).tolist()
    return [100 + 1.2 * each for each in noise]


def test_a_canary_whose_noise_has_heavy_tails_seldom_holds_results_back() -> None:
    held = [len(assess([run(place, value) for place, value in enumerate(_heavy(seed))]).runs) for seed in range(6)]
    assert sum(held) <= 0.01 * 6 * 160


def test_a_canary_whose_noise_is_skewed_seldom_holds_results_back() -> None:
    random = np.random.default_rng(1)
    histories = [(100 + 1.8 * np.exp(0.8 * random.standard_normal(160))).tolist() for _ in range(6)]
    held = [len(assess([run(place, value) for place, value in enumerate(values)]).runs) for values in histories]
    assert sum(held) <= 0.01 * 6 * 160


def test_a_canary_that_strays_often_has_to_stray_three_times_in_a_row() -> None:
    def walked(*values: float) -> set[str]:
        noise = _heavy(3)[:120]
        for place in range(60, 116, 7):
            noise[place] = 108.0
        return set(assess([run(place, value) for place, value in enumerate([*noise, *values, *_heavy(4)[:9]])]).runs)

    assert not {"run-120", "run-121"} & walked(108.0, 108.0)
    assert {"run-120", "run-121", "run-122"} <= walked(108.0, 108.0, 108.0)


def test_while_results_wait_a_value_off_the_level_the_same_way_ends_no_wait() -> None:
    noise = _heavy(3)[:120]
    suspect = assess([run(place, value) for place, value in enumerate([*noise, 160.0, 109.0, *_heavy(4)[:9]])]).runs
    assert {"run-120", "run-121"} <= suspect.keys()


def test_two_strays_in_a_row_the_same_way_are_a_move_from_the_first_on() -> None:
    values = [*_heavy(3)[:120], 109.0, 109.5, *_heavy(3)[122:]]
    once = [*values[:121], *values[122:]]
    runs = [run(place, value) for place, value in enumerate(values)]
    suspect = assess(runs).runs
    assert {"run-120", "run-121"} <= suspect.keys()
    assert "run-120" not in assess([run(place, value) for place, value in enumerate(once)]).runs


def test_two_strays_in_a_row_in_opposite_ways_are_noise() -> None:
    values = [*_heavy(3)[:120], 107.0, 93.0, *_heavy(3)[122:]]
    suspect = assess([run(place, value) for place, value in enumerate(values)]).runs
    assert not {"run-120", "run-121"} & suspect.keys()
