from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.change_point import SuspectRange
from knickpoint.watch.identity import REACH, Ruler, StepLocation, match_points, may_match


def step(position: int, *, previous: int | None = None, movement: int = 1, interval: int = 0) -> StepLocation:
    return StepLocation(position - 1 if previous is None else previous, position, position, movement, interval)


steps = st.lists(
    st.builds(
        lambda position, width, movement, interval: step(
            position, previous=position - width, movement=movement, interval=interval
        ),
        st.integers(1, 30),
        st.integers(1, 6),
        st.sampled_from([-1, 1]),
        st.sampled_from([0, 0, 0, 8]),
    ),
    max_size=5,
)


def _key(point: StepLocation) -> tuple[int, int, int]:
    return point.position, point.previous, point.movement


def brute_force(old: list[StepLocation], new: list[StepLocation]) -> tuple[int, int, int]:
    """Try every one-to-one matching that keeps the order; return the best (-pairs, ranks, positions)."""
    rows = sorted(range(len(old)), key=lambda k: (*_key(old[k]), k))
    columns = sorted(range(len(new)), key=lambda k: (*_key(new[k]), k))
    best = (0, 0, 0)
    for count in range(1, min(len(old), len(new)) + 1):
        for left in combinations(rows, count):
            for right in combinations(columns, count):
                pairs = list(zip(left, right, strict=True))
                if all(may_match(old, new, i, j) for i, j in pairs):
                    ranks = sum(abs(old[i].rank - new[j].rank) for i, j in pairs)
                    places = sum(abs(old[i].position - new[j].position) for i, j in pairs)
                    best = min(best, (-count, ranks, places))
    return best


@given(steps, steps)
def test_a_matching_is_one_to_one_and_keeps_the_order(old: list[StepLocation], new: list[StepLocation]) -> None:
    pairs = match_points(old, new)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert [_key(old[i]) for i, _ in pairs] == sorted(_key(old[i]) for i, _ in pairs)
    assert [_key(new[j]) for _, j in pairs] == sorted(_key(new[j]) for _, j in pairs)


@given(steps, steps)
def test_a_matching_has_most_pairs_and_then_the_least_distance(
    old: list[StepLocation], new: list[StepLocation]
) -> None:
    pairs = match_points(old, new)
    found = (
        -len(pairs),
        sum(abs(old[i].rank - new[j].rank) for i, j in pairs),
        sum(abs(old[i].position - new[j].position) for i, j in pairs),
    )
    assert found == brute_force(old, new)


@given(steps, steps, st.randoms(use_true_random=False))
def test_a_matching_does_not_depend_on_the_order_of_the_lists(
    old: list[StepLocation], new: list[StepLocation], random: object
) -> None:
    expected = [(_key(old[i]), _key(new[j])) for i, j in match_points(old, new)]
    old, new = list(old), list(new)
    random.shuffle(old)  # type: ignore[attr-defined]
    random.shuffle(new)  # type: ignore[attr-defined]
    assert [(_key(old[i])[0], _key(new[j])[0]) for i, j in match_points(old, new)] == [
        (before[0], after[0]) for before, after in expected
    ]


@given(st.lists(st.integers(1, 200), unique=True, max_size=8))
def test_points_that_did_not_move_match_themselves(places: list[int]) -> None:
    points = [step(place) for place in places]
    assert all(i == j for i, j in match_points(points, points))
    assert len(match_points(points, points)) == len(points)


def test_a_point_that_moved_by_five_measured_commits_is_the_same() -> None:
    assert match_points([step(10)], [step(10 + REACH)]) == [(0, 0)]


def test_a_point_that_moved_by_six_is_another_one() -> None:
    assert match_points([step(10)], [step(11 + REACH)]) == []


def test_the_interval_of_location_widens_the_reach() -> None:
    assert match_points([step(10)], [step(18, interval=8)]) == [(0, 0)]


def test_unmeasured_commits_do_not_count_as_distance() -> None:
    ruler = Ruler({slot: slot for slot in range(100)}, np.array([0, 10, 20, 30, 90], dtype=np.int64))
    old = ruler.locate(SuspectRange("main", 10, 20), 1)
    new = ruler.locate(SuspectRange("main", 30, 90), 1)
    assert old is not None
    assert new is not None
    assert match_points([old], [new]) == [(0, 0)]


def test_suspect_ranges_that_overlap_match_at_any_distance() -> None:
    assert match_points([step(50, previous=3)], [step(10)]) == [(0, 0)]


def test_a_point_does_not_move_past_another() -> None:
    assert match_points([step(10)], [step(12, movement=-1), step(14)]) == []


def test_a_point_does_not_take_the_place_that_another_one_holds() -> None:
    assert match_points([step(10), step(14)], [step(14), step(18)]) == [(1, 0)]


def test_movements_in_opposite_ways_never_match() -> None:
    assert match_points([step(10)], [step(10, movement=-1)]) == []


def test_of_two_equal_matchings_the_earliest_points_go_together() -> None:
    assert match_points([step(12)], [step(9), step(15)]) == [(0, 0)]
    assert match_points([step(12, previous=2)], [step(11, previous=9), step(13, previous=11)]) == [(0, 0)]


def test_a_place_that_left_the_line_has_no_spot() -> None:
    ruler = Ruler({1: 0, 2: 1}, np.array([0, 1], dtype=np.int64))
    assert ruler.locate(SuspectRange("main", 1, 7), 1) is None


def test_a_previous_commit_that_left_the_line_is_replaced_by_the_measured_one_before() -> None:
    ruler = Ruler({1: 0, 2: 1, 3: 2}, np.array([0, 2], dtype=np.int64))
    assert ruler.locate(SuspectRange("main", 9, 3), 1) == StepLocation(0, 2, 1, 1)
