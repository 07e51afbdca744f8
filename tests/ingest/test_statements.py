"""What a file costs the database; a statement is a round trip where the database is another machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from tests.ingest.conftest import Lab


@contextmanager
def _statements(lab: Lab) -> Iterator[list[str]]:
    """Give the statements that the store sends, without what begins and ends transactions."""
    sent: list[str] = []
    engine = lab.instance.store.database.engine

    def watch(connection: Any, *_: object) -> None:
        connection.set_trace_callback(lambda text: sent.append(text) if text.startswith(_KINDS) else None)

    event.listen(engine, "checkout", watch)
    try:
        yield sent
    finally:
        event.remove(engine, "checkout", watch)


_KINDS = ("SELECT", "INSERT", "UPDATE", "DELETE", "SAVEPOINT", "RELEASE")


def _count(lab: Lab, name: str, benchmarks: int, commit: str) -> int:
    """Import a file, and return how many statements that took."""
    path = lab.skia(name, commit, **{f"bench_{number}": 1.5 for number in range(benchmarks)})
    with _statements(lab) as sent:
        lab.take(path)
    return len(sent)


@pytest.fixture
def used(lab: Lab) -> Lab:
    """An instance with 200 traces at two commits."""
    for name in ("1", "2"):
        _count(lab, name, 200, name * 40)
    return lab


@pytest.mark.parametrize("results", [2, 200])
def test_a_file_with_known_traces_takes_at_most_30_statements(used: Lab, results: int) -> None:
    assert _count(used, "3", results, "3" * 40) <= 30


def test_the_next_numbered_commit_is_appended_without_reading_the_others(lab: Lab) -> None:
    for number in range(1001, 1004):
        _count(lab, "earlier", 5, f"CP:{number}")
    path = lab.skia("next", "CP:1004", bench_1=1.0)
    with _statements(lab) as sent:
        lab.take(path)
    assert not [text for text in sent if text.startswith("SELECT commit_order.before, commit_order.after")]


def test_an_import_has_no_savepoints(used: Lab) -> None:
    path = used.skia("3", "3" * 40, bench_1=1.0)
    with _statements(used) as sent:
        used.take(path)
    assert not [text for text in sent if text.startswith("SAVEPOINT")]
