from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.detect import explain, find_steps, siblings
from knickpoint.detect.methods.default.siblings.members import judge_siblings
from knickpoint.detect.methods.default.siblings.scan import Reordering, find_shared_changes
from knickpoint.detect.methods.default.siblings.views import View, common_scale, deviations_of
from knickpoint.model.errors import InputError, SeriesError
from knickpoint.model.settlement import FindingKind

FAMILIES = 6
PLACE = 110


def family(seed: int, moved: int, *, size: float = 0.7, rows: int = 20, columns: int = 200) -> NDArray[np.float64]:
    """Return traces of normal noise of 1; the first ``moved`` change level by ``size``."""
    values = 100 + np.random.default_rng(seed).normal(size=(rows, columns))
    values[:moved, PLACE:] += size
    return values


def places(frame: NDArray[np.float64]) -> list[list[int]]:
    return [[step.index for step in found.steps] for found in siblings(frame)]


def near(found: list[list[int]]) -> int:
    """Return how many of the traces have a step within five commits of the change."""
    return sum(any(abs(index - PLACE) <= 5 for index in steps) for steps in found)


def test_a_weak_change_of_all_siblings_is_found_in_nearly_all() -> None:
    frames = [family(seed, 20) for seed in range(FAMILIES)]
    alone = sum(near([[step.index for step in find_steps(row)] for row in frame]) for frame in frames)
    assert sum(near(places(frame)) for frame in frames) >= 0.9 * 20 * FAMILIES
    assert alone <= 0.6 * 20 * FAMILIES


def test_a_weak_change_of_few_is_found_in_them_and_sweeps_none_of_the_others_along() -> None:
    found = [places(family(seed, 5)) for seed in range(FAMILIES)]
    assert sum(near(each[:5]) for each in found) >= 0.4 * 5 * FAMILIES
    assert sum(near(each[5:]) for each in found) <= 1


def test_noise_that_siblings_share_does_not_make_those_that_stayed_move_with_a_few() -> None:
    swept = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        shared = random.normal(size=120)
        for place in range(1, 120):
            shared[place] += 0.4 * shared[place - 1]
        frame = 100 + 0.5 * random.normal(size=(5, 120)) + shared
        frame[:2, 60:] += 2
        swept += sum(any(abs(index - 60) <= 5 for index in steps) for steps in places(frame)[2:])
    assert swept <= 1


def test_siblings_have_one_commit_in_common_where_their_values_do_not_object() -> None:
    found = places(family(3, 20))
    indices = [index for steps in found for index in steps]
    assert max(indices.count(index) for index in set(indices)) >= 15


def test_a_step_that_is_plain_in_one_trace_stays_where_that_trace_has_it() -> None:
    frame = family(4, 20)
    frame[0, PLACE + 4 :] += 30
    assert PLACE + 4 in places(frame)[0]


def test_a_lonely_step_makes_no_steps_in_the_siblings() -> None:
    frame = family(5, 1, size=8.0)
    found = places(frame)
    assert found[0] == [PLACE]
    assert near(found[1:]) == 0


def test_noise_that_all_share_makes_no_step() -> None:
    for seed in range(FAMILIES):
        together = np.random.default_rng([9, seed]).normal(size=200)
        frame = 0.5 * (family(seed, 0) - 100) + together
        assert sum(map(len, places(frame))) <= 1


def test_those_that_stayed_do_not_move_the_other_way() -> None:
    for seed in range(FAMILIES):
        assert near(places(family(seed, 14, size=1.5))[14:]) == 0


def test_a_slow_drift_of_some_siblings_is_no_shared_step() -> None:
    for seed in range(3):
        frame = family(seed, 0)
        frame[:6] += np.linspace(0, 2.4, 200)
        assert all(not found or len(found) == 1 for found in places(frame)[6:])
        for detection in siblings(frame)[:6]:
            assert not any(
                check.name == "strength of the shared change" for step in detection.steps for check in step.evidence
            )


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_fewer_than_three_traces_are_judged_alone(rows: int) -> None:
    frame = family(6, rows, rows=rows, size=3.0)
    assert places(frame) == [[step.index for step in find_steps(row)] for row in frame]


