"""A flipped bit anywhere: it is named by table and row, left out of an export, and everything else comes out."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import LargeBinary, Table, Text

from knickpoint.ingest import import_files
from knickpoint.instance import create_instance
from knickpoint.model.errors import StoreError
from knickpoint.store import Store, open_store
from knickpoint.store.array_codec import checked, pack, stored_json
from knickpoint.store.export import ExportRow, rows
from knickpoint.store.points import integrity
from knickpoint.store.tables import metadata
from knickpoint.watch.alert_run.run import run_alerts

EXAMPLE = Path(__file__).parents[3] / "docs" / "example" / "textmill.csv"
CHECKED_BY_SUM = {"hot_tile", "sealed_tile", "segment", "run_part"}
LOSES_POINTS = {"chunk", "commit_", "line", "repository", "unit"}


@dataclass(frozen=True)
class Whole:
    """An intact store with a row in each table, and its points."""

    path: Path
    points: list[ExportRow]


def is_json(table: Table, column: str) -> bool:
    return column in integrity._JSON.get(table.name, ())


def value_of(table: Table, column: str) -> object:
    kind = table.columns[column].type
    if isinstance(kind, LargeBinary):
        compressed = (table.name, column) in integrity._COMPRESSED
        return zlib.compress(b"text") if compressed else checked(pack(*[np.arange(3) ** 2] * 4))
    if isinstance(kind, Text):
        return "[]" if is_json(table, column) else "text"
    return 9


def fill(database: sqlite3.Connection) -> None:
    """Add a row to each table that has none."""
    for table in metadata.sorted_tables:
        empty = database.execute(f"SELECT count(*) FROM {table.name}").fetchone() == (0,)
        if empty and table.name not in CHECKED_BY_SUM:
            values = [value_of(table, column.name) for column in table.columns]
            marks = ", ".join("?" * len(values))
            database.execute(f"INSERT INTO {table.name} VALUES ({marks})", values)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    place = tmp_path_factory.mktemp("whole")
    with create_instance(place) as instance:
        import_files(instance, [EXAMPLE])
        run_alerts(instance.store, instance.alerts, as_work=True)
    path = place / "knickpoint.db"
    with closing(sqlite3.connect(path)) as database, database:
        fill(database)
    with open_store(path) as store:
        assert store.check_integrity().damaged == ()
        return Whole(path, list(rows(store)))


def flip(path: Path, table: Table, column: str, bit: int) -> None:
    """Flip a bit in the first byte of a column's first value; a number becomes a text."""
    with closing(sqlite3.connect(path)) as database, database:
        database.text_factory = bytes
        for (trigger,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {trigger.decode()}")  # the audit log refuses changes
        number_name = "low" if table.name == "trace_identity" else "rowid"
        query = f'SELECT {number_name}, "{column}" FROM {table.name} ORDER BY length("{column}") > 0 DESC LIMIT 1'
        number, old = database.execute(query).fetchone()
        new = bytes([old[0] ^ bit]) + old[1:] if isinstance(old, bytes) and old else bytes([bit | 1])
        kind = "BLOB" if isinstance(table.columns[column].type, LargeBinary) else "TEXT"
        database.execute(
            f'UPDATE {table.name} SET "{column}" = CAST(? AS {kind}) WHERE {number_name} = ?', [new, number]
        )


def exported(store: Store) -> tuple[list[ExportRow], tuple[str, ...]]:
    with store.without_damage() as damage:
        return list(rows(store)), damage


def cells() -> Iterator[tuple[str, str, int]]:
    """Yield table, column and bit: the highest of a text makes it no UTF-8, a low one of JSON no JSON."""
    for table in metadata.sorted_tables:
        if table.name in CHECKED_BY_SUM:
            continue
        for column in table.columns:
            if is_json(table, column.name):
                yield table.name, column.name, 0x01
            elif isinstance(column.type, Text) or (table.name, column.name) in integrity._PACKED:
                yield table.name, column.name, 0x80
        plain = not any(isinstance(column.type, Text | LargeBinary) for column in table.columns)
        if plain and len(table.columns) > 1:  # SQLite has no other types in a single number that is the key
            yield table.name, list(table.columns)[-1].name, 0
    yield "chunk", "keys", 0x01


CELLS = [
    cell if cell[0] in LOSES_POINTS or cell[1] == "definition" else pytest.param(*cell, marks=pytest.mark.long)
    for cell in cells()
]
"""Each run tries the tables that points depend on, and an example of JSON."""


@pytest.mark.parametrize(("name", "column", "bit"), CELLS)
def test_a_flipped_bit_is_named_and_left_out_and_healthy_points_come_out(
    whole: Whole, tmp_path: Path, name: str, column: str, bit: int
) -> None:
    path = tmp_path / "knickpoint.db"
    shutil.copy(whole.path, path)
    table = metadata.tables[name]
    flip(path, table, column, bit)
    before = path.read_bytes()
    with open_store(path) as store:
        (damaged, *_) = store.check_integrity().damaged
        points, left_out = exported(store)
    assert damaged.row.startswith(f"{name} (")
    assert f"column {column}: " in damaged.row
    assert path.read_bytes() == before
    if name in LOSES_POINTS:
        assert damaged.row in left_out
    else:
        assert points == whole.points
    if (name, column) == ("commit_", "hash"):
        assert set(points) == {point for point in whole.points if point.pos}
    elif (name, column) == ("unit", "text"):
        lost = {point.unit for point in whole.points} - {point.unit for point in points}
        assert len(lost) == 1
        assert points == [point for point in whole.points if point.unit not in lost]
    elif name in {"commit_", "repository"} or (name, column) in {("line", "name"), ("line", "base")}:
        assert [point.value for point in points] == [point.value for point in whole.points]


BLOBS = [
    (table.name, column.name)
    for table in metadata.sorted_tables
    for column in table.columns
    if isinstance(column.type, LargeBinary) and table.name not in CHECKED_BY_SUM
]


@pytest.mark.parametrize(("name", "column"), BLOBS, ids="-".join)
def test_a_flipped_bit_that_leaves_other_numbers_is_named(whole: Whole, tmp_path: Path, name: str, column: str) -> None:
    path = tmp_path / "knickpoint.db"
    shutil.copy(whole.path, path)
    with closing(sqlite3.connect(path)) as database, database:
        query = f"SELECT rowid, {column} FROM {name} ORDER BY length({column}) DESC LIMIT 1"
        number, data = database.execute(query).fetchone()
        content = len(data) - (0 if (name, column) in integrity._COMPRESSED else 16)
        flipped = bytearray(data)
        flipped[content - 1] ^= 0x10
        database.execute(f"UPDATE {name} SET {column} = ? WHERE rowid = ?", (bytes(flipped), number))
    with open_store(path) as store:
        (damaged,) = store.check_integrity().damaged
    assert damaged.row.startswith(f"{name} (")
    assert f"column {column}: " in damaged.row


@pytest.mark.parametrize(("name", "column"), BLOBS, ids="-".join)
def test_bytes_that_an_older_version_wrote_without_a_checksum_are_intact(
    whole: Whole, tmp_path: Path, name: str, column: str
) -> None:
    path = tmp_path / "knickpoint.db"
    shutil.copy(whole.path, path)
    if (name, column) not in integrity._COMPRESSED:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(f"UPDATE {name} SET {column} = substr({column}, 1, length({column}) - 16)")
    with open_store(path) as store:
        assert store.check_integrity().damaged == ()
        assert list(rows(store)) == whole.points


def test_damaged_json_is_an_error_with_a_remedy() -> None:
    with pytest.raises(StoreError, match="doctor --deep"):
        stored_json(json.dumps({"a": 1})[1:])
