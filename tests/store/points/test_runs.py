from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.store.conftest import Bench

from knickpoint.model.errors import InputError, StoreError
from knickpoint.model.report import Outcome, Result, ResultTable, RunReport
from knickpoint.store import EventKind, FileState, RunKind

report = Bench.report


def test_a_new_run_is_new(bench: Bench) -> None:
    assert bench.put(0, report({"a": 1.0}), "r").kind is RunKind.NEW


def test_the_same_content_twice_is_one(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "r")
    assert bench.put(0, report({"a": 1.0}), "r").kind is RunKind.SAME


def test_a_correction_replaces_the_points_of_its_run(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "r", "first")
    bench.put(0, report({"a": 2.0}), "r", "second")
    assert bench.point("a", 0) == 2.0


def test_a_correction_removes_what_it_no_longer_says(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0, "b": 1.0}), "r", "first")
    bench.put(0, report({"a": 1.0}), "r", "second")
    assert np.isnan(bench.point("b", 0))


def test_a_correction_says_what_changed(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0, "b": 3.0}), "r", "first")
    receipt = bench.put(0, report({"a": 2.0, "b": 3.0}), "r", "second")
    assert (receipt.changes.before.tolist(), receipt.changes.after.tolist()) == ([1.0], [2.0])


def test_a_correction_may_move_to_another_commit(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "r", "first")
    bench.put(5, report({"a": 2.0}), "r", "second")
    assert np.isnan(bench.point("a", 0))
    assert bench.point("a", 5) == 2.0


def test_a_rerun_joins_as_the_median_of_the_runs(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "r1")
    assert bench.put(0, report({"a": [9.0, 2.0, 3.0]}), "r2").kind is RunKind.RERUN
    bench.put(0, report({"a": 5.0}), "r3")
    assert bench.point("a", 0) == 3.0


def test_a_removed_run_leaves_the_others(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "r1")
    second = bench.put(0, report({"a": 4.0}), "r2")
    bench.store.runs.remove(bench.repository, [second.run_id])
    assert bench.point("a", 0) == 1.0


def test_several_runs_are_removed_at_once_or_none(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "r1")
    second = bench.put(0, report({"a": 4.0}), "r2").run_id
    third = bench.put(3, report({"a": 2.0, "b": 7.0}), "r3").run_id
    with pytest.raises(StoreError, match="there is no run 99"):
        bench.store.runs.remove(bench.repository, [second, third, 99])
    assert bench.point("b", 3) == 7.0
    bench.store.runs.remove(bench.repository, [second, third])
    assert bench.point("a", 0) == 1.0
    assert np.isnan([bench.point("a", 3), bench.point("b", 3)]).all()


def test_a_file_whose_runs_were_removed_is_known_as_such(bench: Bench) -> None:
    ledger = bench.store.ledger
    for content in ("first", "second"):
        ledger.record("file", content, FileState.STORED, runs=1)
    ledger.record("other", "third", FileState.STORED, runs=1)
    before = datetime.now(UTC) - timedelta(seconds=1)
    ledger.mark_removed("file", "1 run removed by ada")
    states = {(entry.source, entry.content_hash): entry.state for entry in ledger.files()}
    assert states["file", "second"] is FileState.REMOVED
    assert states["file", "first"] is states["other", "third"] is FileState.STORED
    assert ledger.counts()[FileState.REMOVED] == 1
    assert ledger.removed_since(before)
    assert not ledger.removed_since(datetime.now(UTC) + timedelta(seconds=1))


def test_a_file_in_quarantine_stays_there_when_runs_of_its_earlier_content_are_removed(bench: Bench) -> None:
    ledger = bench.store.ledger
    ledger.record("file", "first", FileState.STORED, runs=1)
    ledger.record("file", "second", FileState.QUARANTINED)
    ledger.mark_removed("file", "1 run removed by ada")
    assert [entry.state for entry in ledger.files()] == [FileState.QUARANTINED, FileState.STORED]


def test_repeated_names_are_samples_of_one_point(bench: Bench) -> None:
    table = ResultTable.of([Result({"name": "a"}, (value,), "ms") for value in (1.0, 9.0, 2.0)])
    bench.put(0, RunReport(table), "r")
    assert bench.point("a", 0) == 2.0


def test_a_compatible_unit_converts_into_that_of_the_first_point(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}, "ms"), "r1")
    bench.put(1, report({"a": 0.5}, "s"), "r2")
    assert bench.point("a", 1) == 500.0


def test_the_original_value_and_unit_stay_with_the_run(bench: Bench) -> None:
    receipt = bench.put(0, report({"a": 1.0}, "ms"), "r1")
    bench.put(1, report({"a": 0.5}, "s"), "r2")
    (piece,) = bench.store.runs.points(int(receipt.trace_ids[0]), 1)
    assert (piece.samples, piece.unit, piece.value) == ((0.5,), "s", 500.0)


