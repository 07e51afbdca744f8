from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.history import extend_line, fork_of, merge_orders, order_key
from knickpoint.model.commit import Commit
from knickpoint.model.errors import HistoryError


def commit(name: str, *, seconds: int = 0) -> Commit:
    return Commit(name, "Ada", "ada@example.org", datetime.fromtimestamp(seconds, UTC), "Change")


def test_new_commits_are_joined_to_the_line_that_they_continue() -> None:
    assert extend_line("abc", "de", "c") == tuple("abcde")


def test_a_force_push_takes_the_place_of_what_it_dropped() -> None:
    assert extend_line("abcd", "xy", "b") == tuple("abxy")


def test_a_history_read_whole_replaces_the_line() -> None:
    assert extend_line("abc", "aBc", None) == tuple("aBc")


def test_nothing_read_changes_nothing() -> None:
    assert extend_line("abc", "", None) == tuple("abc")


def test_a_shallow_clone_keeps_what_lies_before_it() -> None:
    assert extend_line("abcd", "cde", None, shallow=True) == tuple("abcde")


def test_a_shallow_clone_that_does_not_reach_back_is_refused() -> None:
    with pytest.raises(HistoryError, match="unshallow"):
        extend_line("abc", "xyz", None, shallow=True)


def test_a_shallow_clone_alone_is_taken_as_it_is() -> None:
    assert extend_line("", "xyz", None, shallow=True) == tuple("xyz")


def test_a_branch_leaves_its_base_where_first_parents_meet() -> None:
    assert fork_of("abcd", "abxy") == (1, ("x", "y"))


def test_a_branch_without_commits_of_its_own_is_its_base() -> None:
    assert fork_of("abcd", "abc") == (2, ())


def test_a_branch_that_shares_nothing_has_no_merge_base() -> None:
    assert fork_of("abc", "xy") == (-1, ("x", "y"))


def test_a_file_order_beats_dates() -> None:
    order, knot = merge_orders({"a": 3, "b": 1, "c": 2}, [("a", "b"), ("b", "c")])
    assert (order, knot) == (["a", "b", "c"], [])


def test_commits_that_nothing_relates_are_ordered_by_key() -> None:
    assert merge_orders({"a": 3, "b": 1, "c": 2}, [])[0] == ["b", "c", "a"]


def test_two_files_interleave_by_key() -> None:
    keys = {"a": 1, "b": 5, "x": 2, "y": 4}
    assert merge_orders(keys, [("a", "b"), ("x", "y")])[0] == ["a", "x", "y", "b"]


def test_a_contradiction_is_ordered_by_key_and_reported() -> None:
    keys = {"a": 1, "b": 2, "c": 3, "d": 4}
    order, knot = merge_orders(keys, [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")])
    assert (order, knot) == (["a", "b", "c", "d"], ["b", "c"])


def test_a_long_chain_needs_no_deep_stack() -> None:
    size = 20_000
    pairs = [(node, node + 1) for node in range(size - 1)] + [(size - 1, size - 2)]
    order, knot = merge_orders({node: -node for node in range(size)}, pairs)
    assert len(order) == size
    assert knot == [size - 1, size - 2]


def test_numbers_are_ordered_as_numbers() -> None:
    assert order_key(commit("99")) < order_key(commit("100"))


def test_equal_times_are_ordered_by_hash() -> None:
    assert order_key(commit("a" * 40, seconds=5)) < order_key(commit("b" * 40, seconds=5))


graphs = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, 5), min_size=size, max_size=size),
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=20),
    )
)


@given(graphs, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_arrival(
    graph: tuple[list[int], list[tuple[int, int]]], random: object
) -> None:
    times, pairs = graph
    keys = {node: (time, node) for node, time in enumerate(times)}
    nodes, shuffled = list(keys), list(pairs)
    random.shuffle(nodes)  # type: ignore[attr-defined]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merge_orders({node: keys[node] for node in nodes}, shuffled) == merge_orders(keys, pairs)


@given(graphs)
def test_every_node_comes_once_and_every_pair_outside_knots_is_kept(
    graph: tuple[list[int], list[tuple[int, int]]],
) -> None:
    times, pairs = graph
    order, knot = merge_orders({node: (time, node) for node, time in enumerate(times)}, pairs)
    assert sorted(order) == list(range(len(times)))
    place = {node: position for position, node in enumerate(order)}
    assert all(place[one] < place[other] for one, other in pairs if one != other and not {one, other} <= set(knot))


@given(graphs)
def test_an_acyclic_graph_has_no_knots(graph: tuple[list[int], list[tuple[int, int]]]) -> None:
    times, pairs = graph
    forward = [(min(pair), max(pair)) for pair in pairs]
    assert merge_orders({node: (time, node) for node, time in enumerate(times)}, forward)[1] == []
