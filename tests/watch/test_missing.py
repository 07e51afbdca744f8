from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.watch.missing import missing_traces, silences

from .conftest import World, levels


def held(*rows: str) -> NDArray[np.bool_]:
    return np.array([[mark == "x" for mark in row] for row in rows])


@pytest.mark.parametrize(
    ("row", "missed"),
    [
        ("xxxxxxxxxx", False),
        ("xxxxxxxx..", False),
        ("xxxxxxx...", True),
        ("x..x..x..x..x......", False),
        ("x..x..x..x..x.......", True),
        ("xxxx......", False),
        ("..........", False),
        ("x" * 10 + "." * 200, True),
        ("x" * 10 + "." * 201, False),
        ("x" + "." * 20 + "x" * 25 + "." * 10, True),
        ("x" + "." * 20 + "x" * 20 + "." * 10, False),
    ],
)
def test_a_trace_is_missed_when_its_silence_is_unusual(row: str, *, missed: bool) -> None:
    always = "x" * len(row)
    assert [found[0] for found in silences(held(always, row))] == ([1] if missed else [])


def test_what_is_missed_does_not_depend_on_how_much_is_read_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.measure({"parse": levels((40, 10.0)), "read": levels((20, 5.0)), "pack": levels((30, 5.0))})
    at_once = missing_traces(world.store, world.repository)
    monkeypatch.setattr("knickpoint.watch.missing._BLOCK_BYTES", 1)
    assert missing_traces(world.store, world.repository) == at_once


def test_commits_that_nobody_measured_count_for_nothing() -> None:
    assert silences(held("xxxxxxx..........")) == []


def test_missing_traces_are_told_with_their_last_commit(world: World) -> None:
    world.measure({"parse": levels((40, 10.0)), "read": levels((20, 5.0)), "pack": levels((30, 5.0))})
    found = missing_traces(world.store, world.repository)
    assert [(one.trace.id, one.last_slot, one.silent, one.usual) for one in found] == [
        (world.trace("read"), 19, 20, 1),
        (world.trace("pack"), 29, 10, 1),
    ]
    assert missing_traces(world.store, world.repository, "benchmark=parse") == []
