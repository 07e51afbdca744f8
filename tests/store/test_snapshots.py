"""What is asked many times within one snapshot is read once, and never outlives it."""

from __future__ import annotations

import pytest
from tests.store.conftest import Bench

from knickpoint.model.errors import HistoryError
from knickpoint.store import Store, open_store


def test_a_line_is_read_once_in_a_snapshot(bench: Bench) -> None:
    lines = bench.store.commits
    with bench.store.database.reading():
        assert lines.line(bench.repository) is lines.line(bench.repository)


def test_a_later_snapshot_sees_what_was_written(bench: Bench, location: str) -> None:
    with open_store(location) as elsewhere:
        with bench.store.database.reading():
            before = bench.store.commits.line(bench.repository)
            elsewhere.commits.append_line(bench.repository, "next", [3])
            elsewhere.commits.add_repository("other")
            assert bench.store.commits.line(bench.repository) == before
        assert [each.name for each in bench.store.commits.repositories()] == ["main", "other"]
        with bench.store.database.reading():
            assert bench.store.commits.line(bench.repository, "next").slots == (3,)


def test_a_transaction_sees_what_it_writes(bench: Bench) -> None:
    commits = bench.store.commits
    with bench.store.transaction():
        assert len(commits.repositories()) == 1
        commits.add_repository("other")
        assert len(commits.repositories()) == 2


def test_a_list_of_a_snapshot_may_be_changed(store: Store) -> None:
    store.commits.add_repository("main")
    with store.database.reading():
        store.commits.repositories().clear()
        assert len(store.commits.repositories()) == 1


def test_what_is_missing_is_looked_for_each_time(bench: Bench) -> None:
    with bench.store.database.reading():
        for _ in range(2):
            with pytest.raises(HistoryError, match="there is no line 'none'"):
                bench.store.commits.line(bench.repository, "none")
