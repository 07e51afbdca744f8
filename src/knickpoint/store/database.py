"""Connect to SQLite or PostgreSQL: transactions, snapshots, and the few places where the two differ.

Writers take turns on both databases: SQLite has one writer, and on PostgreSQL a writer takes an advisory lock. So a
rule that reads and then writes needs no further lock. Readers never wait: each sees the snapshot of its beginning.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BinaryExpression,
    Boolean,
    ColumnElement,
    CompoundSelect,
    Connection,
    Delete,
    Insert,
    Select,
    Table,
    TextClause,
    Update,
    bindparam,
    func,
    or_,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.operators import in_op, not_in_op

from knickpoint.budget import check_time, remaining_seconds
from knickpoint.model.errors import BusyError, InputError, StoreError
from knickpoint.store.data_changes import forget_ended_connections, read_data_id
from knickpoint.store.database_engine import BUSY_TIMEOUT, engine_of, explained, location_url, shown

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

_WRITE_LOCK: Final = 0x6B6E69636B
"""Key of the advisory lock that makes writers of a PostgreSQL store take turns, as they do in SQLite."""

_OPCODES: Final = 20_000
"""Steps of SQLite between two looks at the clock; some tens of microseconds."""

_SAVEPOINT: Final = "SAVEPOINT within"
_RELEASE: Final = "RELEASE SAVEPOINT within"
_UNDO: Final = "ROLLBACK TO SAVEPOINT within"

_BOOLEAN: Final = Boolean()

Found = TypeVar("Found")
Statement = Select[Any] | CompoundSelect[Any] | Insert | Update | Delete | TextClause


_Text = tuple[str, Mapping[str, Any], Sequence[str] | None]
"""A statement as the driver takes it, the values that it brings along, and the names of its values in their order."""

_TEXTS: Final[Mapping[bool, WeakKeyDictionary[Statement, _Text]]] = {
    True: WeakKeyDictionary(),
    False: WeakKeyDictionary(),
}
"""The statements that this process has compiled for embedded databases, and for servers."""


class _Listed(FunctionElement[int]):
    """The numbers in a list that is bound as a text.

    PostgreSQL takes it as an array; its driver is twenty times slower with a list of numbers. It is a subquery and not
    a join: SQLite might walk the whole table and search the list for each row.
    """

    inherit_cache = True


@compiles(_Listed, "sqlite")
def _listed_in_json(element: _Listed, compiler: SQLCompiler, **options: Any) -> str:
    return f"(SELECT value FROM json_each({compiler.process(element.clauses, **options)}))"  # noqa: S608


@compiles(_Listed, "postgresql")
def _listed_in_array(element: _Listed, compiler: SQLCompiler, **options: Any) -> str:
    bound = compiler.process(element.clauses, **options)
    return f"(SELECT value FROM unnest({bound}::BIGINT[]) AS listed (value))"  # noqa: S608


@cache
def _numbers_of(name: str) -> _Listed:
    return _Listed(bindparam(name))


class Database:
    """Hold the engine of one location.

    Every thread has at most one transaction at a time; an inner :meth:`transaction` becomes a savepoint of
    the outer one. Writers take turns; readers see one snapshot for the length of :meth:`reading`.
    """

    def __init__(self, location: str | Path) -> None:
        self.url = location_url(location)
        self.where = shown(self.url) if "://" in str(location) else str(location)
        self.embedded = self.url.get_backend_name() == "sqlite"
        self._current = threading.local()
        self._undone: list[Callable[[], None]] = []
        self.before_writing: Callable[[Connection], None] = lambda _connection: None
        """Called at the beginning of each transaction that writes alone; what it raises undoes the transaction."""
        self._later: dict[str, Callable[[Connection, set[int]], None]] = {}
        self.engine = engine_of(self.url, self.where)
        self._watching = threading.Lock()
        self._watcher: Any = None

    def close(self) -> None:
        """Close every connection."""
        with self._watching:
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None
        self.engine.dispose()

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """Call ``forget`` whenever a transaction or a savepoint did not take place."""
        self._undone.append(forget)

    def at_commit(self, name: str, run: Callable[[Connection, set[int]], None]) -> None:
        """Run ``run`` at the end of each transaction that asked for it by :meth:`later`, with the ids that it named."""
        self._later[name] = run

    def later(self, name: str, ids: Iterable[int]) -> None:
        """Let what :meth:`at_commit` registered as ``name`` run for ``ids``, as part of this thread's transaction."""
        self._current.deferred.setdefault(name, set()).update(ids)

    def run_deferred(self) -> None:
        """Run now what :meth:`later` asked for; outside of a transaction that writes there is nothing."""
        connection, deferred = self.connection, getattr(self._current, "deferred", None)
        while connection is not None and deferred:
            name = next((name for name in self._later if name in deferred), "")
            if not name:
                return
            self._later[name](connection, deferred.pop(name))

    @property
    def connection(self) -> Connection | None:
        """The connection of this thread's transaction, None outside of one."""
        return getattr(self._current, "connection", None)

    @property
    def is_reading(self) -> bool:
        """Whether this thread reads one snapshot, in which nothing can be written."""
        return bool(getattr(self._current, "only_reading", False))

    @contextmanager
    def transaction(self, *, alone: bool = True, wait: bool = True, whole: bool = False) -> Iterator[Connection]:
        """Write: all of it takes place, or nothing; a transaction inside another one joins it.

        ``alone=False`` lets other writers work at the same time where the database can do that. ``wait=False`` fails at
        once where the transaction would have to wait for another writer. Inside a ``whole`` one there are no
        savepoints, which cost two statements each: when an inner transaction fails, all of it is undone, even where the
        caller catches the error.

        Raises:
            BusyError: another writer kept the store for a minute.
            StoreError: the database refused; its message gives the reason.
        """
        outer = self.connection
        with self._translated():
            if outer is not None:
                if getattr(self._current, "only_reading", False):
                    raise StoreError("a write was tried inside a snapshot for reading", where=self.where)
                with self._within(outer):
                    yield outer
                return
            with self.engine.connect() as connection:
                self._begin(connection, alone=alone, wait=wait)
                self._current.connection = connection
                self._current.whole = whole
                self._current.deferred = {}
                try:
                    if alone:
                        self.before_writing(connection)
                    with self._timed(connection):
                        yield connection
                        self.run_deferred()
                    self._check_whole(connection)
                    connection.commit()
                except BaseException:
                    self._current.connection = None
                    self._forget()  # before the next writer, which would trust what was undone
                    connection.rollback()
                    raise
                finally:
                    self._current.connection = None
                    self._current.whole = False
                    self._current.deferred = {}

    def done_here(self, connection: Connection) -> None:
        """Let a transaction end when this server has it, without waiting for others: what it writes may be lost."""
        if not self.embedded:
            connection.exec_driver_sql("SET LOCAL synchronous_commit = local")

    @contextmanager
    def joined(self) -> Iterator[Connection]:
        """Write as part of the transaction around it, without a savepoint: when it fails, all of that fails."""
        outer = self.connection
        if outer is None or getattr(self._current, "only_reading", False):
            with self.transaction() as connection:
                yield connection
            return
        with self._translated():
            try:
                yield outer
            except BaseException:
                self._keep_whole(outer)
                raise

    @contextmanager
    def _within(self, outer: Connection) -> Iterator[None]:
        """Undo what the block wrote if it fails, and nothing else; inside a whole transaction, all of that."""
        if self._current.whole:
            try:
                yield
            except BaseException:
                self._current.lost = outer
                raise
            return
        driver = _driver(outer)
        driver.execute(_SAVEPOINT)
        try:
            yield
        except BaseException:
            self._forget()
            with suppress(self.engine.dialect.loaded_dbapi.Error):  # the error of the block counts
                driver.execute(_UNDO)
                driver.execute(_RELEASE)
            self._keep_whole(outer)
            raise
        driver.execute(_RELEASE)

    def _keep_whole(self, connection: Connection) -> None:
        """Prevent further writes where the database has undone the whole transaction by itself.

        SQLite does that when the disk is full. Without a transaction, each later statement would take effect alone.
        """
        if self.embedded and not _driver(connection).in_transaction:
            _driver(connection).execute("BEGIN")
            self._current.lost = connection

    def _check_whole(self, connection: Connection) -> None:
        lost, self._current.lost = getattr(self._current, "lost", None), None
        if lost is connection or (self.embedded and not _driver(connection).in_transaction):
            raise StoreError(
                "an error in the middle undid the whole transaction, so nothing of it was written",
                where=self.where,
                remedy="Remove the cause of the first error, then try again.",
            )

    def size(self) -> int:
        """Return the size of the database in bytes; it includes space that is free to be used again."""
        statement = (
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            if self.embedded
            else "SELECT pg_database_size(current_database())"
        )
        with self.reading() as connection:
            return int(connection.execute(text(statement)).scalar_one())

    @contextmanager
    def reading(self, *, named: bool = False) -> Iterator[Connection]:
        """Read one snapshot; inside a transaction, what that transaction sees.

        A ``named`` one has a :meth:`snapshot_id` on the embedded database as well.
        """
        outer = self.connection
        with self._translated():
            if outer is not None:
                yield outer
                return
            # Before the snapshot: what is written meanwhile then makes the next name another one.
            name = self._data_version() if named and self.embedded else None
            with self.engine.connect() as connection:
                if self.embedded:
                    connection.begin()
                    _driver(connection).execute("BEGIN")
                else:  # the driver says both in its BEGIN
                    connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                self._current.connection = connection
                self._current.only_reading = True
                self._current.known = {}
                self._current.snapshot = name
                try:
                    with self._timed(connection):
                        yield connection
                finally:
                    self._current.connection = None
                    self._current.only_reading = False
                    self._current.known = None
                    self._current.snapshot = None
                    connection.rollback()

    def read_once(self, question: Hashable, read: Callable[[], Found]) -> Found:
        """Call ``read`` once in each snapshot that is only read: an answer asks for the same line many times.

        What is returned is shared, and must not change. Outside of a snapshot, and inside a transaction that may write,
        it is read each time. An error is not kept.
        """
        known: dict[Hashable, Any] | None = getattr(self._current, "known", None)
        if known is None:
            return read()
        if question not in known:
            known[question] = read()
        found: Found = known[question]
        return found

    def snapshot_id(self, connection: Connection) -> str | None:
        """Name the data that a connection with a snapshot shows: equal names in a process mean equal data.

        PostgreSQL notes which transactions changed data (:mod:`knickpoint.store.data_changes`). SQLite counts, for a
        connection that does not write, the times at which others have written; a snapshot has the count of its
        beginning where it is to be ``named``, and None elsewhere.
        """
        if self.embedded:
            name: str | None = getattr(self._current, "snapshot", None)
            return name
        return read_data_id(connection)

    def forget_ended_connections(self) -> None:
        """Delete what PostgreSQL has noted about connections that are no more."""
        if not self.embedded:
            with self.transaction(alone=False) as connection:
                forget_ended_connections(connection)

    def _data_version(self) -> str:
        """Return SQLite's count of the transactions of other connections, as one connection sees it."""
        with self._watching:
            if self._watcher is None:
                self._watcher = self.engine.raw_connection()
            return str(self._watcher.driver_connection.execute("PRAGMA data_version").fetchone()[0])

    @contextmanager
    def _timed(self, connection: Connection) -> Iterator[None]:
        """Have the database stop the statements of a request whose time is up."""
        left = remaining_seconds()
        if left is None:
            yield
            return
        check_time()
        if not self.embedded:
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(left * 1000))}")
            yield
            return
        driver = _driver(connection)
        driver.set_progress_handler(lambda: remaining_seconds() == 0.0, _OPCODES)
        try:
            yield
        finally:
            driver.set_progress_handler(None, 0)

    def quick(self, connection: Connection, statement: Statement, values: Mapping[str, object]) -> Any:
        """Execute a statement of a module, which is compiled once for each kind of database.

        Returns the driver's cursor: rows are plain tuples. The statement must live as long as the process, and
        values must be of types that the driver knows. The names in ``values`` of the first call are the columns of
        an INSERT.
        """
        texts = _TEXTS[self.embedded]
        known = texts.get(statement)
        if known is None:
            keys = list(values) if isinstance(statement, Insert) else None
            compiled = statement.compile(dialect=self.engine.dialect, column_keys=keys)
            names = getattr(compiled, "positiontup", None)
            known = texts[statement] = str(compiled), compiled.params, names
        text_, preset, names = known
        if names is None:
            return _driver(connection).execute(text_, {**preset, **values})
        return _driver(connection).execute(text_, [values[name] if name in values else preset[name] for name in names])

    def quick_rows(
        self, connection: Connection, statement: Statement, values: Mapping[str, object]
    ) -> list[dict[str, Any]]:
        """The rows of :meth:`quick`, each by the names of its columns."""
        cursor = self.quick(connection, statement, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def insert_rows(
        self, connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
    ) -> None:
        """Insert many rows of plain values with a statement of the driver, which costs less for each row."""
        mark = "?" if self.embedded else "%s"
        marks = ", ".join([mark] * len(columns))
        names = ", ".join(columns)
        connection.exec_driver_sql(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(rows))  # noqa: S608

    @staticmethod
    def among(number: ColumnElement[int], name: str = "numbers", listed: str | None = None) -> ColumnElement[bool]:
        """Return the condition that ``number`` is one of those bound as ``name``, or ``listed`` already."""
        numbers = _numbers_of(name) if listed is None else _Listed(bindparam(name, listed))
        return BinaryExpression(number, numbers, in_op, type_=_BOOLEAN, negate=not_in_op)

    def listed(self, numbers: NDArray[np.integer[Any]] | Sequence[int]) -> str:
        """Return the value of a parameter of :meth:`among`."""
        plain = numbers.tolist() if isinstance(numbers, np.ndarray) else list(numbers)
        listed = json.dumps(plain, separators=(",", ":"))
        return listed if self.embedded else f"{{{listed[1:-1]}}}"

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """Return an INSERT of the dialect, which has ON CONFLICT."""
        return _insert(table, embedded=self.embedded)

    def replacing(
        self, table: Table, keys: Iterable[str], changing: Iterable[str]
    ) -> sqlite.Insert | postgresql.Insert:
        """Return an INSERT that gives the columns ``changing`` of a row with the same ``keys`` their new values."""
        return _replacing(table, tuple(keys), tuple(changing), embedded=self.embedded)

    def _begin(self, connection: Connection, *, alone: bool, wait: bool) -> None:
        self._current.lost = None
        connection.begin()
        if self.embedded and not wait:
            _begin_at_once(_driver(connection))
        elif self.embedded:
            _driver(connection).execute("BEGIN IMMEDIATE")
        elif alone and wait:
            _driver(connection).execute(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")
        elif alone and not connection.execute(text(f"SELECT pg_try_advisory_xact_lock({_WRITE_LOCK})")).scalar():
            raise BusyError("another process writes to the store", where=self.where, remedy="Try again.")

    def _forget(self) -> None:
        for forget in self._undone:
            forget()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of the database into errors of Knickpoint; nothing else does that."""
        try:
            yield
        except UnicodeEncodeError as error:
            near = ascii(error.object[max(0, error.start - 20) : error.end + 20])
            raise InputError(
                f"the text {near} has half of a character (a lone surrogate)",
                remedy="Write it in whole Unicode characters.",
            ) from error
        except PoolTimeoutError as error:
            raise BusyError("all connections are in use", where=self.where, remedy="Try again.") from error
        except DBAPIError as error:
            raise explained(str(error.orig), self.where) from error
        except self.engine.dialect.loaded_dbapi.Error as error:
            raise explained(str(error), self.where) from error
        except SQLAlchemyError as error:
            if isinstance(error.__cause__, MemoryError):
                raise error.__cause__ from error
            raise StoreError(f"the database layer failed: {error}", where=self.where) from error


def _insert(table: Table, *, embedded: bool) -> sqlite.Insert | postgresql.Insert:
    if embedded:
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


@cache
def _replacing(
    table: Table, keys: tuple[str, ...], changing: tuple[str, ...], *, embedded: bool
) -> sqlite.Insert | postgresql.Insert:
    insert = _insert(table, embedded=embedded)
    return insert.on_conflict_do_update(
        index_elements=list(keys), set_={name: insert.excluded[name] for name in changing}
    )


def _driver(connection: Connection) -> Any:
    """Return the connection of the driver below."""
    return connection.connection.driver_connection


def _begin_at_once(driver: Any) -> None:
    """Begin to write, or fail where another process writes."""
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        driver.execute("BEGIN IMMEDIATE")
    finally:
        driver.execute(BUSY_TIMEOUT)


_LOWERED: Final = {ord(letter): letter.lower() for letter in ascii_uppercase}


def contains(column: ColumnElement[str], word: str) -> ColumnElement[bool]:
    """Return the condition that a text contains ``word``, whatever its case.

    SQLite lowers ASCII letters only. So a word with other letters is searched in each of its usual spellings.
    """
    spellings = {word} if word.isascii() else {word, word.lower(), word.upper(), word.title()}
    lowered = {text.lower() if text.isascii() else text.translate(_LOWERED) for text in spellings}
    return or_(*(func.lower(column).contains(text, autoescape=True) for text in sorted(lowered | {word.lower()})))
