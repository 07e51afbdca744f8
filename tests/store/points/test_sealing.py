"""What happens between two transactions of a sealer: other sealers, and writers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.store.conftest import Bench

from knickpoint.store.points import point_writer as writer_module
from knickpoint.store.points import sealer as sealer_module
from knickpoint.store.points import tile_merge as groups_module

pytestmark = pytest.mark.alike

report = Bench.report


@pytest.fixture(autouse=True)
def _scatter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a segment of every run."""
    monkeypatch.setattr(writer_module, "_SEGMENT_CHUNKS", 1)


def _after_reading(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen once in another thread, when a sealer has read its segments."""
    read = sealer_module._read
    left = [happens]

    def reading(*arguments: Any) -> Any:
        found = read(*arguments)
        while left:
            thread = threading.Thread(target=left.pop())
            thread.start()
            thread.join()
        return found

    monkeypatch.setattr(sealer_module, "_read", reading)


def test_a_slow_sealer_does_not_bring_old_values_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.put(0, report(dict.fromkeys("abcdef", 1.0)), "all")
    bench.put(1, report({"a": 5.0}), "r")

    def meanwhile() -> None:
        bench.store.seal(everything=True)
        monkeypatch.setattr(writer_module, "_SEGMENT_CHUNKS", 2)
        bench.put(1, report({"a": 9.0}), "r", "corrected")

    _after_reading(monkeypatch, meanwhile)
    bench.store.seal(everything=True)
    assert bench.point("a", 1) == 9.0


def test_a_slow_sealer_removes_no_segment_that_it_has_not_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.put(0, report(dict.fromkeys("abcdef", 1.0)), "all")
    bench.put(1, report({"a": 5.0}), "r")

    def meanwhile() -> None:
        bench.store.seal(everything=True)
        bench.put(2, report({"b": 7.0}), "next")

    _after_reading(monkeypatch, meanwhile)
    bench.store.seal(everything=True)
    assert bench.point("b", 2) == 7.0


def test_newest_commits_are_sealed_only_when_their_segments_are_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for slot in range(384, 390):
        bench.put(slot, report({"a": float(slot)}), f"r{slot}")
    assert not bench.store.seal()
    monkeypatch.setattr(groups_module, "_MANY_SEGMENTS", 6)
    assert bench.store.seal().segments == 6
    assert bench.point("a", 387) == 387.0


def test_segments_of_full_blocks_become_tiles(bench: Bench) -> None:
    names = [f"n{number}" for number in range(30)]
    for slot in range(130):
        bench.put(slot, report({name: slot + number / 100 for number, name in enumerate(names)}), f"r{slot}")
    assert bench.store.seal().segments == 130
    expected = [[slot + number / 100 for slot in range(130)] for number in range(30)]
    np.testing.assert_array_equal(bench.values(names)[:, :130], expected)
    assert not bench.store.seal(everything=True)


def test_a_late_result_joins_a_sealed_block(bench: Bench) -> None:
    for slot in range(64):
        bench.put(slot, report({"a": 1.0, "b": 2.0, "c": 0.1}), f"r{slot}")
    bench.store.seal()
    bench.put(7, report({"b": 4.0, "d": 5.0}), "late")
    bench.store.seal()
    np.testing.assert_array_equal(bench.values("abcd")[:, 6:8], [[1.0, 1.0], [2.0, 3.0], [0.1, 0.1], [np.nan, 5.0]])


@pytest.mark.long
def test_points_that_do_not_fit_into_memory_are_sealed_in_turn(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sealer_module, groups_module):
        monkeypatch.setattr(module, "SEGMENT_POINTS", 700)
    names = [f"n{number}" for number in range(2_500)]
    bench.put(0, report(dict.fromkeys(names, 0.1)), "all")
    for slot in (1, 70, 200):
        bench.put(slot, report(dict.fromkeys(names[slot % 7 :: 3], slot + 0.5)), f"r{slot}")
    expected = bench.values(names)
    assert bench.store.seal(everything=True).segments == 4
    np.testing.assert_array_equal(bench.values(names), expected)
    assert not bench.store.seal(everything=True)
