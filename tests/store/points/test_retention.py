from __future__ import annotations

import numpy as np
from tests.store.conftest import Bench

from knickpoint.store import Forgotten, RunKind


def fill(bench: Bench) -> None:
    for slot in (0, 398, 399):
        bench.put(slot, Bench.report({"a": [1.0, 2.0, 9.0], "b": [3.0, 4.0, 5.0]}), f"run {slot}")


def samples(bench: Bench, name: str, slot: int) -> list[tuple[float, ...]]:
    return [piece.samples for piece in bench.store.runs.points(bench.id(name), slot)]


def test_old_samples_go_and_their_median_stays(bench: Bench) -> None:
    fill(bench)
    assert bench.store.retain(bench.line, samples=1).samples == 8
    assert samples(bench, "a", 0) == [(2.0,)]
    assert samples(bench, "a", 399) == [(1.0, 2.0, 9.0)]
    assert bench.point("a", 0) == 2.0


def test_old_values_go(bench: Bench) -> None:
    fill(bench)
    assert bench.store.retain(bench.line, values=2).points == 2
    assert np.isnan(bench.point("a", 0))
    assert bench.point("a", 398) == 2.0


def test_evidence_loses_nothing(bench: Bench) -> None:
    fill(bench)
    bench.store.retain(bench.line, samples=1, values=2, keep=[bench.id("a")])
    assert samples(bench, "a", 0) == [(1.0, 2.0, 9.0)]
    assert bench.point("a", 0) == 2.0
    assert np.isnan(bench.point("b", 0))


def test_a_forgotten_file_is_still_known(bench: Bench) -> None:
    fill(bench)
    bench.store.retain(bench.line, values=1)
    again = bench.put(0, Bench.report({"a": [1.0, 2.0, 9.0], "b": [3.0, 4.0, 5.0]}), "run 0")
    assert again.kind is RunKind.SAME


def test_a_forgotten_run_can_be_corrected(bench: Bench) -> None:
    fill(bench)
    bench.store.retain(bench.line, values=1)
    bench.put(0, Bench.report({"a": 7.0}), "run 0", "new content")
    assert bench.point("a", 0) == 7.0


def test_a_dry_run_counts_and_changes_nothing(bench: Bench) -> None:
    fill(bench)
    counted = bench.store.retain(bench.line, samples=1, values=2, dry_run=True)
    assert samples(bench, "a", 0) == [(1.0, 2.0, 9.0)]
    assert samples(bench, "a", 398) == [(1.0, 2.0, 9.0)]
    assert bench.store.retain(bench.line, samples=1, values=2) == counted


def test_what_was_forgotten_is_not_forgotten_again(bench: Bench) -> None:
    fill(bench)
    bench.store.retain(bench.line, samples=1, values=2, keep=[bench.id("a")])
    assert bench.store.retain(bench.line, samples=1, values=2, keep=[bench.id("a")]) == Forgotten(0, 0)
