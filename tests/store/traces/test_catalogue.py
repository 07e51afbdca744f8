"""Compare queries and facets with the params themselves, in any process and at any size."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.commit import Repository
from knickpoint.model.errors import ParamsError
from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.query import Query, parse_query
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, Store, open_store, pack_ids, unpack_ids
from knickpoint.store.traces import catalogue

QUERIES = [
    "", "os=a", "os=a|b", "os!=a", "os~[ab]", "os!~a", "os=*", "!os", "os=a test=t1", "os=z", "none=x", "!none",
    "none!=x", "os=b|c !size", "test=t1*",
    "T1", "-t1 B", "big,", "t1 os!=a -big", "nowhere", "-nowhere",
]  # fmt: skip


def params_of(number: int) -> dict[str, str]:
    params = {"test": f"t{number}", "os": "abc"[number % 3]}
    if number % 5 == 0:
        params["size"] = "big, =%"
    if number % 7 == 0:
        del params["os"]
    return params


def fill(store: Store, repository: Repository, numbers: range, slot: int) -> None:
    results = ResultTable.of(Result(params_of(number), (1.0,), "ms") for number in numbers)
    store.runs.write(repository, [RunWrite(slot, RunReport(results), f"{numbers}", f"{numbers}", "file")])


@pytest.mark.parametrize("cached", [8_000_000, 0])
def test_select_and_facets_are_those_of_the_params(
    store: Store, repository: Repository, monkeypatch: pytest.MonkeyPatch, cached: int
) -> None:
    monkeypatch.setattr(catalogue, "_CACHED_TRACES", cached)
    fill(store, repository, range(1_100), 0)
    for text in QUERIES:
        query = parse_query(text)
        expected = {encode_key(params_of(n)) for n in range(1_100) if query.matches(params_of(n))}
        found = [trace.key for trace in store.traces.get(store.traces.select(repository, query))]
        assert sorted(found) == sorted(expected), text
        counts: dict[str, dict[str, int]] = {}
        for key in expected:
            for name, value in decode_key(key).items():
                counts.setdefault(name, {})[value] = counts.get(name, {}).get(value, 0) + 1
        assert store.traces.facets(repository, query) == counts, text


def test_the_values_of_a_param_are_those_of_all_traces(store: Store, repository: Repository) -> None:
    assert not store.traces.param_values("os")
    fill(store, repository, range(20), 0)
    assert sorted(store.traces.param_values("os").split("\n")) == ["a", "b", "c"]


def test_a_receipt_has_the_new_traces_whose_keys_have_traces_in_other_units(
    store: Store, repository: Repository
) -> None:
    for slot, units in enumerate((["ms", "ms"], ["s", "MB", "MB"])):
        results = ResultTable.of(Result({"test": f"t{number}"}, (1.0,), unit) for number, unit in enumerate(units))
        run = RunWrite(slot, RunReport(results), f"{slot}", f"{slot}", "file")
        receipt = store.runs.write(repository, [run])[0]
    assert [trace.key for trace in store.traces.get(receipt.new_traces)] == [",test=t1,", ",test=t2,"]
    assert [trace.key for trace in store.traces.get(receipt.other_units)] == [",test=t1,"]


def test_another_process_sees_new_traces(store: Store, repository: Repository, location: str) -> None:
    fill(store, repository, range(10), 0)
    with open_store(location) as other:
        assert len(other.traces.select(repository, Query())) == 10
        fill(store, repository, range(1_500), 1)
        assert len(other.traces.select(repository, parse_query("test=*"))) == 1_500


def test_traces_of_an_undone_transaction_are_not_there(store: Store, repository: Repository) -> None:
    with suppress(RuntimeError), store.transaction():
        fill(store, repository, range(3), 0)
        assert len(store.traces.select(repository, Query())) == 3
        raise RuntimeError
    assert len(store.traces.select(repository, Query())) == 0
    fill(store, repository, range(2), 0)
    assert [trace.key for trace in store.traces.get(store.traces.select(repository, Query()))] == [
        encode_key(params_of(number)) for number in range(2)
    ]


def test_a_key_that_is_not_canonical_stores_nothing(store: Store, repository: Repository) -> None:
    codes, small = np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.uint8)
    table = ResultTable((",b=1,a=2,",), np.ones(1), np.arange(2), ("ms",), codes, small, small)
    with pytest.raises(ParamsError):
        store.runs.write(repository, [RunWrite(0, RunReport(table), "r", "r", "file")])
    assert store.traces.count(repository) == 0


@given(st.lists(st.integers(0, 2**33), unique=True, min_size=1, max_size=200).map(sorted))
def test_the_ids_of_an_event_read_back(ids: list[int]) -> None:
    assert unpack_ids(pack_ids(np.array(ids, dtype=np.int64))).tolist() == ids


def _in_another_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_traces_of_an_open_transaction_are_seen_by_itself_only(store: Store, repository: Repository) -> None:
    everything = parse_query("")
    fill(store, repository, range(3), 0)
    others: list[int] = []
    with store.transaction():
        fill(store, repository, range(3, 5), 1)
        own = len(store.traces.select(repository, everything))
        _in_another_thread(lambda: others.append(len(store.traces.select(repository, everything))))
    assert (own, others) == (5, [3])
    assert store.traces.facets(repository, everything)["test"] == {f"t{number}": 1 for number in range(5)}


def test_a_writer_right_after_a_failed_one_uses_nothing_that_was_undone(
    store: Store, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next writer comes as early as it can: when the failed transaction gives up its lock."""
    from sqlalchemy import Connection

    undo = Connection.rollback

    def undo_and_let_others_in(connection: Connection) -> None:
        undo(connection)
        monkeypatch.setattr(Connection, "rollback", undo)
        _in_another_thread(lambda: fill(store, repository, range(7, 9), 1))

    with suppress(ZeroDivisionError), store.transaction():
        fill(store, repository, range(7, 10), 0)
        monkeypatch.setattr(Connection, "rollback", undo_and_let_others_in)
        raise ZeroDivisionError
    with open_store(store.location) as other:
        assert other.traces.facets(repository, parse_query(""))["test"] == {"t7": 1, "t8": 1}


