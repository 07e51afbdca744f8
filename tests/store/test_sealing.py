"""What happens between two transactions of a sealer: other sealers, and writers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from knickpoint.store import points as points_module
from knickpoint.store import seal as seal_module

from .conftest import Bench

report = Bench.report


@pytest.fixture(autouse=True)
def _scatter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a segment of every run."""
    monkeypatch.setattr(points_module, "_STRIP_CHUNKS", 1)


def _after_reading(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen once in another thread, when a sealer has read its segments."""
    read = seal_module._read
    left = [happens]

    def reading(*arguments: Any) -> Any:
        found = read(*arguments)
        while left:
            thread = threading.Thread(target=left.pop())
            thread.start()
            thread.join()
        return found

    monkeypatch.setattr(seal_module, "_read", reading)


def test_a_slow_sealer_does_not_bring_old_values_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.put(0, report(dict.fromkeys("abcdef", 1.0)), "all")
    bench.put(1, report({"a": 5.0}), "r")

    def meanwhile() -> None:
        bench.store.seal(everything=True)
        monkeypatch.setattr(points_module, "_STRIP_CHUNKS", 2)
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
