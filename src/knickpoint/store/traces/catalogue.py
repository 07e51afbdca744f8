"""Answer queries over params from codes in memory, kept fresh across processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from knickpoint.model.query import Query, QueryTerm
from knickpoint.store.array_codec import unpack
from knickpoint.store.database import Database
from knickpoint.store.tables import traces as tables
from knickpoint.store.tables.shortcuts import counter

__all__ = ["Catalogue"]

_CHUNK: Final = 1024

_CACHED_TRACES: Final = 8_000_000
"""Traces of a repository up to which a process keeps their codes in memory; 12 params take 400 MB then."""

_STREAMED_CHUNKS: Final = 256

_NOTHING: Final = np.zeros(0, dtype=np.int64)


class _Names:
    """Hold the vocabulary as far as it was read: names, and values by code."""

    def __init__(self) -> None:
        self.version = -1
        self.names: dict[str, int] = {}
        self.values: dict[int, list[str]] = {}
        self._orders: dict[int, NDArray[np.int64]] = {}

    def sorted_codes(self, name: int) -> NDArray[np.int64]:
        """Return the codes of a name's values in the order of the values."""
        values = self.values.get(name, [""])
        order = self._orders.get(name)
        if order is None or len(order) < len(values) - 1:
            order = np.array(sorted(range(1, len(values)), key=values.__getitem__), dtype=np.int64)
            self._orders[name] = order
        return order

    def load(self, connection: Connection, version: int) -> None:
        if version == self.version:
            return
        self.names = {row.name: row.id for row in connection.execute(select(tables.param_name))}
        table = tables.param_value
        query = select(table.c.name_id, table.c.code, table.c.value).where(table.c.version > self.version)
        for name, code, value in connection.execute(query.order_by(table.c.name_id, table.c.code)):
            known = self.values.setdefault(name, [""])
            assert code == len(known)
            known.append(value)
        self.version = version