def test_a_partition_has_each_matching_trace_once_by_its_value(store: Store, repository: Repository) -> None:
    fill(store, repository, range(40), 0)
    for text in QUERIES:
        query = parse_query(text)
        expected: dict[str, list[int]] = {}
        for trace in store.traces.get(store.traces.select(repository, query)):
            expected.setdefault(decode_key(trace.key).get("os", ""), []).append(trace.id)
        parts = store.traces.partition(repository, query, "os")
        assert {value: ids.tolist() for value, ids in parts.items()} == expected, text


@pytest.mark.parametrize("cached", [8_000_000, 0])
def test_alternatives_count_the_values_of_a_param_without_its_term(
    store: Store, repository: Repository, monkeypatch: pytest.MonkeyPatch, cached: int
) -> None:
    monkeypatch.setattr(catalogue, "_CACHED_TRACES", cached)
    fill(store, repository, range(60), 0)
    query = parse_query("os=a size=*")
    found = store.traces.alternatives(repository, query)
    assert found.total == len(store.traces.select(repository, query))
    assert found.counts["os"] == store.traces.facets(repository, parse_query("size=*"))["os"]
    assert found.counts["size"] == store.traces.facets(repository, parse_query("os=a"))["size"]
    assert found.counts["test"] == store.traces.facets(repository, query)["test"]


def test_counts_have_new_traces_at_once(store: Store, repository: Repository) -> None:
    fill(store, repository, range(10), 0)
    before = store.traces.alternatives(repository, parse_query("os=a"))
    fill(store, repository, range(1_500), 1)
    after = store.traces.alternatives(repository, parse_query("os=a"))
    assert (before.total, after.total) == (
        sum(params_of(number).get("os") == "a" for number in range(10)),
        sum(params_of(number).get("os") == "a" for number in range(1_500)),
    )


def test_counts_beyond_those_that_are_kept_are_counted_again(
    store: Store, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "_KEPT_COUNTS", 5)
    monkeypatch.setattr(catalogue, "_KEPT_BYTES", 5)
    fill(store, repository, range(30), 0)
    queries = [parse_query(text) for text in ("os=a", "os=b", "os=a")]
    first, other, again = (store.traces.alternatives(repository, query) for query in queries)
    assert first == again
    assert first != other


def test_an_older_snapshot_sees_its_own_traces_and_leaves_newer_ones_to_others(
    store: Store, repository: Repository
) -> None:
    fill(store, repository, range(10), 0)
    query = parse_query("test=*")
    with store.database.reading():
        assert len(store.traces.select(repository, query)) == 10
        _in_another_thread(lambda: fill(store, repository, range(1_500), 1))
        counted: list[int] = []
        _in_another_thread(lambda: counted.append(store.traces.alternatives(repository, query).total))
        assert counted == [1_500]
        assert len(store.traces.select(repository, query)) == 10
        assert store.traces.alternatives(repository, query).total == 10
    assert len(store.traces.select(repository, query)) == 1_500
