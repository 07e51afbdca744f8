"""The digest of a chunk stands for all that its traces hold on a line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import update
from tests.store.conftest import Bench

from knickpoint.store.points import point_writer as writer_module
from knickpoint.store.tables.points import hot

pytestmark = pytest.mark.alike

report = Bench.report


def digest(bench: Bench) -> dict[int, int]:
    ids = list(range(len("abcdef")))
    return bench.store.frames.chunk_digests(bench.line, ids)


@pytest.fixture(params=[1, 100], ids=["segments", "tiles"])
def filled(request: pytest.FixtureRequest, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return a bench with two measured commits, in rows of each shape."""
    monkeypatch.setattr(writer_module, "_SEGMENT_CHUNKS", request.param)
    bench.put(0, report(dict.fromkeys("abcdef", 1.0)), "first")
    bench.put(1, report(dict.fromkeys("abcdef", 2.0)), "second")
    return bench


def test_it_stays_while_nothing_is_written(filled: Bench) -> None:
    assert digest(filled) == digest(filled)


CHANGES: dict[str, Callable[[Bench], object]] = {
    "a new value": lambda bench: bench.put(2, report({"c": 3.0}), "third"),
    "a correction": lambda bench: bench.put(1, report({"c": 5.0}), "second", "corrected"),
    "a re-run": lambda bench: bench.put(1, report({"c": 9.0}), "again"),
    "another order of commits": lambda bench: bench.store.commits.set_line(bench.repository, "main", [1, 0, 2, 3]),
    "a commit that leaves the line": lambda bench: bench.store.commits.set_line(bench.repository, "main", [0, 2, 3]),
}


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_it_changes_with_what_a_trace_holds(filled: Bench, name: str) -> None:
    before = digest(filled)
    CHANGES[name](filled)
    line = filled.store.commits.line(filled.repository)
    assert filled.store.frames.chunk_digests(line, [0]) != before


def test_a_commit_without_values_changes_nothing(filled: Bench) -> None:
    before = digest(filled)
    slots = list(filled.line.slots)
    filled.store.commits.set_line(filled.repository, "main", [*slots[:-1]])
    line = filled.store.commits.line(filled.repository)
    assert filled.store.frames.chunk_digests(line, [0]) == before


def test_a_chunk_with_rows_of_an_older_version_has_none(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_SEGMENT_CHUNKS", 100)
    bench.put(0, report(dict.fromkeys("abcdef", 1.0)), "first")
    with bench.store.transaction() as connection:
        connection.execute(update(hot).values(checksum=None))
    assert digest(bench) == {}
