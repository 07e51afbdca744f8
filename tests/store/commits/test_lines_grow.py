from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.store.conftest import Bench

from knickpoint.model.errors import HistoryError


def test_a_line_grows_at_its_end(bench: Bench) -> None:
    commits = bench.store.commits
    commits.append_line(bench.repository, "topic", [5, 6])
    commits.append_line(bench.repository, "topic", [7, 2])
    assert commits.line(bench.repository, "topic").slots == (5, 6, 7, 2)


def test_a_line_that_was_read_before_is_read_as_it_is_now(bench: Bench) -> None:
    commits = bench.store.commits
    commits.set_line(bench.repository, "topic", [5, 6])
    before = commits.line(bench.repository, "topic")
    assert before.positions == {5: 0, 6: 1}
    assert commits.line(bench.repository, "topic") == before
    commits.set_line(bench.repository, "topic", [6, 5, 7])
    assert commits.line(bench.repository, "topic").positions == {6: 0, 5: 1, 7: 2}
    assert before.slots == (5, 6)


@pytest.mark.parametrize("slots", [[3], [9, 9], [9, 1]])
def test_a_commit_cannot_stand_on_a_line_twice(bench: Bench, slots: list[int]) -> None:
    bench.store.commits.set_line(bench.repository, "topic", [1, 2, 3])
    with pytest.raises(HistoryError, match="twice"):
        bench.store.commits.append_line(bench.repository, "topic", slots)


def test_a_line_that_does_not_exist_holds_nothing(bench: Bench) -> None:
    assert bench.store.commits.on_line(bench.repository, "topic", [1, 2]) == set()


@pytest.mark.thorough
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 30), unique=True, max_size=20), st.integers(0, 20))
def test_growing_and_setting_come_to_the_same(bench: Bench, slots: list[int], cut: int) -> None:
    commits = bench.store.commits
    commits.set_line(bench.repository, "topic", slots[:cut])
    commits.append_line(bench.repository, "topic", slots[cut:])
    assert commits.line(bench.repository, "topic").slots == tuple(slots)
    assert commits.on_line(bench.repository, "topic", list(range(31))) == set(slots)
