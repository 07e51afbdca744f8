from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.detect import siblings
from knickpoint.detect.methods.default.siblings.kinship import (
    Kinship,
    ParamHistory,
    group_by_params,
    learn_kinship,
    past_changes,
    read_history,
)
from knickpoint.detect.methods.default.siblings.members import judge_siblings
from knickpoint.model.errors import InputError

MACHINES, BENCHMARKS, COMMITS, PLACE = 4, 6, 400, 310
MACHINE_OF = np.repeat(np.arange(MACHINES), BENCHMARKS)
KEYS = [f",benchmark={row % BENCHMARKS},machine={machine}," for row, machine in enumerate(MACHINE_OF)]


def _history(moved: list[list[int]], groups: list[int], *, width: int = 100) -> ParamHistory:
    """Return what changes, ten commits apart, say about ``groups``; ``moved`` has the rows of each."""
    steps = [(10 * number, 1, row) for number, rows in enumerate(moved, start=1) for row in rows]
    held = np.ones((len(groups), width), dtype=np.bool_)
    return read_history(past_changes(steps, held), "machine", np.array(groups))


def _family(seed: int, moved: NDArray[np.bool_], *, past: int = 5, size: float = 0.7) -> NDArray[np.float64]:
    """Return traces of normal noise, of which ``past`` changes moved all of one machine.

    Those that ``moved`` move weakly.
    """
    random = np.random.default_rng(seed)
    values = 100 + random.normal(size=(len(KEYS), COMMITS))
    for number in range(past):
        values[number % MACHINES == MACHINE_OF, 40 * (number + 1) :] += 3.0
    values[moved, PLACE:] += size
    return values


def _near(found: list[list[int]], rows: NDArray[np.bool_]) -> int:
    return sum(any(abs(index - PLACE) <= 5 for index in found[row]) for row in np.flatnonzero(rows))


def _places(frame: NDArray[np.float64], keys: list[str] | None) -> list[list[int]]:
    return [[step.index for step in found.steps] for found in siblings(frame, keys)]


def test_a_param_whose_traces_moved_together_carries_kinship() -> None:
    (learnt,) = learn_kinship([_history([[0, 1, 2], [3, 4, 5], [0, 1, 2]], [0, 0, 0, 1, 1, 1])], 90, near=5)
    assert (learnt.name, learnt.changes, learnt.apart) == ("machine", 3, 0.0)
    assert learnt.together == pytest.approx(0.6)  # three changes, beside two that are counted without kinship


def test_a_param_that_says_nothing_about_who_moved_carries_none() -> None:
    moved = [[0, 3], [1, 4], [2, 5], [0, 4], [1, 5]]
    assert learn_kinship([_history(moved, [0, 0, 0, 1, 1, 1])], 90, near=5) == []


def test_two_changes_teach_nothing() -> None:
    assert learn_kinship([_history([[0, 1, 2]] * 2, [0, 0, 0, 1, 1, 1])], 90, near=5) == []


def test_the_change_to_be_judged_does_not_speak_for_itself() -> None:
    history = _history([[0, 1, 2]] * 3, [0, 0, 0, 1, 1, 1])
    assert learn_kinship([history], 32, near=5) == []
    assert len(learn_kinship([history], 40, near=5)) == 1


def test_traces_that_were_not_measured_then_do_not_count_as_having_stayed() -> None:
    held = np.ones((4, 100), dtype=np.bool_)
    held[2, :50] = False
    past = past_changes([(10, 1, 0), (10, 1, 1)], held)
    history = read_history(past, "machine", np.array([0, 0, 0, -1]))
    assert history.together.tolist() == [1.0]


def test_steps_of_one_way_within_a_few_commits_are_one_change() -> None:
    held = np.ones((4, 100), dtype=np.bool_)
    past = past_changes([(30, 1, 0), (33, 1, 1), (33, -1, 2), (50, 1, 3)], held)
    assert list(zip(past.first.tolist(), past.last.tolist(), strict=True)) == [(30, 33), (33, 33), (50, 50)]
    assert past.moved.sum(axis=1).tolist() == [2, 1, 1]


def test_params_that_divide_nothing_or_divide_alike_are_left_out() -> None:
    keys = [
        f",alias={machine},benchmark={row},machine={machine},os=linux,"
        for row, machine in enumerate(["a", "a", "b", "b"])
    ]
    groups = group_by_params(keys)
    assert list(groups) == ["alias"]
    assert groups["alias"].tolist() == [0, 0, 1, 1]


def test_names_that_are_no_trace_keys_have_no_params() -> None:
    assert group_by_params(["first", "second", ""]) == {}


