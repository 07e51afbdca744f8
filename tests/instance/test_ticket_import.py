from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.instance.ticket_import import import_tickets, read_ticket_file, read_tickets
from knickpoint.model.commit import Commit
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, Store, create_store
from knickpoint.watch.alert_run.run import default_alert, run_alerts


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a store in which the trace sort steps at commit 15."""
    with create_store(tmp_path / "store.db") as made:
        repository = made.commits.add_repository("mylib")
        begin = datetime(2026, 1, 1, tzinfo=UTC)
        made.commits.add(repository, [Commit(f"{k:040d}", "Ada", "", begin, f"Change {k}") for k in range(30)])
        made.commits.set_line(repository, "main", range(30))
        for slot in range(30):
            value = (10.0 if slot < 15 else 20.0) + 0.01 * (slot % 3)
            run = RunReport(ResultTable.of([Result({"benchmark": "sort"}, (value,), "ms")]))
            made.runs.write(repository, [RunWrite(slot, run, str(slot), str(slot), "test")])
        run_alerts(made, [default_alert()])
        yield made


def unprocessed(store: Store) -> int:
    return store.findings.count(store.commits.repository("mylib"), processed=False)


COMMIT = f"{15:040d}"


def test_csv_and_json_say_the_same() -> None:
    rows = read_tickets(b'name,commit,query,open\nT-1,abc1234,"a=b|c d=e",no\nT-2,abc1234,,\n', "t")
    others = read_tickets(
        b'[{"name": "T-1", "commit": "abc1234", "query": "a=b|c d=e", "open": false}, {"name": "T-2", "commit": "abc1234"}]',
        "t",
    )
    assert [(row.name, row.query, row.open) for row in rows] == [("T-1", "a=b|c d=e", False), ("T-2", "", True)]
    assert [(row.name, row.query, row.open) for row in rows] == [(row.name, row.query, row.open) for row in others]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"name,commit,colour\nT-1,abc,red\n", "t, row 1: there is no column 'colour'"),
        (b"name,commit\nT-1,\n", "t, row 1: commit is missing"),
        (b"name,commit\nT-1,abc\n,abc\n", "t, row 2: name is missing"),
        (b"name,commit,query\nT-1,abc,a=~(\n", "t, row 1: the query cannot be read"),
        (b"name,commit,open\nT-1,abc,perhaps\n", "t, row 1: open is 'perhaps'"),
        (b"name,commit\nT-1,abc,more\n", "there is no column"),
        (b"[{]", "t: is not JSON"),
        (b'{"name": "T-1"}', "t: is not a list of objects"),
        (b'[{"name": ["T-1"], "commit": "abc"}]', "t, entry 1: name is"),
        (b"\xff\xfe", "t: byte 0 is not UTF-8"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_tickets(data, "t")


@given(st.binary(max_size=80) | st.text('[]{},:"\n namecoit', max_size=60).map(str.encode))
def test_any_bytes_are_tickets_or_refused(data: bytes) -> None:
    try:
        rows = read_tickets(data, "t")
    except InputError as error:
        where = error.where
    else:
        where = "t" if all(row.name and row.commit for row in rows) else ""
    assert where.startswith("t")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_ticket_file(tmp_path / "none.csv")


def test_a_ticket_takes_its_finding_off_the_list(store: Store) -> None:
    rows = read_tickets(f"name,commit,query\nT-1,{COMMIT},benchmark=sort\n".encode(), "t")
    assert import_tickets(store, rows).changed == 1
    assert unprocessed(store) == 0


def test_tickets_that_are_no_more_cover_nothing(store: Store) -> None:
    import_tickets(store, read_tickets(f"name,commit\nT-1,{COMMIT}\n".encode(), "t"))
    assert import_tickets(store, [], replace=True).changed == 1
    assert unprocessed(store) == 1


def test_other_tickets_stay_unless_they_are_to_be_replaced(store: Store) -> None:
    import_tickets(store, read_tickets(f"name,commit\nT-1,{COMMIT}\n".encode(), "t"))
    import_tickets(store, read_tickets(f"name,commit\nT-2,{COMMIT}\n".encode(), "t"))
    assert [ticket.name for ticket in store.findings.tickets.all(store.commits.repository("mylib"))] == ["T-1", "T-2"]
    import_tickets(store, read_tickets(f"name,commit\nT-2,{COMMIT}\n".encode(), "t"), replace=True)
    assert [ticket.name for ticket in store.findings.tickets.all(store.commits.repository("mylib"))] == ["T-2"]
    assert unprocessed(store) == 0


def test_an_unknown_commit_puts_nothing(store: Store) -> None:
    rows = read_tickets(f"name,commit\nT-1,{COMMIT}\nT-2,feedfacefeed\n".encode(), "t")
    with pytest.raises(InputError, match="t, row 2: the repository 'mylib' has no commit 'feedfacefeed'"):
        import_tickets(store, rows)
    assert unprocessed(store) == 1


def test_an_unknown_repository_is_refused(store: Store) -> None:
    with pytest.raises(HistoryError, match="there is no repository 'other'"):
        import_tickets(store, read_tickets(f"name,commit,repository\nT-1,{COMMIT},other\n".encode(), "t"))
