"""The samples behind points, read for many traces at once."""

from __future__ import annotations

import numpy as np
from tests.store.conftest import Bench

report = Bench.report


def samples(bench: Bench, *names: str) -> dict[tuple[str, int], list[list[float]]]:
    """Return the samples of each run by trace and position."""
    ids = np.array([bench.id(name) for name in names], dtype=np.int64)
    found = bench.store.samples.read(bench.line, ids)
    ends = np.cumsum(found.sizes).tolist()
    read: dict[tuple[str, int], list[list[float]]] = {}
    for entry, end in enumerate(ends):
        place = names[found.rows[entry]], int(found.columns[entry])
        read.setdefault(place, []).append(found.samples[end - int(found.sizes[entry]) : end].tolist())
    return read


def test_the_samples_of_all_runs_of_a_commit_are_read_run_by_run(bench: Bench) -> None:
    bench.put(3, report({"a": [1.0, 2.0], "b": [7.0, 8.0]}), "first")
    bench.put(3, report({"a": [3.0, 4.0, 5.0]}), "second")
    assert samples(bench, "b", "a") == {("a", 3): [[1.0, 2.0], [3.0, 4.0, 5.0]], ("b", 3): [[7.0, 8.0]]}


def test_a_run_of_one_sample_for_each_trace_has_no_entry(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0, "b": [1.0, 3.0]}), "first")
    bench.put(1, report({"a": 2.0, "b": 4.0}), "second")
    assert samples(bench, "a", "b") == {("a", 0): [[1.0]], ("b", 0): [[1.0, 3.0]]}


def test_samples_come_in_the_unit_of_their_trace(bench: Bench) -> None:
    bench.put(0, report({"a": [1.0, 2.0]}, "ms"), "first")
    bench.put(1, report({"a": [3000.0, 5000.0]}, "µs"), "second")
    assert samples(bench, "a") == {("a", 0): [[1.0, 2.0]], ("a", 1): [[3.0, 5.0]]}


def test_a_withheld_run_has_the_samples_of_the_traces_that_keep_their_values(bench: Bench) -> None:
    run = bench.put(0, report({"canary": [1.0, 2.0], "a": [3.0, 4.0]}), "run")
    bench.store.runs.withhold(bench.repository, {run.run_id: np.array([bench.id("canary")])})
    assert samples(bench, "canary", "a") == {("canary", 0): [[1.0, 2.0]]}


def test_retention_leaves_the_median_of_the_samples_that_it_deletes(bench: Bench) -> None:
    for slot in (0, 399):
        bench.put(slot, report({"a": [1.0, 2.0, 9.0]}), f"run {slot}")
    bench.store.retain(bench.line, samples=1)
    assert samples(bench, "a") == {("a", 0): [[2.0]], ("a", 399): [[1.0, 2.0, 9.0]]}


def test_a_trace_has_the_samples_of_the_one_that_it_continues_where_it_has_none(bench: Bench) -> None:
    bench.put(0, report({"old": [1.0, 2.0]}), "first")
    bench.put(1, report({"old": [3.0, 4.0], "new": [5.0, 6.0]}), "second")
    bench.put(2, report({"new": [7.0, 8.0]}), "third")
    bench.store.traces.renames.add(bench.repository, bench.id("old"), bench.id("new"), who="ada")
    assert samples(bench, "new") == {
        ("new", 0): [[1.0, 2.0]],
        ("new", 1): [[5.0, 6.0]],
        ("new", 2): [[7.0, 8.0]],
    }


def test_runs_of_one_sample_at_one_commit_have_an_entry_each(bench: Bench) -> None:
    bench.put(0, report({"a": 1.0}), "first")
    bench.put(0, report({"a": 4.0}), "second")
    assert samples(bench, "a") == {("a", 0): [[1.0], [4.0]]}
