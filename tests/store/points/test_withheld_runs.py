"""Runs that are stored, and take no part in points."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.store.conftest import Bench

from knickpoint.store import EventKind, unpack_ids

NONE = np.empty(0, dtype=np.int64)
report = Bench.report
SLOTS = count(1)
"""A commit for each example."""


def withhold(bench: Bench, *run_ids: int) -> None:
    bench.store.runs.withhold(bench.repository, dict.fromkeys(run_ids, NONE))


def test_a_withheld_run_leaves_the_points_and_comes_back_to_the_last_bit(bench: Bench) -> None:
    written = bench.put(0, report({"a": 0.1, "b": 0.7}), "r")
    withhold(bench, written.run_id)
    assert np.isnan([bench.point("a", 0), bench.point("b", 0)]).all()
    bench.store.runs.restore(bench.repository, [written.run_id])
    assert (bench.point("a", 0), bench.point("b", 0)) == (0.1, 0.7)


def test_the_samples_of_a_withheld_run_stay(bench: Bench) -> None:
    written = bench.put(0, report({"a": [3.0, 1.0, 2.0]}), "r")
    withhold(bench, written.run_id)
    (trace,) = written.trace_ids.tolist()
    assert [point.samples for point in bench.store.runs.points(trace, 0)] == [(3.0, 1.0, 2.0)]
    ((ids, values),) = bench.store.runs.parts(bench.repository, written.run_id)
    assert (ids.tolist(), values.tolist()) == ([trace], [2.0])


def test_a_rerun_counts_alone_while_the_first_run_is_withheld(bench: Bench) -> None:
    first = bench.put(0, report({"a": 9.0}), "r1")
    withhold(bench, first.run_id)
    bench.put(0, report({"a": 2.0}), "r2")
    assert bench.point("a", 0) == 2.0
    bench.store.runs.restore(bench.repository, [first.run_id])
    assert bench.point("a", 0) == 5.5


def test_kept_traces_keep_their_values(bench: Bench) -> None:
    written = bench.put(0, report({"canary": 1.0, "a": 2.0}), "r")
    canary = bench.store.traces.find_ids(bench.repository, [",name=canary,"])[",name=canary,"]
    bench.store.runs.withhold(bench.repository, {written.run_id: np.array(canary)})
    assert bench.point("canary", 0) == 1.0
    assert np.isnan(bench.point("a", 0))


def test_a_correction_of_a_withheld_run_counts(bench: Bench) -> None:
    first = bench.put(0, report({"a": 9.0}), "r", "first")
    withhold(bench, first.run_id)
    bench.put(0, report({"a": 2.0}), "r", "second")
    assert bench.point("a", 0) == 2.0
    assert bench.store.runs.withheld(bench.repository) == {}


def test_withholding_names_the_traces_that_change(bench: Bench) -> None:
    written = bench.put(0, report({"a": 1.0}), "r")
    bench.put(1, report({"b": 1.0}), "other")
    for event in bench.store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 100):
        bench.store.outbox.done(event)
    withhold(bench, written.run_id)
    (event,) = bench.store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 100)
    assert unpack_ids(event.payload).tolist() == written.trace_ids.tolist()


@pytest.mark.thorough
@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(["write", "withhold", "restore"]), st.integers(0, 4)), max_size=12))
def test_points_depend_on_the_runs_that_count_and_not_on_the_order(bench: Bench, steps: list[tuple[str, int]]) -> None:
    bench.put(0, report({"a": 0.0}), "first")
    slot = next(SLOTS)
    names = [f"{slot}-{number}" for number in range(5)]
    written: dict[int, int] = {}
    withheld: set[int] = set()
    for action, number in steps:
        if action == "write":
            written[number] = bench.put(slot, report({"a": float(2**number)}), names[number]).run_id
        elif number in written:
            if action == "withhold":
                withhold(bench, written[number])
                withheld.add(number)
            else:
                bench.store.runs.restore(bench.repository, [written[number]])
                withheld.discard(number)
    counting = [float(2**number) for number in written.keys() - withheld]
    expected = float(np.median(counting)) if counting else np.nan
    assert bench.point("a", slot) == expected or (np.isnan(expected) and np.isnan(bench.point("a", slot)))
