"""What all benchmarks do together is told from what one of them does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.detect.family import MoveJudgement, judge_moves, speed_sign
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better

_COMMITS = 30
_SEVERAL = np.where(np.arange(_COMMITS) % 3 == 0, 1.4, 1.0)
"""What the machines of a mixed history do to its commits: every third one is another machine."""

Array = NDArray[np.float64]
_factors = st.floats(0.3, 4.0)
_seeds = st.integers(0, 50)


def judged(
    factors: Array,
    *,
    seed: int = 0,
    unlike: bool | NDArray[np.bool_] = False,
    past: Array | None = None,
    rates: int = 0,
    sizes: int = 0,
    minimum_effect: float = 0.0,
    commits: int = _COMMITS,
    machines: int = 1,
) -> MoveJudgement:
    """Judge new values that are ``factors`` times as slow; the last benchmarks are ``rates``, before them ``sizes``."""
    count = factors.size
    rng = np.random.default_rng(seed)
    levels = np.exp(rng.normal(0, 2, count))[:, None]
    histories = levels * (1 + 0.01 * rng.standard_normal((count, _COMMITS)))
    new = levels * (1 + 0.01 * rng.standard_normal((count, 3)))
    signs = np.array([1] * (count - rates - sizes) + [0] * sizes + [-1] * rates)
    if past is not None:
        histories *= past ** signs[:, None]
    new *= factors[:, None] ** np.where(signs == 0, 1, signs)[:, None]
    better = [Better.HIGHER if sign < 0 else Better.LOWER for sign in signs]
    return judge_moves(
        histories[:, :commits],
        list(new),
        signs=signs.tolist(),
        unlike=np.broadcast_to(unlike, _COMMITS)[:commits],
        machines=machines,
        better=better,
        minimum_effect=minimum_effect,
    )


def verdicts(found: MoveJudgement) -> list[Verdict]:
    return [each.verdict for each in found.judgements]


def one(factor: float, *, of: int = 20, all_by: float = 1.0) -> Array:
    """Return the factors where one benchmark is slower by ``factor``, and all of them by ``all_by``."""
    return np.array([factor, *[1.0] * (of - 1)]) * all_by


@pytest.mark.long
@given(_factors, _seeds, st.sampled_from([1.0, 1.15, 1.3, 0.8]))
@settings(max_examples=8, deadline=None)
def test_a_common_factor_of_another_machine_never_changes_which_benchmark_stands_out(
    common: float, seed: int, own: float
) -> None:
    plain, shifted = (judged(one(own, all_by=by), seed=seed, unlike=True) for by in (1.0, common))
    assert verdicts(plain) == verdicts(shifted)


@pytest.mark.long
@given(_factors, _seeds)
@settings(max_examples=8, deadline=None)
def test_a_common_factor_alone_never_fails_on_any_machine(common: float, seed: int) -> None:
    for unlike in (False, True):
        found = judged(np.full(12, common), seed=seed, unlike=unlike)
        assert Verdict.REGRESSED not in verdicts(found)
        if abs(common - 1) > 0.1:
            assert (found.move.moved, found.move.again) == (12, not unlike)


@given(st.permutations(range(8)))
@settings(max_examples=5, deadline=None)
def test_the_order_of_benchmarks_says_nothing(order: list[int]) -> None:
    rng = np.random.default_rng(3)
    histories, new = 1 + 0.01 * rng.standard_normal((8, 30)), 1.5 + 0.01 * rng.standard_normal((8, 3))
    new[2] *= 1.4
    found = judge_moves(histories[order], list(new[order]), signs=[1] * 8, unlike=[True] * 30, better=Better.LOWER)
    assert [order[row] for row, each in enumerate(verdicts(found)) if each is Verdict.REGRESSED] == [2]


def test_what_moved_together_on_a_machine_alike_is_unstable() -> None:
    found = judged(np.full(20, 1.1))
    assert Counter(verdicts(found)) == {Verdict.UNSTABLE: 20}
    assert found.judgements[0].reason == "moved together with 19 other benchmarks: measure again"
    assert all(found.together)
    assert found.move.relative_size == pytest.approx(0.1, abs=0.01)


def test_benchmarks_that_moved_together_by_unlike_sizes_are_no_regression_of_one_of_them() -> None:
    found = judged(np.concatenate([np.linspace(1.54, 2.44, 13), np.ones(7)]))
    assert Counter(verdicts(found)) == {Verdict.UNSTABLE: 13, Verdict.UNCHANGED: 7}
    assert (found.move.moved, found.move.judged) == (13, 20)
    assert (found.move.low, found.move.high) == pytest.approx((0.54, 1.44), abs=0.05)


def test_what_stands_out_of_a_common_move_is_a_regression_on_a_machine_alike_too() -> None:
    found = judged(one(1.3, all_by=1.5))
    assert Counter(verdicts(found)) == {Verdict.REGRESSED: 1, Verdict.UNSTABLE: 19}
    assert found.judgements[0].relative_size == pytest.approx(0.95, abs=0.03)
    assert found.judgements[0].reason.startswith("+31.0 % beside the common move of +49.7 %")
    assert found.move.moved == 19


@pytest.mark.parametrize("commits", [5, 6, 8, 12])
def test_a_short_history_shows_a_common_move_too(commits: int) -> None:
    assert judged(np.full(12, 1.3), commits=commits).move.again
    unlike = _SEVERAL != 1
    mixed = judged(np.full(12, 1.3), commits=commits + 3, past=_SEVERAL, unlike=unlike)
    assert (mixed.move.again, Verdict.REGRESSED in verdicts(mixed)) == (True, False)


def test_half_of_the_benchmarks_are_not_most_of_them() -> None:
    found = judged(np.concatenate([np.full(5, 1.3), np.ones(5)]))
    assert Counter(verdicts(found)) == {Verdict.REGRESSED: 5, Verdict.UNCHANGED: 5}


def test_four_benchmarks_have_no_common_move() -> None:
    assert set(verdicts(judged(np.full(4, 1.3)))) == {Verdict.REGRESSED}
    elsewhere = judged(np.full(4, 1.3), unlike=True)
    assert set(verdicts(elsewhere)) == {Verdict.UNSTABLE}
    assert "too few benchmarks" in elsewhere.judgements[0].reason


def test_no_machine_is_so_busy_that_everything_takes_five_times_as_long() -> None:
    assert set(verdicts(judged(np.full(12, 6.0)))) == {Verdict.REGRESSED}
    assert set(verdicts(judged(np.full(12, 6.0), unlike=True))) == {Verdict.UNCHANGED}


def test_rates_fall_where_times_rise() -> None:
    found = judged(np.full(12, 1.5), rates=6)
    assert Counter(verdicts(found)) == {Verdict.UNSTABLE: 12}
    assert found.move.moved == 12


def test_a_rate_that_stands_out_names_the_common_move_of_rates() -> None:
    found = judged(np.array([*[1.5] * 11, 2.25]), rates=6, unlike=True)
    assert [row for row, each in enumerate(verdicts(found)) if each is Verdict.REGRESSED] == [11]
    assert found.judgements[11].reason.startswith("−32.8 % beside the common move of −33.1 %")


def test_sizes_do_not_depend_on_the_speed_of_a_machine() -> None:
    found = judged(np.concatenate([np.full(12, 1.5), [1.0, 1.5]]), sizes=2, unlike=True)
    assert verdicts(found)[-2:] == [Verdict.UNCHANGED, Verdict.REGRESSED]
    assert found.judgements[-1].conditional
    assert found.move.judged == 12


def test_a_change_too_small_to_matter_is_not_measured_again() -> None:
    assert judged(np.full(12, 1.04)).move.again
    assert not judged(np.full(12, 1.04), minimum_effect=0.1).move.again


def test_on_another_machine_what_scatters_around_the_common_move_does_not_stand_out() -> None:
    scatter = np.exp(np.random.default_rng(7).normal(0, 0.05, 20))
    assert Verdict.REGRESSED not in verdicts(judged(1.5 * scatter, unlike=True))
    found = judged(1.5 * scatter * one(2.5), unlike=True)
    assert [row for row, each in enumerate(verdicts(found)) if each is Verdict.REGRESSED] == [0]
    assert found.judgements[0].conditional


def test_what_a_machine_unlike_all_others_may_do_is_neither_regressed_nor_measured_again() -> None:
    scatter = np.exp(np.random.default_rng(7).normal(0, 0.05, 20))
    found = judged(1.5 * scatter * one(1.5), unlike=True)
    assert [row for row, each in enumerate(verdicts(found)) if each is Verdict.UNSTABLE] == [0]
    assert "the history has no machine like it, and a machine may do up to" in found.judgements[0].reason
    assert (found.judgements[0].conditional, found.together[0]) == (True, False)
    several = judged(1.5 * scatter * one(1.5), unlike=True, machines=3)
    assert [row for row, each in enumerate(verdicts(several)) if each is Verdict.REGRESSED] == [0]


@pytest.mark.parametrize("machine", [1.0, 1.4])
def test_in_a_mixed_history_values_are_compared_with_the_level_of_machines_alike(machine: float) -> None:
    unlike = machine != _SEVERAL
    assert set(verdicts(judged(np.full(12, machine), past=_SEVERAL, unlike=unlike))) == {Verdict.UNCHANGED}
    found = judged(one(1.2, of=12, all_by=machine), past=_SEVERAL, unlike=unlike)
    assert Counter(verdicts(found)) == {Verdict.REGRESSED: 1, Verdict.UNCHANGED: 11}
    assert found.judgements[0].relative_size == pytest.approx(0.2, abs=0.03)
    assert not found.judgements[0].conditional
    again = judged(np.full(12, 1.3 * machine), past=_SEVERAL, unlike=unlike)
    assert (set(verdicts(again)), again.move.again) == ({Verdict.UNSTABLE}, True)


def test_the_common_move_has_to_be_beyond_those_of_past_commits() -> None:
    past = np.exp(np.random.default_rng(5).normal(0, 0.1, _COMMITS))
    assert not judged(np.full(12, 1.1), past=past).move.moved
    assert judged(np.full(12, 2.5), past=past).move.moved == 12


@pytest.mark.parametrize(
    ("unit", "better", "sign"),
    [
        ("ms", Better.LOWER, 1),
        ("ns/op", Better.LOWER, 1),
        ("items/s", Better.HIGHER, -1),
        ("MB", Better.LOWER, 0),
        ("instructions", Better.LOWER, 0),
        ("score", Better.HIGHER, -1),
        ("", Better.UNKNOWN, 1),
        ("%", Better.UNKNOWN, 0),
    ],
)
def test_the_unit_says_what_a_slower_machine_does(unit: str, better: Better, sign: int) -> None:
    assert speed_sign(unit, better) == sign


def test_an_unknown_unit_with_an_exact_history_is_that_of_a_count() -> None:
    assert speed_sign("statements", Better.LOWER, [1200, 1200, 1199, 1300, 1300]) == 0
    assert speed_sign("statements", Better.LOWER, [1200, 1260, 1199, 1300, 1250]) == 1
    assert speed_sign("ms", Better.LOWER, [3, 3, 3, 4, 3]) == 1


@pytest.mark.parametrize("machines", [1, 3])
def test_moves_that_are_no_number_as_a_share_are_judged(machines: int) -> None:
    apart = np.exp(200.0 * np.random.default_rng(1).standard_normal(6))
    found = judged(apart, unlike=True, machines=machines)
    assert Verdict.REGRESSED not in verdicts(found)
    assert {each.detectable_relative for each in found.judgements} == {np.inf}


@pytest.mark.long
@pytest.mark.parametrize("machines", [3, 8])
def test_a_machine_that_differs_in_each_benchmark_is_told_from_a_change_that_is_stated_as_detectable(
    machines: int,
) -> None:
    rng, named, blamed = np.random.default_rng(7), 0, 0
    for seed in range(20):
        own = np.exp(0.04 * rng.standard_normal((20, machines + 1)))
        past = own[:, rng.integers(0, machines, _COMMITS)]
        plain = judged(own[:, -1], seed=seed, past=past, unlike=True, machines=machines)
        blamed += Verdict.REGRESSED in verdicts(plain)
        slower = one(1 + plain.judgements[0].detectable_relative)
        found = judged(own[:, -1] * slower, seed=seed, past=past, unlike=True, machines=machines)
        named += verdicts(found)[0] in {Verdict.REGRESSED, Verdict.UNSTABLE}
    assert (named >= 16, blamed <= 1) == (True, True), (named, blamed)
