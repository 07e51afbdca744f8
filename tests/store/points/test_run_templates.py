"""Runs of one job name the same traces each time; what is remembered of them changes nothing that is stored."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from tests.store.conftest import Bench

from knickpoint.model.errors import InputError
from knickpoint.store import EventKind, RunKind, open_store, unpack_ids
from knickpoint.store.points import layouts as cache_module
from knickpoint.store.points import point_writer as writer_module
from knickpoint.store.points.layouts import LayoutCache, LayoutDigest
from knickpoint.store.points.tile_codec import encode_ids, segment_points

pytestmark = pytest.mark.alike

NAMES = ["c", "a", "d", "b"]
"""Not in the order in which their traces are made."""


@pytest.fixture(autouse=True, params=[1, 4], ids=["strips", "tiles"])
def _small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_SMALLEST", 2)
    monkeypatch.setattr(writer_module, "_SEGMENT_CHUNKS", request.param)


@pytest.fixture(autouse=True)
def _usual(bench: Bench) -> None:
    """Make the traces, and let the job run twice, so that its layout is known."""
    bench.put(0, Bench.report(dict.fromkeys("abcd", 1.0)), "made")
    for slot in (1, 2):
        bench.put(slot, Bench.report({name: slot + n / 8 for n, name in enumerate(NAMES)}), f"usual-{slot}")


@pytest.fixture
def hits(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Say of each file whether its layout was remembered."""
    found: list[bool] = []
    recall = LayoutCache.recall

    def recalling(self: LayoutCache, repository_id: int, digest: LayoutDigest) -> object:
        layout = recall(self, repository_id, digest)
        found.append(layout is not None)
        return layout

    monkeypatch.setattr(LayoutCache, "recall", recalling)
    return found


def values_at(bench: Bench, slot: int) -> list[float]:
    return [bench.point(name, slot) for name in NAMES]


def test_a_usual_run_has_its_values(bench: Bench, hits: Sequence[bool]) -> None:
    receipt = bench.put(3, Bench.report({name: 3 + n / 10 for n, name in enumerate(NAMES)}), "usual-3")
    assert hits == [True]
    assert receipt.kind is RunKind.NEW
    assert values_at(bench, 3) == [3.0, 3.1, 3.2, 3.3]


def test_its_event_names_its_traces(bench: Bench) -> None:
    receipt = bench.put(3, Bench.report(dict.fromkeys(NAMES, 1.0)), "usual-3")
    event = bench.store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 10)[-1]
    np.testing.assert_array_equal(unpack_ids(event.payload), receipt.trace_ids)
    assert sorted(receipt.trace_ids.tolist()) == sorted(bench.id(name) for name in NAMES)


def test_its_provenance_says_what_came(bench: Bench) -> None:
    bench.put(3, Bench.report({name: 3 + n / 10 for n, name in enumerate(NAMES)}), "usual-3")
    (point,) = bench.store.runs.points(bench.id("b"), 3)
    assert (point.run.identity, point.samples, point.unit) == ("usual-3", (3.3,), "ms")


def test_a_rerun_joins_it(bench: Bench) -> None:
    for value in (2.0, 6.0):
        receipt = bench.put(3, Bench.report(dict.fromkeys(NAMES, value)), f"usual-{value}")
    assert receipt.kind is RunKind.RERUN
    assert values_at(bench, 3) == [4.0] * 4


def test_a_correction_replaces_it(bench: Bench) -> None:
    bench.put(3, Bench.report(dict.fromkeys(NAMES, 2.0)), "usual-3")
    receipt = bench.put(3, Bench.report(dict.fromkeys(NAMES, 5.0)), "usual-3", "corrected")
    assert (receipt.kind, len(receipt.changes)) == (RunKind.CORRECTION, 4)
    assert values_at(bench, 3) == [5.0] * 4


def test_one_with_more_samples_is_not_usual(bench: Bench) -> None:
    bench.put(3, Bench.report(dict.fromkeys(NAMES, (1.0, 2.0, 9.0))), "usual-3")
    assert values_at(bench, 3) == [2.0] * 4


def test_as_many_samples_as_results_are_not_enough(bench: Bench) -> None:
    report = Bench.report({"c": (1.0, 2.0), "a": (), "d": 3.0, "b": 4.0})
    with pytest.raises(InputError, match="no samples"):
        bench.put(3, report, "usual-3")


def test_another_process_finds_the_layout_in_the_store(bench: Bench, location: str, hits: Sequence[bool]) -> None:
    with open_store(location) as other:
        for slot in (3, 4):
            Bench(other, bench.repository, bench.line).put(slot, Bench.report(dict.fromkeys(NAMES, 7.0)), f"u-{slot}")
    assert hits == [False, True]
    assert values_at(bench, 4) == [7.0] * 4


@pytest.mark.parametrize(
    "ids",
    [[7], [7, 8, 9], [1, 2, 3, 4, 5, 6, 20, 21, 22, 23, 24, 25, 26, 27], [3, 9, 2**33], [5, 9, 11, 40]],
    ids=["one", "neighbours", "ranges", "far", "scattered"],
)
def test_ids_of_a_segment_read_back(ids: Sequence[int]) -> None:
    listed = encode_ids(np.array(ids, dtype=np.int64))
    data = np.zeros(len(ids), dtype=np.float32).tobytes()
    row = SimpleNamespace(lowest=ids[0], count=len(ids), width=4, ids=listed, data=data)
    np.testing.assert_array_equal(segment_points(row)[0], ids)
