"""A flipped bit in what the store packs is noticed, named and left out; it is never served as a value."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sqlalchemy import text
from tests.examples import examples
from tests.store.conftest import MOMENT, Bench

from knickpoint.model.commit import Commit
from knickpoint.model.query import Query
from knickpoint.model.report import Outcome
from knickpoint.store import IntegrityReport, Store, create_store, open_store
from knickpoint.store.points import point_writer as writer_module
from knickpoint.store.points import tile_codec as checksums_module
from knickpoint.store.points.tile_codec import DamagedRowError, RowChecks, RowName, row_checksum

pytestmark = pytest.mark.alike

_COMMITS: Final = 200
_BLOBS: Final = (
    ("hot_tile", "data"),
    ("sealed_tile", "data"),
    ("segment", "ids"),
    ("segment", "data"),
    ("run_part", "data"),
)
_NUMBERS: Final = (
    ("hot_tile", "width"),
    ("hot_tile", "slot"),
    ("sealed_tile", "span"),
    ("sealed_tile", "sparse"),
    ("segment", "count"),
    ("segment", "lowest"),
    ("run_part", "run_id"),
)
_DENSE: Final = tuple(f"dense{number}" for number in range(6))
_SPARSE: Final = tuple(f"sparse{number}" for number in range(12))


def _fill(bench: Bench) -> None:
    """Write rows of every shape: dense and sparse sealed tiles, hot tiles, segments of both kinds, parts with samples."""
    for slot in range(128):
        values = {name: 100.0 + number + slot / 7 for number, name in enumerate(_DENSE)}
        bench.put(slot, bench.report(values), f"run {slot}")
    for slot in range(0, 128, 31):
        bench.put(slot, bench.report({_SPARSE[slot % 12]: 7.5 + slot, "samples": (1.0, 2.5, 9.0)}), f"sparse {slot}")
    bench.store.seal(everything=True)
    for slot in (3, 130, 131, 140):  # the first of them lies before a sealed tile
        values = {name: 300.0 + number + slot for number, name in enumerate(_DENSE)}
        bench.put(slot, bench.report(values), f"again {slot}")


def _fill_segments(bench: Bench) -> None:
    for slot in (5, 150, 151):
        bench.put(slot, bench.report(dict.fromkeys(_DENSE, 500.0 + slot)), f"neighbours {slot}")
        bench.put(slot, bench.report(dict.fromkeys((*_SPARSE[::3], _DENSE[1]), 600.0 + slot)), f"scattered {slot}")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store with rows of every shape."""
    path = tmp_path_factory.mktemp("integrity") / "store.db"
    with create_store(path) as store, pytest.MonkeyPatch.context() as patch:
        repository = store.commits.add_repository("main")
        commits = [Commit(f"{number:040x}", "", "", MOMENT, "") for number in range(_COMMITS)]
        store.commits.set_line(repository, "main", list(store.commits.add(repository, commits).values()))
        bench = Bench(store, repository, store.commits.line(repository))
        _fill(bench)
        patch.setattr(writer_module, "_SEGMENT_CHUNKS", 1)
        _fill_segments(bench)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        for table, blob in _BLOBS:
            (count,) = connection.execute(f"SELECT COUNT(*) FROM {table} WHERE LENGTH({blob}) > 0").fetchone()
            assert count >= 2, table
    return path


def _matrix(store: Store) -> NDArray[np.floating[Any]]:
    repository = store.commits.repositories()[0]
    return store.frames.values(store.commits.line(repository), store.traces.select(repository, Query()))


def _samples(store: Store) -> dict[tuple[int, int, int], tuple[float, ...]]:
    """Return trace, slot and run → samples."""
    repository = store.commits.repositories()[0]
    ids = store.traces.select(repository, Query()).tolist()
    return {
        (number, slot, point.run.id): (*point.samples, point.value)
        for number in ids
        for slot in (0, 3, 5, 31, 140, 150)
        for point in store.runs.points(number, slot)
        if point.outcome is Outcome.MEASURED
    }


@dataclass(frozen=True)
class Original:
    """What an intact store gives."""

    values: NDArray[np.floating[Any]]
    samples: dict[tuple[int, int, int], tuple[float, ...]]


@pytest.fixture(scope="module")
def original(whole: Path) -> Original:
    with open_store(whole) as store:
        return Original(_matrix(store), _samples(store))