def test_traces_that_drift_flip_or_are_exact_keep_what_the_default_method_says() -> None:
    random = np.random.default_rng(7)
    frame = family(7, 20)
    frame[0] = 1000 + np.cumsum(random.integers(0, 3, 200))
    frame[1] = 100 + np.linspace(0, 40, 200) + random.normal(size=200)
    frame[2] = np.where((np.arange(200) // 7) % 2, 100.0, 140.0) + random.normal(size=200)
    frame[3] = np.nan
    found = siblings(frame)
    for row in range(4):
        own = explain(frame[row])
        assert [(step.index, step.kind) for step in found[row].steps] == [(step.index, step.kind) for step in own.steps]
        assert found[row].flipping == own.flipping
    assert near([[step.index for step in each.steps] for each in found[4:]]) >= 13


def test_missing_values_and_late_traces_take_part() -> None:
    frame = family(8, 20, size=1.0)
    frame[np.random.default_rng(8).random(frame.shape) < 0.2] = np.nan
    frame[0, :60] = np.nan
    frame[:, 30] = np.nan
    assert near(places(frame)) >= 18


def test_the_answer_depends_neither_on_the_order_of_the_traces_nor_on_their_units() -> None:
    frame = family(9, 12)
    found = places(frame)
    order = np.random.default_rng(9).permutation(20)
    assert places(frame[order]) == [found[row] for row in order]
    assert places(frame * np.logspace(-200, 200, 20)[:, None]) == found


def test_a_step_says_what_its_siblings_did() -> None:
    (found, *_), frame = siblings(family(10, 20)), family(10, 20)
    step = next(step for step in found.steps if abs(step.index - PLACE) <= 5)
    checks = {check.name: check.value for check in step.evidence}
    assert checks["siblings judged together"] == 20
    assert checks["siblings that moved"] >= 18
    assert checks["chance that it moved with its siblings"] > 0.97
    assert step.before.mean == pytest.approx(frame[0, : step.index].mean())
    assert (found.method, step.method, step.kind) == ("siblings", "siblings", FindingKind.STEP)


def test_every_step_that_siblings_placed_is_a_candidate_that_says_why() -> None:
    for found in siblings(family(10, 20)):
        for step in found.steps:
            candidate = next(each for each in found.candidates if each.index == step.index)
            assert candidate.accepted
            assert any(check.passed and check.bound is not None for check in candidate.checks)
        accepted = [each.index for each in found.candidates if each.accepted]
        assert accepted == [step.index for step in found.steps]


def test_a_trace_that_did_not_move_says_why_it_was_rejected() -> None:
    found = siblings(family(11, 12))[12:]
    reasons = {candidate.reason for each in found for candidate in each.candidates if "siblings" in candidate.reason}
    assert any(
        reason.endswith("of its siblings moved here, and its own values do not say that it did") for reason in reasons
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"p": 0.0}, "p is 0"),
        ({"p": 0.001}, "199 permutations cannot show p = 0.001"),
        ({"seed": -1}, "seed is -1"),
        ({"false_alarms": 0.0}, "false_alarms is 0"),
    ],
)
def test_parameters_out_of_range_are_named(given: dict[str, float], says: str) -> None:
    with pytest.raises(InputError, match=says):
        siblings(family(1, 0, rows=3), **given)


def test_more_values_than_fit_into_memory_are_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match="40,001 traces x 250 commits are too many") as refused:
        siblings(np.broadcast_to(np.float32(1), (40_001, 250)))
    assert "group_by" in refused.value.remedy


def test_what_is_no_matrix_is_refused() -> None:
    with pytest.raises(SeriesError):
        siblings([1.0, 2.0])


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 5),
    st.integers(0, 30),
    st.integers(0, 2**31),
    st.sampled_from([0.0, 0.3, 0.9]),
    st.sampled_from([1e-300, 1.0, 1e300]),
)
def test_every_frame_has_one_detection_a_trace_with_ascending_steps_at_measured_values(
    rows: int, columns: int, seed: int, missing: float, unit: float
) -> None:
    random = np.random.default_rng(seed)
    frame = unit * random.choice([1.0, 1.1, 1.3], size=(rows, columns)) * random.choice([-1, 1])
    frame[random.random(frame.shape) < missing] = np.nan
    found = siblings(frame, permutations=99)
    assert len(found) == rows
    for row, detection in zip(frame, found, strict=True):
        indices = [step.index for step in detection.steps]
        assert indices == sorted(set(indices))
        assert not np.isnan(row[indices]).any()


def test_members_that_moved_more_than_enough_do_not_hide_those_that_moved_a_little() -> None:
    found = judge_siblings(np.array([40.0, 30.0, 3.6, 3.4, 0.3, -0.5, 0.1, 0.9, -1.0, 0.2]))
    assert found.belongs.tolist() == [True] * 4 + [False] * 6
    assert found.way == 1


def test_a_history_without_a_change_is_left_after_few_reordered_ones() -> None:
    values = family(12, 0)
    view = common_scale(values, deviations_of(values))
    assert find_shared_changes(view, Reordering(199, 0.01, 0)) == []


def test_noise_that_remembers_gets_longer_blocks_and_less_certain_levels() -> None:
    random = np.random.default_rng(13)
    values = random.normal(size=(20, 400))
    for column in range(1, 400):
        values[:, column] += 0.5 * values[:, column - 1]
    view = common_scale(values, deviations_of(values))
    assert view.dependence == pytest.approx(0.5, abs=0.1)
    assert view.memory > 4
    assert view.block > View(view.values, view.held, 0.0).block
