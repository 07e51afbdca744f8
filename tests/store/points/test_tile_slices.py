"""Of tiles that were found intact, the values of some traces are read alone; they are those of the whole tiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import examples
from tests.store.conftest import Bench

from knickpoint.store.points.frames import FrameMatrix, TileSlices
from knickpoint.store.points.tile_codec import RowChecks

pytestmark = pytest.mark.alike

OLD = [f"old{number}" for number in range(5)]
EXACT = ["exact0", "exact1"]
NEW = ["new0", "new1"]


@pytest.fixture
def filled(bench: Bench) -> Bench:
    """Two dense tiles of some traces, of which one needs all bits, and a later one with more traces."""
    for slot in range(150):
        values = {name: 100.0 + number + slot / 7 for number, name in enumerate(OLD)}
        if slot >= 64:
            values |= {name: 2.0**40 + slot + number / 8 for number, name in enumerate(EXACT)}
        if slot >= 128:
            values |= {name: 7.0 + slot + number for number, name in enumerate(NEW)}
        bench.put(slot, bench.report(values), f"run {slot}")
    bench.store.seal(everything=True)
    bench.put(140, bench.report({"old1": 5.5}), "corrected")
    bench.put(151, bench.report({"old1": 6.5, "new0": 8.5}), "later")
    return bench


def left(bench: Bench, checks: RowChecks, names: list[str]) -> list[int]:
    """Return the chunks of which whole tiles have to be read."""
    database = bench.store.database
    ids = np.array(sorted(bench.id(name) for name in names), dtype=np.int64)
    with database.reading() as connection:
        return [*map(int, TileSlices(database, checks).put(connection, FrameMatrix(ids, np.arange(160)), 0, 159))]


def test_a_tile_is_read_whole_once(filled: Bench) -> None:
    checks = filled.store.frames._checks
    chunk = filled.id("old0") // 1024
    assert left(filled, checks, ["old0", "old3"]) == [chunk]
    filled.values(["old0"])
    assert left(filled, checks, ["old0", "old3"]) == ([chunk] if filled.store.database.embedded else [])
    assert left(filled, RowChecks(), ["old0", "old3"]) == [chunk]


def many(bench: Bench) -> list[str]:
    """Store 600 traces, of which the second half came later, and return their names."""
    names = [f"n{number:03}" for number in range(600)]
    for slot in range(128):
        some = names[: 300 if slot < 64 else 600]
        bench.put(slot, bench.report({name: slot + number / 8 for number, name in enumerate(some)}), f"run {slot}")
    bench.store.seal(everything=True)
    return names


def test_most_traces_of_a_chunk_are_read_as_whole_tiles(bench: Bench) -> None:
    names = many(bench)[:300]
    bench.values(names)
    assert left(bench, bench.store.frames._checks, names) == [bench.id("n000") // 1024]


def test_of_a_part_of_a_chunk_the_values_are_cut_out_of_its_tiles(bench: Bench) -> None:
    names = many(bench)[::7]
    expected = bench.values(names)
    assert bench.store.database.embedded or left(bench, bench.store.frames._checks, names) == []
    np.testing.assert_array_equal(bench.values(names), expected)
    assert np.isnan(expected[-1, :64]).all()
    assert expected[-1, 127] == 127 + 595 / 8


def test_a_tile_that_is_written_anew_is_read_whole_again(filled: Bench) -> None:
    before = filled.values(["old1"])
    filled.store.seal(everything=True)
    np.testing.assert_array_equal(filled.values(["old1"]), before)
    filled.put(70, filled.report({"old1": 1.25}), "another")
    filled.store.seal(everything=True)
    assert filled.values(["old1"])[0, 70] != before[0, 70]


def test_sparse_tiles_are_read_whole(bench: Bench) -> None:
    for slot in range(0, 128, 31):
        bench.put(slot, bench.report({"a": 7.5 + slot}), f"run {slot}")
    bench.store.seal(everything=True)
    first = bench.values(["a"])
    np.testing.assert_array_equal(bench.values(["a"]), first)
    assert np.flatnonzero(~np.isnan(first[0])).tolist() == list(range(0, 128, 31))


@pytest.fixture
def expected(filled: Bench) -> NDArray[np.floating]:
    """All values, from a store that knows no tile yet."""
    return filled.store.frames.values(filled.line, [filled.id(name) for name in (*OLD, *EXACT, *NEW)])


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    asked=st.lists(st.integers(0, 8), min_size=1, max_size=12), first=st.integers(0, 159), length=st.integers(1, 160)
)
def test_parts_have_the_values_of_whole_tiles(
    filled: Bench, expected: NDArray[np.floating], asked: list[int], first: int, length: int
) -> None:
    names = [(*OLD, *EXACT, *NEW)[number] for number in asked]
    last = min(first + length, 160) - 1
    found = filled.store.frames.values(filled.line, [filled.id(name) for name in names], first=first, last=last)
    np.testing.assert_array_equal(found, expected[asked, first : last + 1])
