"""Runs that are written together, against the same runs written one after the other."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.store.conftest import MOMENT, Bench

from knickpoint.model.commit import Commit
from knickpoint.model.errors import InputError, StoreError
from knickpoint.model.query import Query
from knickpoint.model.report import Outcome, Result, ResultTable, RunReport
from knickpoint.store import EventKind, Put, RunItem, create_store, open_store, unpack_ids

report = Bench.report


def item(slot: int, identity: str, values: dict[str, float | Sequence[float]], content: str = "") -> RunItem:
    return RunItem(slot, report(values), identity, content or identity, "file")


def test_runs_that_are_written_together_are_all_there(bench: Bench) -> None:
    receipts = bench.store.runs.put_many(
        bench.repository, [item(slot, f"r{slot}", {"a": float(slot), "b": [1.0, 2.0]}) for slot in range(70)]
    )
    assert {receipt.outcome for receipt in receipts} == {Put.NEW}
    assert [len(receipt.new_traces) for receipt in receipts[:2]] == [2, 0]
    assert bench.values(["a"])[0, :70].tolist() == [float(slot) for slot in range(70)]
    assert bench.store.runs.points(bench.id("b"), 69)[0].samples == (1.0, 2.0)


def test_runs_of_one_commit_share_its_tile(bench: Bench) -> None:
    bench.store.runs.put_many(bench.repository, [item(0, "r1", {"b": 1.0}), item(0, "r2", {"a": 2.0})])
    assert (bench.point("a", 0), bench.point("b", 0)) == (2.0, 1.0)
    assert [point.run.identity for point in bench.store.runs.points(bench.id("a"), 0)] == ["r2"]


def test_runs_that_share_a_trace_join(bench: Bench) -> None:
    receipts = bench.store.runs.put_many(bench.repository, [item(0, "r1", {"a": 1.0}), item(0, "r2", {"a": 3.0})])
    assert [receipt.outcome for receipt in receipts] == [Put.NEW, Put.RERUN]
    assert bench.point("a", 0) == 2.0


def test_known_runs_stay_and_new_ones_come_in(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "r0")
    receipts = bench.store.runs.put_many(
        bench.repository, [item(0, "r0", {"a": 1.0}), item(1, "r1", {"a": 2.0}), item(2, "r2", {"a": 3.0})]
    )
    assert [receipt.outcome for receipt in receipts] == [Put.SAME, Put.NEW, Put.NEW]


def test_runs_of_other_traces_join_the_tiles_of_their_commits(bench: Bench) -> None:
    first = [item(slot, f"a{slot}", {"a": float(slot), "b": 1.5}) for slot in range(70)]
    second = [item(slot, f"c{slot}", {"c": 2.5, "d": float(slot)}) for slot in range(70)]
    bench.store.runs.put_many(bench.repository, first)
    receipts = bench.store.runs.put_many(bench.repository, second)
    assert {receipt.outcome for receipt in receipts} == {Put.NEW}
    assert bench.values(["a", "d"])[:, :70].tolist() == [[float(slot) for slot in range(70)]] * 2
    assert (bench.point("b", 69), bench.point("c", 69)) == (1.5, 2.5)
    assert len(bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10)) == 2


def test_a_run_of_a_stored_trace_joins_its_point(bench: Bench) -> None:
    bench.store.runs.put_many(bench.repository, [item(slot, f"a{slot}", {"a": 1.0}) for slot in range(3)])
    batch = [item(0, "x0", {"b": 1.0}), item(1, "x1", {"a": 3.0}), item(2, "x2", {"c": 1.0})]
    receipts = bench.store.runs.put_many(bench.repository, batch)
    assert [receipt.outcome for receipt in receipts] == [Put.NEW, Put.RERUN, Put.NEW]
    assert [bench.point("a", slot) for slot in range(3)] == [1.0, 2.0, 1.0]
    assert [len(receipt.new_traces) for receipt in receipts] == [1, 0, 1]


def test_one_event_tells_of_all(bench: Bench) -> None:
    bench.store.runs.put_many(bench.repository, [item(slot, f"r{slot}", {"a": 1.0}) for slot in range(5)])
    (event,) = bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10)
    assert event.payload["slots"] == [0, 1, 2, 3, 4]
    assert unpack_ids(event.payload).tolist() == [bench.id("a")]


def test_a_run_that_cannot_be_written_keeps_the_others_out(bench: Bench) -> None:
    broken = RunItem(1, RunReport(ResultTable.of([Result({"name": "a"})])), "r1", "r1", "file")
    with pytest.raises(InputError):
        bench.store.runs.put_many(bench.repository, [item(0, "r0", {"a": 1.0}), broken])
    assert bench.store.runs.at(bench.repository, [0, 1]) == []


def test_two_runs_of_one_identity_are_refused(bench: Bench) -> None:
    with pytest.raises(StoreError, match="identity of its own"):
        bench.store.runs.put_many(bench.repository, [item(0, "r", {"a": 1.0}), item(1, "r", {"a": 2.0})])


def test_no_runs_are_nothing(bench: Bench) -> None:
    assert bench.store.runs.put_many(bench.repository, []) == []
    assert bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10) == []


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("many") / "store.db"
    with create_store(place) as store:
        made = store.commits.add_repository("main")
        slots = store.commits.add(made, [Commit(f"{number:040x}", "", "", MOMENT, "") for number in range(80)])
        store.commits.set_line(made, "main", list(slots.values()))
    return place


samples = st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), max_size=2)
contents = st.dictionaries(st.sampled_from("abcd"), samples, min_size=1, max_size=3)
batches = st.lists(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2, 63, 64, 70]), st.sampled_from("pqrstuv"), contents),
        max_size=6,
        unique_by=lambda one: one[1],
    ),
    min_size=1,
    max_size=3,
)


def items_of(batch: list[tuple[int, str, dict[str, list[float]]]]) -> list[RunItem]:
    """Return items of a drawn batch; a benchmark without samples failed."""
    items = []
    for slot, identity, content in batch:
        results = [
            Result({"name": name}, tuple(values), "ms", outcome=Outcome.MEASURED if values else Outcome.FAILED)
            for name, values in content.items()
        ]
        items.append(RunItem(slot, RunReport(ResultTable.of(results)), identity, repr((slot, content)), "file"))
    return items


@settings(max_examples=20, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(batches)
def test_together_and_one_by_one_come_to_the_same(
    template: Path, batches: list[list[tuple[int, str, dict[str, list[float]]]]]
) -> None:
    with tempfile.TemporaryDirectory() as room:
        for name in ("together", "alone"):
            shutil.copy(template, Path(room) / f"{name}.db")
        with open_store(Path(room) / "together.db") as together, open_store(Path(room) / "alone.db") as alone:
            repository = together.commits.repository("main")
            line = together.commits.line(repository)
            for batch in batches:
                one = [receipt.outcome for receipt in together.runs.put_many(repository, items_of(batch))]
                other = [
                    alone.runs.put(
                        repository,
                        each.slot,
                        each.run,
                        identity=each.identity,
                        content_hash=each.content_hash,
                        source=each.source,
                    ).outcome
                    for each in items_of(batch)
                ]
                assert one == other
            frames = []
            for store in (together, alone):
                ids = store.traces.select(repository, Query())
                keys = [trace.key for trace in store.traces.get(ids)]
                order = np.argsort(keys)
                frames.append((sorted(keys), store.frames.values(line, ids)[order]))
            assert frames[0][0] == frames[1][0]
            np.testing.assert_array_equal(frames[0][1], frames[1][1])


def test_an_event_lists_so_many_runs_and_no_more(bench: Bench) -> None:
    bench.store.runs.put_many(bench.repository, [item(0, f"r{number}", {f"b{number}": 1.0}) for number in range(1200)])
    (event,) = bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10)
    assert (len(event.payload["runs"]), event.payload["count"], event.payload["truncated"]) == (1000, 1200, True)