@pytest.mark.parametrize(
    ("value", "unit", "first", "expected"),
    [(17.0, "us", "ns", 17000.0), (9.0, "us", "ms", 0.009), (17.0, "ms", "us", 17000.0), (3.0, "s", "ns", 3e9)],
)
def test_a_value_in_a_larger_or_smaller_unit_is_the_same_number(
    bench: Bench, value: float, unit: str, first: str, expected: float
) -> None:
    bench.put(0, report({"a": expected}, unit=first), "r0")
    bench.put(1, report({"a": value}, unit=unit), "r1")
    assert bench.point("a", 1) == bench.point("a", 0)


def test_a_text_with_half_of_a_character_is_refused(bench: Bench) -> None:
    with pytest.raises(InputError, match="half of a character"):
        bench.put(0, report({"a": 1.0}, unit="m\ud800s"), "r0")
    bench.put(0, report({"a": 1.0}, unit="ms"), "r0")
    assert bench.point("a", 0) == 1.0


def test_a_value_too_large_for_the_unit_of_its_trace_is_refused(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}, unit="ns"), "r0")
    with pytest.raises(InputError, match=r"1e\+305 s is too large"):
        bench.put(1, report({"a": 1e305}, unit="s"), "r1")


def test_an_incompatible_unit_is_another_trace(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}, "ms"), "r1")
    bench.put(1, report({"a": 7.0}, "bytes"), "r2")
    assert [trace.unit for trace in bench.store.traces.find(bench.repository, ",name=a,")] == ["ms", "bytes"]


def test_a_failed_benchmark_has_no_point_but_is_remembered(bench: Bench) -> None:
    table = ResultTable.of([Result({"name": "a"}, outcome=Outcome.FAILED, message="it crashed")])
    receipt = bench.put(0, RunReport(table), "r")
    (piece,) = bench.store.runs.points(int(receipt.trace_ids[0]), 0)
    assert (piece.outcome, piece.message) == (Outcome.FAILED, "it crashed")


def test_a_trace_that_only_failed_takes_the_unit_of_its_first_value(bench: Bench) -> None:
    bench.put(0, RunReport(ResultTable.of([Result({"name": "a"}, outcome=Outcome.FAILED)])), "r1")
    bench.put(1, report({"a": 3.0}, "ms"), "r2")
    assert [trace.unit for trace in bench.store.traces.find(bench.repository, ",name=a,")] == ["ms"]


@pytest.mark.parametrize("value", [0.1, 1e-300, 2.0**53 - 1, 16777217.0, 1e300, -0.0, 3.0])
def test_a_point_reads_back_exactly_as_it_came(bench: Bench, value: float) -> None:
    bench.put(0, report({"a": value}), "r")
    assert bench.point("a", 0).hex() == value.hex()


def test_a_value_that_is_not_finite_stores_nothing(bench: Bench) -> None:
    with pytest.raises(InputError, match="not a finite number"):
        bench.put(0, report({"a": 1.0, "b": float("inf")}), "r")
    assert bench.store.traces.count(bench.repository) == 0
    assert bench.store.runs.at(bench.repository, [0]) == []


def test_a_run_publishes_one_event(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "r")
    bench.put(0, report({"a": 1.0}), "r")
    (event,) = bench.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10)
    assert (event.payload["repository"], event.payload["slots"], event.payload["count"]) == ("main", [0], 1)


def _failed(*names: str) -> ResultTable:
    return ResultTable.of([Result({"name": name}, outcome=Outcome.FAILED) for name in names])


def test_the_failures_of_a_commit_are_those_of_all_its_runs_with_and_without_a_trace(bench: Bench) -> None:
    bench.put(3, report({"a": 1.0, "b": 1.0, "c": 1.0}), "measured")
    bench.put(7, RunReport(_failed("a")), "one")
    never = Result({"name": "never"}, outcome=Outcome.FAILED)
    skipped = Result({"name": "skipped"}, outcome=Outcome.SKIPPED)
    bench.put(7, RunReport(_failed("b"), unmeasured=(never, skipped)), "other")
    failures = bench.store.runs.failures(bench.repository, [3, 7, 9])
    assert failures == {3: set(), 7: {",name=a,", ",name=b,", ",name=never,"}, 9: set()}


def test_the_failures_of_a_large_run_are_found(bench: Bench) -> None:
    many = {f"t{number}": 1.0 for number in range(5_000)}
    bench.put(1, report(many), "measured")
    bench.put(2, RunReport(_failed(*many)), "failed")
    assert len(bench.store.runs.failures(bench.repository, [2])[2]) == 5_000


def test_the_slots_with_a_run_are_known(bench: Bench) -> None:
    bench.put(3, report({"a": 1.0}), "one")
    bench.put(3, report({"b": 1.0}), "two")
    bench.put(7, RunReport(_failed("a")), "three")
    assert bench.store.runs.slots(bench.repository) == {3, 7}
