"""A frame has the rows that were asked for, wherever their values lie."""

from __future__ import annotations

import numpy as np
import pytest
from tests.store.conftest import Bench

from knickpoint.store.points import point_writer as writer_module

pytestmark = pytest.mark.alike

NAMES = [f"n{number}" for number in range(9)]


@pytest.fixture(params=[1, 4], ids=["strips", "tiles"])
def _written(request: pytest.FixtureRequest, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_SEGMENT_CHUNKS", request.param)
    for slot in range(3):
        bench.put(slot, Bench.report({name: 10.0 * slot + n + 0.1 for n, name in enumerate(NAMES)}), f"r{slot}")


@pytest.mark.usefixtures("_written")
@pytest.mark.parametrize("sealed", [False, True])
def test_a_trace_that_is_asked_for_twice_has_two_rows(bench: Bench, *, sealed: bool) -> None:
    if sealed:
        bench.store.seal(everything=True)
    asked = ["n7", "n3", "n3", "n5", "n7", "n8"]
    expected = [[10.0 * slot + int(name[1]) + 0.1 for slot in range(3)] for name in asked]
    np.testing.assert_array_equal(bench.values(asked)[:, :3], expected)


@pytest.mark.usefixtures("_written")
@pytest.mark.parametrize("sealed", [False, True])
def test_a_line_may_have_its_commits_in_any_order(bench: Bench, *, sealed: bool) -> None:
    if sealed:
        bench.store.seal(everything=True)
    bench.store.commits.set_line(bench.repository, "turned", [2, 9, 0])
    turned = bench.store.commits.line(bench.repository, "turned")
    values = bench.store.frames.values(turned, [bench.id("n4")])
    np.testing.assert_array_equal(values, [[24.1, np.nan, 4.1]])


@pytest.mark.usefixtures("_written")
@pytest.mark.parametrize("sealed", [False, True])
def test_a_correction_of_some_traces_stands_before_what_was_written(bench: Bench, *, sealed: bool) -> None:
    if sealed:
        bench.store.seal(everything=True)
    bench.put(1, Bench.report({"n2": 1e-9, "n6": 2.0**53}), "r1", "corrected")
    expected = np.full((len(NAMES), 1), np.nan)
    expected[[2, 6], 0] = 1e-9, 2.0**53
    np.testing.assert_array_equal(bench.values(NAMES)[:, 1:2], expected)
    bench.store.seal(everything=True)
    np.testing.assert_array_equal(bench.values(NAMES)[:, 1:2], expected)