def test_a_trace_that_speaks_weakly_moved_where_its_relatives_did() -> None:
    apart = np.array([5.0, 4.8, 5.1, 5.0, 2.9, 0.2, -0.3, 0.4, 1.0, 0.1, -0.5, 0.3])
    machine = Kinship("machine", np.repeat([0, 1], [5, 7]), 6, 0.9, 0.05)
    assert not judge_siblings(apart).belongs[4]
    found = judge_siblings(apart, [machine])
    assert found.belongs.tolist() == [True] * 5 + [False] * 7
    kin = found.kin[4]
    assert kin is not None
    assert (kin.kinship.name, kin.share > 0.9) == ("machine", True)


def test_relatives_that_stayed_do_not_speak_against_a_trace() -> None:
    apart = np.array([5.0, 0.1, -0.3, 5.2, 0.2, 0.4])
    machine = Kinship("machine", np.repeat([0, 1], 3), 6, 0.9, 0.05)
    assert judge_siblings(apart, [machine]).belongs.tolist() == judge_siblings(apart).belongs.tolist()


@given(
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
    st.floats(0.01, 0.99),
    st.floats(0.11, 1.0),
    st.floats(0.0, 0.1),
)
def test_what_relatives_let_expect_is_a_share_and_that_of_all_without_relatives(
    chances: list[float], overall: float, together: float, apart: float
) -> None:
    kinship = Kinship("machine", np.array([0, 0, 0, 1, 1, -1]), 5, together, apart)
    shares = kinship.shares(np.array(chances), overall)
    assert (shares > 0).all()
    assert (shares < 1).all()
    assert shares[5] == overall


@pytest.mark.long
def test_a_weak_change_of_a_machine_is_found_in_more_of_it_and_in_no_other() -> None:
    moved = MACHINE_OF == 2
    frames = [_family(seed, moved) for seed in range(5)]
    learnt = [_places(frame, KEYS) for frame in frames]
    before = sum(_near(_places(frame, None), moved) for frame in frames)
    assert sum(_near(found, moved) for found in learnt) > before
    assert sum(_near(found, ~moved) for found in learnt) == 0


def test_a_history_without_past_changes_is_judged_as_without_keys() -> None:
    frame = _family(3, MACHINE_OF == 1, past=0)
    assert _places(frame, KEYS) == _places(frame, None)


def test_plain_changes_of_the_past_neither_hide_a_weak_one_nor_add_steps_between_them() -> None:
    moved = MACHINE_OF == 2
    for seed in range(3):
        found = _places(_family(seed, moved, size=1.0), None)
        assert _near(found, moved) >= 4
        between = [index for steps in found for index in steps if min(abs(index - 40 * k) for k in range(1, 6)) > 10]
        assert sum(index < 220 for index in between) <= 2


def test_a_trace_that_moved_a_little_where_several_moved_plainly_has_the_step() -> None:
    frame = _family(4, np.zeros(len(KEYS), dtype=np.bool_), past=0)
    frame[:5, PLACE:] += 4.0
    frame[5, PLACE:] += 0.7
    assert PLACE in _places(frame, KEYS)[5]


def test_the_evidence_says_what_was_learnt_and_what_relatives_let_expect() -> None:
    moved = MACHINE_OF == 2
    for found in siblings(_family(1, moved), KEYS)[12:18]:
        step = next(step for step in found.steps if abs(step.index - PLACE) <= 5)
        checks = {check.name: check.value for check in step.evidence}
        assert checks["past changes that machine was learnt from"] >= 3
        assert checks["share of traces with one machine that moved together"] > 0.5
        assert checks["share of traces with different machine that moved together"] < 0.1
        assert checks["chance to move that those with its machine give it"] > 0.8


def test_the_order_of_the_traces_changes_nothing() -> None:
    frame = _family(2, MACHINE_OF == 2)
    order = np.random.default_rng(2).permutation(len(KEYS))
    found = _places(frame, KEYS)
    assert _places(frame[order], [KEYS[row] for row in order]) == [found[row] for row in order]


def test_another_number_of_keys_than_of_traces_is_refused() -> None:
    with pytest.raises(InputError, match="there are 23 keys for 24 traces") as refused:
        siblings(_family(1, MACHINE_OF == 2), KEYS[1:])
    assert refused.value.remedy == "Give one key for each row."


def test_keys_are_no_parameter_that_an_alert_could_set() -> None:
    with pytest.raises(InputError, match="keys"):
        siblings(_family(1, MACHINE_OF == 2), keys="a")
