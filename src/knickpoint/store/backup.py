"""Copy a whole store into one file while it is in use, and make a store from such a file.

A backup is an SQLite store, whichever database it comes from. From SQLite to SQLite it is copied page by page, from or
to PostgreSQL row by row; in both cases from one snapshot, so that writers and readers go on. The copy gets its final
name when it is complete and on the disk: what a crash leaves behind is never taken for a backup.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Table, func, select, text

from knickpoint.model.errors import StoreError
from knickpoint.store import schema
from knickpoint.store.database import Database
from knickpoint.store.database_engine import address_for_reading, make_private_file
from knickpoint.store.tables import metadata
from knickpoint.store.tables.base import data_change, schema_support

_ROWS_AT_ONCE: Final = 500

_COPIED: Final = tuple(table for table in metadata.sorted_tables if table not in {data_change, schema_support})
"""All tables but the one that each migration fills, and the one about the connections of a server."""

_ACTIVE_PARTS: Final = """
    SELECT type, name, sql FROM sqlite_schema WHERE type NOT IN ('table', 'index')
    UNION ALL SELECT 'virtual table', name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage = 0
"""
"""Triggers, views and virtual tables: they would run statements of the file's maker at later reads and writes."""


def backup(database: Database, path: Path) -> None:
    """Write the whole store into a new file, as it is at this moment.

    Raises:
        StoreError: the file exists, or cannot be written; nothing is left behind.
    """
    if path.exists():
        raise StoreError("the file already exists", where=str(path), remedy="Name another file, or remove this one.")
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        if database.embedded:
            _copy_pages(Path(database.url.database or ""), partial)
        else:
            _copy_from_postgres(database, partial)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.rename(path)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"the backup failed: {error}", where=str(path), remedy="Check the disk and the path."
        ) from error
    finally:
        for leftover in (partial, Path(f"{partial}-wal"), Path(f"{partial}-shm"), Path(f"{partial}-journal")):
            leftover.unlink(missing_ok=True)


def restore(path: Path, location: str | Path) -> None:
    """Make a store at ``location``, where there is none yet, from the file of a backup.

    Raises:
        StoreError: the file is not a complete backup, its schema is not known, or there is a store already.
    """
    _check_backup(path)
    database = Database(location)
    try:
        if database.embedded:
            _restore_file(path, Path(database.url.database or ""))
        else:
            _copy_to_postgres(path, database)
    finally:
        database.close()


def _restore_file(path: Path, target: Path) -> None:
    if target.exists():
        raise StoreError("the store already exists", where=str(target), remedy="Name another place.")
    partial = target.with_name(target.name + ".partial")
    try:
        _copy_pages(path, partial)
        _bring_up_to_date(partial)
        partial.rename(target)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"the restore failed: {error}", where=str(target), remedy="Check the disk.") from error
    finally:
        for leftover in (partial, Path(f"{partial}-wal"), Path(f"{partial}-shm"), Path(f"{partial}-journal")):
            leftover.unlink(missing_ok=True)


def _bring_up_to_date(copy: Path) -> None:
    """Migrate the copy of a backup, and check that its tables are then those of a store."""
    database = Database(copy)
    try:
        schema.ensure(database)
        with database.reading() as connection:
            differences = schema.differences(connection)
        if differences:
            raise StoreError(
                f"the tables of the backup are not those of a store ({differences[0]})",
                where=str(copy),
                remedy="Use a file that knick backup wrote.",
            )
        with database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = DELETE")
    finally:
        database.close()


def _check_backup(path: Path) -> None:
    """Raise an error unless the file is a complete backup of a schema that is known."""
    remedy = "Name the file that knick backup wrote."
    if not path.is_file():
        raise StoreError("there is no such file", where=str(path), remedy=remedy)
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            # What runs by itself is refused before anything is asked of the tables.
            connection.execute("PRAGMA trusted_schema = OFF")
            _check_active_parts(connection, path)
            (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            ((revision,),) = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    except (sqlite3.Error, TypeError, ValueError) as error:
        raise StoreError(f"the file is not a backup ({error})", where=str(path), remedy=remedy) from error
    if state != "ok":
        raise StoreError(f"the backup is damaged ({state})", where=str(path), remedy="Use an older backup.")
    if not (isinstance(revision, str) and re.fullmatch(r"[0-9]{4}", revision)):
        raise StoreError("the file is not a backup (of an unknown schema)", where=str(path), remedy=remedy)
    if not schema.FIRST <= revision <= schema.HEAD:
        raise schema.unknown_schema("the backup", str(path), revision)


def _check_active_parts(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what would run statements, but for the triggers that every store has."""
    known = schema.triggers()
    for kind, name, statement in connection.execute(_ACTIVE_PARTS):
        if kind != "trigger" or " ".join(str(statement).split()) not in known:
            raise StoreError(
                f"the file is not a backup: no store has the {kind} {str(name)[:80]!a}",
                where=str(path),
                remedy="Use a file that knick backup wrote.",
            )


def _copy_pages(source: Path, target: Path) -> None:
    """Copy an SQLite file page by page from one snapshot; it holds a lock of a reader, so writers go on."""
    make_private_file(target)
    with (
        closing(sqlite3.connect(address_for_reading(source), uri=True)) as old,
        closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new, pages=-1)
        new.execute("PRAGMA journal_mode = DELETE")


def _copy_from_postgres(database: Database, target: Path) -> None:
    """Copy row by row from one snapshot of PostgreSQL into a new SQLite store."""
    other = Database(target)
    try:
        schema.create(other)
        with database.reading() as source, other.transaction() as sink:
            schema.refuse_unknown(database, source)
            for table in _COPIED:
                _copy_rows(source, sink, table)
        with other.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = DELETE")
    finally:
        other.close()


def _copy_to_postgres(path: Path, database: Database) -> None:
    """Copy the rows of a backup into PostgreSQL, all in one transaction."""
    other = Database(path)
    try:
        schema.ensure(other)
        schema.create(database)
        with other.reading() as source, database.transaction() as sink:
            for table in _COPIED:
                _copy_rows(source, sink, table)
                _advance_ids(sink, table)
    finally:
        other.close()


def _copy_rows(source: Connection, sink: Connection, table: Table) -> None:
    rows = source.execution_options(yield_per=_ROWS_AT_ONCE).execute(select(table)).mappings()
    for some in rows.partitions(_ROWS_AT_ONCE):
        sink.execute(table.insert(), [dict(row) for row in some])


def _advance_ids(sink: Connection, table: Table) -> None:
    """Set the sequence of a table's ids to go on after the ids that were copied."""
    column = table.autoincrement_column
    if column is None:
        return
    name = sink.execute(select(func.pg_get_serial_sequence(table.name, column.name))).scalar()
    if name:
        highest = sink.execute(select(func.max(column))).scalar()
        sink.execute(
            text("SELECT setval(CAST(:name AS regclass), :value, :used)"),
            {"name": name, "value": highest or 1, "used": highest is not None},
        )
