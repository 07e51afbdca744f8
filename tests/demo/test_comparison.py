"""The table of the demonstration shows misses and false findings."""

from __future__ import annotations

from knickpoint.demo.history import Change, Found, compare

_SLOWER = Change(10, "a.py", "x", "Make it slower", ("parse", "render"), slower=True)
_REVERTED = Change(20, "a.py", "y", "Try something", ("parse",), slower=True, reverted=24)
_ALL = tuple(range(40))


def test_a_point_at_the_change_finds_it() -> None:
    assert compare([Found("parse", 9, 10, 0.2)], _ALL, [_SLOWER]).count_found == 1


def test_a_point_one_benchmarked_commit_away_finds_it() -> None:
    assert compare([Found("parse", 10, 11, 0.2)], _ALL, [_SLOWER]).count_found == 1


def test_a_point_two_benchmarked_commits_away_is_false() -> None:
    outcome = compare([Found("parse", 11, 12, 0.2)], _ALL, [_SLOWER])
    assert (outcome.count_found, len(outcome.false)) == (0, 1)


def test_commits_without_results_do_not_count_as_distance() -> None:
    benchmarked = [position for position in _ALL if position not in {9, 10, 11, 12}]
    assert compare([Found("parse", 8, 13, 0.2)], benchmarked, [_SLOWER]).count_found == 1


def test_a_point_in_the_other_direction_is_false() -> None:
    outcome = compare([Found("parse", 9, 10, -0.2)], _ALL, [_SLOWER])
    assert (outcome.count_found, len(outcome.false)) == (0, 1)


def test_a_benchmark_that_the_change_does_not_touch_is_false_even_beside_it() -> None:
    outcome = compare([Found("other", 9, 10, 0.2), Found("parse", 9, 10, 0.2)], _ALL, [_SLOWER])
    assert (outcome.count_found, outcome.false) == (1, (Found("other", 9, 10, 0.2),))


def test_a_reverted_change_counts_only_when_both_ends_are_found() -> None:
    begin, end = Found("parse", 19, 20, 0.5), Found("parse", 23, 24, -0.3)
    assert [compare(points, _ALL, [_REVERTED]).count_found for points in ([begin], [end], [begin, end])] == [0, 0, 1]


def test_each_false_point_is_a_false_finding_of_its_own() -> None:
    outcome = compare([Found("render", 29, 30, 0.2), Found("parse", 29, 30, 0.2)], _ALL, [_SLOWER])
    assert [point.benchmark for point in outcome.false] == ["parse", "render"]


def test_nothing_found_is_nothing_false() -> None:
    outcome = compare([], _ALL, [_SLOWER])
    assert (outcome.count_found, outcome.false) == (0, ())
