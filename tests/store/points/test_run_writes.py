"""One write of several runs, and the same runs in a write each."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.store.conftest import MOMENT, Bench

from knickpoint.model.commit import Commit, Repository
from knickpoint.model.errors import InputError, StoreError
from knickpoint.model.query import Query
from knickpoint.model.report import Outcome, Result, ResultTable, RunReport
from knickpoint.model.unit_names import Better
from knickpoint.store import EventKind, Receipt, RunKind, RunWrite, Store, create_store, open_store, unpack_ids
from knickpoint.store.points import point_writer as writer_module

report = Bench.report


def item(slot: int, identity: str, values: dict[str, float | Sequence[float]], content: str = "") -> RunWrite:
    return RunWrite(slot, report(values), identity, content or identity, "file")


def test_runs_that_are_written_together_are_all_there(bench: Bench) -> None:
    receipts = bench.store.runs.write(
        bench.repository, [item(slot, f"r{slot}", {"a": float(slot), "b": [1.0, 2.0]}) for slot in range(70)]
    )
    assert {receipt.kind for receipt in receipts} == {RunKind.NEW}
    assert [len(receipt.new_traces) for receipt in receipts[:2]] == [2, 0]
    assert bench.values(["a"])[0, :70].tolist() == [float(slot) for slot in range(70)]
    assert bench.store.runs.points(bench.id("b"), 69)[0].samples == (1.0, 2.0)


def test_runs_of_one_commit_share_its_tile(bench: Bench) -> None:
    bench.store.runs.write(bench.repository, [item(0, "r1", {"b": 1.0}), item(0, "r2", {"a": 2.0})])
    assert (bench.point("a", 0), bench.point("b", 0)) == (2.0, 1.0)
    assert [point.run.identity for point in bench.store.runs.points(bench.id("a"), 0)] == ["r2"]


def test_runs_that_share_a_trace_join(bench: Bench) -> None:
    receipts = bench.store.runs.write(bench.repository, [item(0, "r1", {"a": 1.0}), item(0, "r2", {"a": 3.0})])
    assert [receipt.kind for receipt in receipts] == [RunKind.NEW, RunKind.RERUN]
    assert bench.point("a", 0) == 2.0


def test_known_runs_stay_and_new_ones_come_in(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "r0")
    receipts = bench.store.runs.write(
        bench.repository, [item(0, "r0", {"a": 1.0}), item(1, "r1", {"a": 2.0}), item(2, "r2", {"a": 3.0})]
    )
    assert [receipt.kind for receipt in receipts] == [RunKind.SAME, RunKind.NEW, RunKind.NEW]


def test_runs_of_other_traces_join_the_tiles_of_their_commits(bench: Bench) -> None:
    first = [item(slot, f"a{slot}", {"a": float(slot), "b": 1.5}) for slot in range(70)]
    second = [item(slot, f"c{slot}", {"c": 2.5, "d": float(slot)}) for slot in range(70)]
    bench.store.runs.write(bench.repository, first)
    receipts = bench.store.runs.write(bench.repository, second)
    assert {receipt.kind for receipt in receipts} == {RunKind.NEW}
    assert bench.values(["a", "d"])[:, :70].tolist() == [[float(slot) for slot in range(70)]] * 2
    assert (bench.point("b", 69), bench.point("c", 69)) == (1.5, 2.5)
    assert len(bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10)) == 2


def test_a_run_of_a_stored_trace_joins_its_point(bench: Bench) -> None:
    bench.store.runs.write(bench.repository, [item(slot, f"a{slot}", {"a": 1.0}) for slot in range(3)])
    batch = [item(0, "x0", {"b": 1.0}), item(1, "x1", {"a": 3.0}), item(2, "x2", {"c": 1.0})]
    receipts = bench.store.runs.write(bench.repository, batch)
    assert [receipt.kind for receipt in receipts] == [RunKind.NEW, RunKind.RERUN, RunKind.NEW]
    assert [bench.point("a", slot) for slot in range(3)] == [1.0, 2.0, 1.0]
    assert [len(receipt.new_traces) for receipt in receipts] == [1, 0, 1]


def test_one_event_tells_of_all(bench: Bench) -> None:
    bench.store.runs.write(bench.repository, [item(slot, f"r{slot}", {"a": 1.0}) for slot in range(5)])
    (event,) = bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10)
    assert event.payload["slots"] == [0, 1, 2, 3, 4]
    assert unpack_ids(event.payload).tolist() == [bench.id("a")]


def test_a_later_run_states_the_direction_of_a_trace_that_only_failed_so_far(bench: Bench) -> None:
    def run(slot: int, result: Result) -> RunWrite:
        return RunWrite(slot, RunReport(ResultTable.of([result])), f"r{slot}", f"r{slot}", "file")

    bench.store.runs.write(bench.repository, [run(0, Result({"name": "a"}, outcome=Outcome.FAILED))])
    measured = [
        run(1, Result({"name": "a"}, (1.0,), "bytes")),
        run(2, Result({"name": "a"}, (2.0,), "bytes", Better.HIGHER)),
    ]
    bench.store.runs.write(bench.repository, measured)
    assert bench.store.traces.get([bench.id("a")])[0].better is Better.HIGHER


def test_an_event_names_no_run_without_traces(bench: Bench) -> None:
    receipts = bench.store.runs.write(bench.repository, [item(0, "r0", {}), item(1, "r1", {"a": 1.0})])
    (event,) = bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10)
    assert (event.payload["slots"], event.payload["runs"]) == ([1], [receipts[1].run_id])


def test_an_event_names_the_correction_that_takes_all_values_away(bench: Bench) -> None:
    (first,) = bench.store.runs.write(bench.repository, [item(0, "r0", {"a": 1.0})])
    bench.store.runs.write(bench.repository, [item(0, "r0", {}, content="none")])
    last = bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10)[-1]
    assert (last.payload["slots"], last.payload["runs"]) == ([0], [first.run_id])
    assert unpack_ids(last.payload).tolist() == [bench.id("a")]


def test_a_run_that_cannot_be_written_keeps_the_others_out(bench: Bench) -> None:
    broken = RunWrite(1, RunReport(ResultTable.of([Result({"name": "a"})])), "r1", "r1", "file")
    with pytest.raises(InputError):
        bench.store.runs.write(bench.repository, [item(0, "r0", {"a": 1.0}), broken])
    assert bench.store.runs.at(bench.repository, [0, 1]) == []


def test_two_runs_of_one_identity_are_refused(bench: Bench) -> None:
    with pytest.raises(StoreError, match="identity of its own"):
        bench.store.runs.write(bench.repository, [item(0, "r", {"a": 1.0}), item(1, "r", {"a": 2.0})])


def test_no_runs_are_nothing(bench: Bench) -> None:
    assert bench.store.runs.write(bench.repository, []) == []
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
units = st.sampled_from(["ms", "ms", "s", "MB", "widgets"])
betters = st.sampled_from([Better.UNKNOWN, Better.UNKNOWN, Better.LOWER, Better.HIGHER])
Content = dict[str, tuple[list[float], str, Better]]
contents = st.dictionaries(st.sampled_from("abcd"), st.tuples(samples, units, betters), min_size=1, max_size=3)
batches = st.lists(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2, 63, 64, 70]), st.sampled_from("pqrstuv"), contents),
        max_size=6,
        unique_by=lambda run: run[1],
    ),
    min_size=1,
    max_size=3,
)


def writes_of(batch: list[tuple[int, str, Content]]) -> list[RunWrite]:
    """Return the writes of a drawn batch; a benchmark without samples failed."""
    writes = []
    for slot, identity, content in batch:
        results = [
            Result({"name": name}, tuple(values), unit, better, Outcome.MEASURED if values else Outcome.FAILED)
            for name, (values, unit, better) in content.items()
        ]
        writes.append(RunWrite(slot, RunReport(ResultTable.of(results)), identity, repr((slot, content)), "file"))
    return writes


def described(store: Store, receipt: Receipt) -> object:
    """Return what a receipt says, without numbers that depend on the order of work."""
    changes = sorted(
        zip(
            [trace.key for trace in store.traces.get(receipt.changes.trace_ids)],
            receipt.changes.before.tolist(),
            receipt.changes.after.tolist(),
            strict=True,
        ),
        key=repr,
    )
    new = sorted(trace.key for trace in store.traces.get(receipt.new_traces))
    return receipt.kind, len(receipt.trace_ids), new, repr(changes)


def held(store: Store, repository: Repository) -> object:
    """Return all that a store says of its traces, points and runs."""
    line = store.commits.line(repository)
    traces = store.traces.get(store.traces.select(repository, Query()))
    found = []
    for trace in sorted(traces, key=lambda trace: (trace.key, trace.dimension)):
        values = store.frames.values(line, [trace.id])[0]
        provenance = [
            (slot, piece.run.identity, piece.outcome, piece.samples, piece.unit, repr(piece.value))
            for slot in (0, 1, 2, 63, 64, 70)
            for piece in sorted(store.runs.points(trace.id, slot), key=lambda piece: piece.run.identity)
        ]
        found.append(
            (
                trace.key,
                trace.unit,
                trace.better,
                [repr(float(value)) for value in values[[0, 1, 2, 63, 64, 70]]],
                provenance,
            )
        )
    runs = [(run.slot, run.identity, run.corrections) for run in store.runs.at(repository, range(80))]
    return found, sorted(runs)


@pytest.mark.parametrize("chunks", [1, 4], ids=["segments", "tiles"])
@pytest.mark.thorough
@settings(
    max_examples=examples(4),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(batches=batches)
def test_one_write_of_many_runs_leaves_what_many_writes_of_one_run_do(
    template: Path, monkeypatch: pytest.MonkeyPatch, chunks: int, batches: list[list[tuple[int, str, Content]]]
) -> None:
    monkeypatch.setattr(writer_module, "_SEGMENT_CHUNKS", chunks)
    with tempfile.TemporaryDirectory() as room:
        for name in ("together", "alone"):
            shutil.copy(template, Path(room) / f"{name}.db")
        with open_store(Path(room) / "together.db") as together, open_store(Path(room) / "alone.db") as alone:
            repository = together.commits.repository("main")
            for batch in batches:
                one = [described(together, receipt) for receipt in together.runs.write(repository, writes_of(batch))]
                other = [
                    described(alone, receipt)
                    for write in writes_of(batch)
                    for receipt in alone.runs.write(repository, [write])
                ]
                assert one == other
                assert held(together, repository) == held(alone, repository)
            for store in (together, alone):
                store.seal(everything=True)
            assert held(together, repository) == held(alone, repository)


def test_an_event_lists_so_many_runs_and_no_more(bench: Bench) -> None:
    bench.store.runs.write(bench.repository, [item(0, f"r{number}", {f"b{number}": 1.0}) for number in range(1200)])
    (event,) = bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10)
    assert (len(event.payload["runs"]), event.payload["count"], event.payload["truncated"]) == (1000, 1200, True)