class _Columns:
    """Hold the codes of one repository's traces: position → code, one array a name, with room for ``chunks``."""

    def __init__(self, chunks: int = 1) -> None:
        self._capacity = chunks * _CHUNK
        self.version = -1
        self.count = 0
        self.chunks: list[int] = []
        self.columns: dict[int, NDArray[np.uint32]] = {}
        self._alike: dict[int, int] = {}

    def alike(self, name: int) -> int:
        """Return the code that all traces have for a name, -1 where they differ: many params are the same throughout."""
        if name not in self._alike:
            held = self.columns[name][: self.count]
            self._alike[name] = int(held[0]) if len(held) and bool((held == held[0]).all()) else -1
        return self._alike[name]

    def load(self, connection: Connection, repository_id: int, version: int) -> None:
        if version == self.version:
            return
        table = tables.chunk
        query = select(table.c.id, table.c.count, table.c.codes)
        query = query.where(table.c.repository_id == repository_id, table.c.version > self.version)
        for key, count, codes in connection.execute(query.order_by(table.c.id)):
            self.take(key, count, codes)
        self.version = version

    def take(self, key: int, count: int, codes: bytes) -> None:
        """Add a chunk, or what was appended to the last one."""
        if not self.chunks or self.chunks[-1] < key:
            self.chunks.append(key)
        begin = self.chunks.index(key) * _CHUNK if key != self.chunks[-1] else (len(self.chunks) - 1) * _CHUNK
        self._room(begin + count)
        self._alike = {}
        (names,) = unpack(codes, 1)
        for name, column in zip(names.tolist(), unpack(codes, 1 + len(names))[1:], strict=True):
            if name not in self.columns:
                self.columns[name] = np.zeros(self._capacity, dtype=np.uint32)
            self.columns[name][begin : begin + count] = column
        self.count = max(self.count, begin + count)

    def _room(self, count: int) -> None:
        if count <= self._capacity:
            return
        self._capacity = max(count, self._capacity * 2)
        for name, column in self.columns.items():
            grown = np.zeros(self._capacity, dtype=np.uint32)
            grown[: len(column)] = column
            self.columns[name] = grown

    def ids(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the trace ids at ``places``."""
        chunks = np.asarray(self.chunks, dtype=np.int64)
        return np.asarray(chunks[places >> 10] * _CHUNK + (places & (_CHUNK - 1)))


class Catalogue:
    """Answer queries; what is loaded is shared by the threads of a process and refreshed when it grew."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.RLock()
        self._names = _Names()
        self._columns: dict[int, _Columns] = {}
        self._last: tuple[tuple[int, int, Query], NDArray[np.int64]] | None = None
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Drop what was loaded."""
        with self._lock:
            self._names = _Names()
            self._columns = {}
            self._last = None

    def version(self, connection: Connection) -> int:
        """Return the version of the catalogue."""
        query = select(counter.c.value).where(counter.c.name == "catalogue")
        return int(connection.execute(query).scalar() or 0)

    def select(self, repository_id: int, query: Query) -> NDArray[np.int64]:
        """Return the ids of the traces that match, sorted."""
        with self._view() as connection:
            found = [columns.ids(places) for columns, places in self._matches(connection, repository_id, query)]
            return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def facets(self, repository_id: int, query: Query) -> dict[str, dict[str, int]]:
        """Count the matching traces by name and value."""
        with self._view() as connection:
            totals: dict[int, NDArray[np.int64]] = {}
            for columns, places in self._matches(connection, repository_id, query):
                for number, column in columns.columns.items():
                    size, alike = len(self._names.values[number]), columns.alike(number)
                    if alike < 0:
                        counts = np.bincount(column[places], minlength=size)
                    else:
                        counts = np.zeros(size, dtype=np.int64)
                        counts[alike] = len(places)
                    totals[number] = totals[number] + counts if number in totals else counts
            counted: dict[str, dict[str, int]] = {}
            for name in sorted(self._names.names):
                number = self._names.names[name]
                values, counts = self._names.values.get(number, [""]), totals.get(number, _NOTHING)
                order = self._names.sorted_codes(number)
                order = order[order < len(counts)]
                order = order[counts[order] > 0]
                if len(order):
                    named = [values[code] for code in order.tolist()]
                    counted[name] = dict(zip(named, counts[order].tolist(), strict=True))
            return counted

    @contextmanager
    def _view(self) -> Iterator[Connection]:
        """Read with what is loaded, alone; a transaction that sees other traces than the rest shares nothing."""
        inside = self._database.connection is not None
        with self._database.reading() as connection, self._lock:
            apart = inside and self.version(connection) != self._committed()
            if apart:
                self.forget()
            try:
                yield connection
            finally:
                if apart:
                    self.forget()

    def _committed(self) -> int:
        """Return the version that a new transaction sees."""
        with self._database.engine.connect() as connection:
            return self.version(connection)

    def _matches(
        self, connection: Connection, repository_id: int, query: Query
    ) -> Iterator[tuple[_Columns, NDArray[np.int64]]]:
        """Return columns and the matching places in them: from memory, or from as much of it as fits at a time."""
        version = self.version(connection)
        self._names.load(connection, version)
        if repository_id not in self._columns and self._is_large(connection, repository_id):
            allowed = self._allowed(query)
            for columns in _streamed(connection, repository_id):
                places = np.flatnonzero(_mask(columns, allowed))
                if len(places):
                    yield columns, places
            return
        columns = self._load(connection, repository_id, version)
        asked = (repository_id, version, query)
        if self._last is None or self._last[0] != asked:
            self._last = (asked, np.flatnonzero(_mask(columns, self._allowed(query))))
        yield columns, self._last[1]

    def _is_large(self, connection: Connection, repository_id: int) -> bool:
        held = select(func.sum(tables.chunk.c.count)).where(tables.chunk.c.repository_id == repository_id)
        return int(connection.execute(held).scalar() or 0) > _CACHED_TRACES

    def _load(self, connection: Connection, repository_id: int, version: int) -> _Columns:
        columns = self._columns.setdefault(repository_id, _Columns())
        columns.load(connection, repository_id, version)
        return columns

    def _allowed(self, query: Query) -> list[_Allowed]:
        found = []
        for condition in query.conditions:
            name = self._names.names.get(condition.name, -1)
            found.append((name, _allowed(condition, self._names.values.get(name, [""]))))
        return found


_Allowed = tuple[int, NDArray[np.bool_]]
"""A name, and which of its codes a condition lets pass."""


def _mask(columns: _Columns, conditions: Sequence[_Allowed]) -> NDArray[np.bool_]:
    mask = np.ones(columns.count, dtype=np.bool_)
    for name, allowed in conditions:
        column = columns.columns.get(name)
        if column is None:
            if not allowed[0]:
                return np.zeros(columns.count, dtype=np.bool_)
            continue
        wanted = np.flatnonzero(allowed)
        if len(wanted) == 1:
            mask &= column[: columns.count] == wanted.astype(column.dtype)[0]
        else:
            mask &= allowed[column[: columns.count]]
    return mask


def _streamed(connection: Connection, repository_id: int) -> Iterator[_Columns]:
    """Return the catalogue of a repository in pieces of 256 chunks."""
    table = tables.chunk
    last = -1
    while True:
        query = select(table.c.id, table.c.count, table.c.codes)
        query = query.where(table.c.repository_id == repository_id, table.c.id > last).order_by(table.c.id)
        rows = connection.execute(query.limit(_STREAMED_CHUNKS)).all()
        if not rows:
            return
        columns = _Columns(len(rows))
        for key, count, codes in rows:
            columns.take(key, count, codes)
        last = columns.chunks[-1]
        yield columns


def _allowed(condition: QueryTerm, values: list[str]) -> NDArray[np.bool_]:
    """Return which codes a condition lets pass; code 0 is a missing param."""
    allowed = np.array(condition.accepts_each(values), dtype=np.bool_)
    allowed[0] = condition.accepts(None)
    return allowed
