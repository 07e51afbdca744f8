from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.instance.trackers import import_tickets, read_ticket_file, read_tickets
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, SuspectRange
from knickpoint.model.commit import Commit
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, Store, create_store
from knickpoint.watch.alert_run.run import default_alert, run_alerts
from knickpoint.watch.triage.decisions import Targets, decide


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


QUICK = Alert("quick", method="threshold", settle_share=0, settle_least=3, settle_most=3)


def measure(store: Store, values: Mapping[int, float], *, as_work: bool = True) -> None:
    """Measure a trace at some commits, and run the alert."""
    repository = store.commits.repository("mylib")
    for slot, value in values.items():
        run = RunReport(ResultTable.of([Result({"benchmark": "sort"}, (value,), "ms")]))
        store.runs.write(repository, [RunWrite(slot, run, str(slot), f"{slot} {value}", "test")])
    run_alerts(store, [QUICK], as_work=as_work)


@contextmanager
def sparse(tmp_path: Path, *, as_work: bool = True) -> Iterator[Store]:
    """Make a store in which every third commit is measured, and the trace steps in one of the commits 13 to 15."""
    with create_store(tmp_path / "sparse.db") as made:
        repository = made.commits.add_repository("mylib")
        begin = datetime(2026, 1, 1, tzinfo=UTC)
        made.commits.add(repository, [Commit(f"{k:040d}", "Ada", "", begin, f"Change {k}") for k in range(60)])
        made.commits.set_line(repository, "main", range(60))
        measure(made, {slot: 10.0 if slot < 14 else 20.0 for slot in range(0, 48, 3)}, as_work=as_work)
        assert [point.suspect_range for point in points(made)] == [SuspectRange("main", 12, 15)]
        yield made


def points(store: Store) -> list[ChangePoint]:
    (trace,) = store.traces.find(store.commits.repository("mylib"), ",benchmark=sort,")
    return store.findings.change_points(trace.id)


def ticket(slot: int) -> bytes:
    return f"name,commit,query\nT-1,{slot:040d},benchmark=sort\n".encode()


def test_a_ticket_may_name_the_commit_that_was_announced_before_the_change_was_located(tmp_path: Path) -> None:
    with sparse(tmp_path) as store:
        measure(store, {13: 10.0, 14: 20.0})
        assert [point.suspect_range for point in points(store)] == [SuspectRange("main", 13, 14)]
        assert import_tickets(store, read_tickets(ticket(15), "t")).changed == 1
        assert unprocessed(store) == 0
        measure(store, {16: 20.0})
        assert [point.matched_ticket for point in points(store)] == ["T-1"]


def test_a_ticket_may_name_a_commit_of_the_range_that_a_decision_was_about(tmp_path: Path) -> None:
    with sparse(tmp_path, as_work=False) as store:  # history is never announced
        (point,) = points(store)
        decide(store, Targets(points=(point.id,)), who="ann", note="seen")
        measure(store, {13: 10.0, 14: 20.0}, as_work=False)
        assert import_tickets(store, read_tickets(ticket(15), "t")).changed == 1


@pytest.mark.parametrize("slot", [12, 16])
def test_a_ticket_that_names_a_commit_outside_of_every_range_covers_nothing(tmp_path: Path, slot: int) -> None:
    with sparse(tmp_path) as store:
        measure(store, {13: 10.0, 14: 20.0})
        assert import_tickets(store, read_tickets(ticket(slot), "t")).changed == 0


def test_a_ticket_covers_what_lies_at_its_commit_before_what_lay_there_once(tmp_path: Path) -> None:
    with sparse(tmp_path) as store:
        measure(store, {13: 10.0, 14: 40.0})
        first, second = sorted(points(store), key=lambda point: point.suspect_range.slot)
        assert (first.suspect_range.slot, second.suspect_range.slot) == (14, 15)
        import_tickets(store, read_tickets(ticket(15), "t"))
        assert [{each.id: each.matched_ticket for each in points(store)}[key.id] for key in (first, second)] == [
            "",
            "T-1",
        ]


def test_a_ticket_at_a_commit_where_two_changes_of_a_trace_were_announced_covers_neither(tmp_path: Path) -> None:
    with sparse(tmp_path) as store:
        measure(store, {13: 10.0, 14: 20.0, **dict.fromkeys(range(48, 60), 40.0)})
        ledger = store.findings.announcements
        first, second = (each for each in ledger.after(0) if each.kind.opens)
        moved = replace(second, id=ledger.next_id(), number=9, suspect_range=first.suspect_range)
        ledger.append([moved])
        assert import_tickets(store, read_tickets(ticket(15), "t")).changed == 0


def test_an_unknown_commit_puts_nothing(store: Store) -> None:
    rows = read_tickets(f"name,commit\nT-1,{COMMIT}\nT-2,feedfacefeed\n".encode(), "t")
    with pytest.raises(InputError, match="t, row 2: the repository 'mylib' has no commit 'feedfacefeed'"):
        import_tickets(store, rows)
    assert unprocessed(store) == 1


def test_an_unknown_repository_is_refused(store: Store) -> None:
    with pytest.raises(HistoryError, match="there is no repository 'other'"):
        import_tickets(store, read_tickets(f"name,commit,repository\nT-1,{COMMIT},other\n".encode(), "t"))