def _flip(path: Path, table: str, blob: str, choose: st.DataObject) -> None:
    """Flip one bit of one blob of a table."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f"SELECT rowid, {blob} FROM {table} WHERE LENGTH({blob}) > 0").fetchall()
        number, data = choose.draw(st.sampled_from(rows))
        bit = choose.draw(st.integers(0, 8 * len(data) - 1))
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        connection.execute(f"UPDATE {table} SET {blob} = ? WHERE rowid = ?", (bytes(damaged), number))
        connection.commit()


def test_an_intact_store_has_no_damage_and_a_checksum_for_each_row(whole: Path) -> None:
    with open_store(whole) as store:
        report = store.check_integrity()
    assert (report.damaged, report.without_checksum) == ((), 0)
    assert report.checked > 140


@pytest.mark.thorough
@pytest.mark.parametrize("place", _BLOBS, ids="-".join)
@settings(max_examples=examples(3), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choose=st.data())
def test_a_flipped_bit_is_named_and_never_served(
    place: tuple[str, str], choose: st.DataObject, whole: Path, original: Original, tmp_path: Path
) -> None:
    table, blob = place
    path = tmp_path / "damaged.db"
    shutil.copy(whole, path)
    _flip(path, table, blob, choose)
    with open_store(path) as store:
        report = store.check_integrity()
        found, read = _matrix(store), _samples(store)
    (damaged,) = report.damaged
    assert damaged.row.startswith(table)
    assert damaged.repository == "main"
    assert damaged.commits
    assert 0 <= damaged.traces[0] <= damaged.traces[1]
    left_out = np.isnan(found) & ~np.isnan(original.values)
    np.testing.assert_array_equal(np.where(left_out, original.values, found), original.values)
    assert {key: read[key] for key in read} == {key: original.samples[key] for key in read}
    if table == "run_part":
        assert not left_out.any()


@pytest.mark.parametrize(("table", "column"), _NUMBERS)
def test_a_changed_number_of_a_row_is_named(table: str, column: str, whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    shutil.copy(whole, path)
    with closing(sqlite3.connect(path)) as connection:
        where = f"rowid = (SELECT MAX(rowid) FROM {table})"
        connection.execute(f"UPDATE {table} SET {column} = {column} + 4096 WHERE {where}")
        connection.commit()
    with open_store(path) as store:
        (damaged,) = store.check_integrity().damaged
    assert damaged.row.startswith(table)


@pytest.mark.parametrize("change", ["width = 4.5", "width = 'wide'", "data = 'text'"])
def test_a_value_of_another_type_is_damage(change: str, whole: Path, original: Original, tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    shutil.copy(whole, path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE sealed_tile SET {change} WHERE rowid = (SELECT MIN(rowid) FROM sealed_tile)")
        connection.commit()
    with open_store(path) as store:
        found = _matrix(store)
        assert len(store.check_integrity().damaged) == 1
    np.testing.assert_array_equal(np.where(np.isnan(found), original.values, found), original.values)


# The same on both databases


def _damage(store: Store, table: str, blob: str = "data", where: str = "1 = 1") -> None:
    with store.transaction() as connection:
        rows = connection.execute(text(f"SELECT {blob} FROM {table} WHERE {where}")).scalars().all()
        for data in rows:
            values = {"old": data, "new": bytes([data[0] ^ 1]) + bytes(data[1:])}
            connection.execute(text(f"UPDATE {table} SET {blob} = :new WHERE {blob} = :old AND {where}"), values)


def _reopened(store: Store) -> Store:
    """Return the store as another process opens it."""
    url = store.database.url
    return open_store(str(url.database) if store.database.embedded else url.render_as_string(hide_password=False))


def test_damage_is_named_with_repository_commits_and_traces(bench: Bench) -> None:
    bench.put(7, bench.report({"a": 1.0, "b": 2.0}), "run")
    _damage(bench.store, "hot_tile")
    (damaged,) = bench.store.check_integrity().damaged
    assert (damaged.repository, damaged.commits) == ("main", (f"{7:040x}",))
    assert damaged.traces == (bench.id("a"), bench.id("b"))
    assert damaged.row == f"hot_tile (chunk {bench.id('a') // 1024}, slot 7, width 4)"


def test_a_damaged_tile_does_not_let_the_older_value_behind_it_through(bench: Bench) -> None:
    bench.put(3, bench.report({"a": 1.0, "b": 2.0}), "run")
    bench.store.seal(everything=True)
    bench.put(3, bench.report({"a": 5.0, "b": 2.0}), "run", "corrected")
    _damage(bench.store, "hot_tile")
    with _reopened(bench.store) as store:
        assert np.isnan(store.frames.values(bench.line, [bench.id("a"), bench.id("b")], first=3, last=3)).all()


def test_what_is_damaged_is_logged_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.put(3, bench.report({"a": 1.0}), "run")
    _damage(bench.store, "hot_tile")
    with caplog.at_level(logging.ERROR), _reopened(bench.store) as store:
        for _ in range(3):
            store.frames.values(bench.line, [bench.id("a")])
    (record,) = [record for record in caplog.records if record.name == "knickpoint.store"]
    assert "hot_tile" in record.getMessage()


def test_sealing_leaves_what_is_damaged_where_it_is_and_seals_the_rest(bench: Bench) -> None:
    for slot in range(64):
        bench.put(slot, bench.report({"a": float(slot), "b": 2.0}), f"run {slot}")
    for slot in range(70, 80):
        bench.put(slot, bench.report({"a": float(slot)}), f"run {slot}")
    _damage(bench.store, "hot_tile", where="slot = 75")
    bench.store.seal(everything=True)
    with _reopened(bench.store) as store:
        found = store.frames.values(bench.line, [bench.id("a")])[0]
        (damaged,) = store.check_integrity().damaged
    assert damaged.row.startswith("hot_tile")
    assert np.isnan(found[75])
    np.testing.assert_array_equal(found[:64], np.arange(64))
    np.testing.assert_array_equal(found[[70, 74, 76, 79]], [70, 74, 76, 79])


@pytest.mark.parametrize("table", ["segment", "sealed_tile"])
def test_sealing_segments_takes_none_away_while_something_is_damaged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    bench.put(1, bench.report({"a": 1.0, "b": 2.0}), "run")
    bench.store.seal(everything=True)
    monkeypatch.setattr(writer_module, "_SEGMENT_CHUNKS", 1)
    bench.put(2, bench.report({"a": 3.0, "b": 4.0}), "next")
    _damage(bench.store, table)
    assert not bench.store.seal(everything=True)
    with _reopened(bench.store) as store:
        assert len(store.check_integrity().damaged) == 1


@pytest.mark.parametrize("table", ["hot_tile", "run_part"])
def test_a_write_that_would_give_damage_a_new_checksum_is_refused(bench: Bench, table: str) -> None:
    bench.put(3, bench.report({"a": 1.0, "b": 2.0}), "run")
    _damage(bench.store, table)
    with pytest.raises(DamagedRowError, match=table):
        bench.put(3, bench.report({"b": 5.0}), "another run")
    assert len(bench.store.check_integrity().damaged) == 1


def test_rows_without_a_checksum_are_read_and_get_one_when_they_are_sealed(bench: Bench) -> None:
    for slot in range(70):
        bench.put(slot, bench.report({"a": float(slot)}), f"run {slot}")
    with bench.store.transaction() as connection:
        for table in ("hot_tile", "sealed_tile", "segment", "run_part"):
            connection.execute(text(f"UPDATE {table} SET checksum = NULL"))
    before = bench.store.check_integrity()
    with _reopened(bench.store) as store:
        np.testing.assert_array_equal(store.frames.values(bench.line, [bench.id("a")])[0, :70], np.arange(70))
        store.seal(everything=True)
        after: IntegrityReport = store.check_integrity()
        np.testing.assert_array_equal(store.frames.values(bench.line, [bench.id("a")])[0, :70], np.arange(70))
    assert before.checked == 0
    assert (after.damaged, after.checked > 0, after.without_checksum < before.without_checksum) == ((), True, True)


def test_retention_leaves_commits_with_damage_alone(bench: Bench) -> None:
    for slot in range(5):
        bench.put(slot, bench.report({"a": (1.0, 2.0, 4.0)}), f"run {slot}")
    _damage(bench.store, "run_part", where="slot = 1")
    forgotten = bench.store.retain(bench.line, samples=1)
    assert forgotten.samples == 2 * 4
    assert len(bench.store.check_integrity().damaged) == 1


# When rows are checked


class _Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_row_is_checked_at_its_first_reading_and_again_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[RowName] = []

    def counting(name: RowName, *blobs: bytes) -> int:
        counted.append(name)
        return row_checksum(name, *blobs)

    monkeypatch.setattr(checksums_module, "row_checksum", counting)
    clock, name = _Clock(), RowName("hot_tile", (1, 2, 4))
    checks = RowChecks(clock)
    checksum = row_checksum(name, b"data")
    for seconds in (0, 300, 599, 600, 900):
        clock.seconds = seconds
        checks.renew()
        assert checks.is_intact(name, checksum, b"data")
    assert len(counted) == 2


def test_a_row_with_another_checksum_is_checked_anew() -> None:
    checks, name = RowChecks(), RowName("hot_tile", (1, 2, 4))
    assert checks.is_intact(name, row_checksum(name, b"old"), b"old")
    assert not checks.is_intact(name, row_checksum(name, b"new"), b"older")
    assert checks.is_intact(name, row_checksum(name, b"new"), b"new")


@given(st.binary(min_size=1, max_size=200), st.data())
def test_every_single_bit_changes_the_checksum(data: bytes, choose: st.DataObject) -> None:
    bit = choose.draw(st.integers(0, 8 * len(data) - 1))
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    name = RowName("hot_tile", (1, 2, 4))
    assert row_checksum(name, bytes(damaged)) != row_checksum(name, data)
