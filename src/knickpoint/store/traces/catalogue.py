"""Answer queries over params: which traces match, and how many have which value.

A trace has a code for each name of a param: the number of its value in the vocabulary, 0 where it lacks the param. The
catalogue holds a *column* of codes for each name, one entry a trace. A term of a query, such as ``os~^And``, is tried
on each value of the name once. That gives a table of the codes that it accepts, and to look the column up in this table
is the whole work for all traces. So a query costs one pass over a column for each term, also with ten million traces.

Columns are read from the chunks of traces and kept in memory. Every write of new traces raises the *version* of the
catalogue and marks its chunks and values with it, so that another process reads only what is newer than what it has. A
repository that is too large for memory is streamed, some chunks at a time. A transaction that has new traces of its
own shares nothing with the other threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from knickpoint.budget import check_time, deadline_error, remaining_seconds
from knickpoint.model.query import Query
from knickpoint.store.database import Database
from knickpoint.store.tables import commits as tables
from knickpoint.store.tables.commits import counter
from knickpoint.store.traces.vocabulary import (
    AcceptedCodes,
    FoundCodes,
    ParamColumns,
    ParamNames,
    matching_mask,
    streamed_columns,
)

_CACHED_TRACES: Final = 8_000_000
"""Traces up to which a process keeps the codes of a repository in memory: 400 MB with 12 params."""

_TRIED_VALUES: Final = 20_000
"""Values that the patterns of a term are tried on between two looks at the clock."""

_NOTHING: Final = np.zeros(0, dtype=np.int64)

_KEPT_BYTES: Final = 32 * 2**20
"""Memory of the matches that are kept of the last queries; those of the very last one are kept whatever they take."""

_KEPT_COUNTS: Final = 200_000
"""Counts that are kept of the last queries, about 20 MB."""


class ParamCodes(NamedTuple):
    """What traces have for one param: the code of each, 0 where it lacks the param, and the values by code."""

    codes: NDArray[np.uint32]
    values: Sequence[str]


_VERSION: Final = select(counter.c.value).where(counter.c.name == "catalogue")


class FacetCounts(NamedTuple):
    """How many traces match a query, and how many of them have which value, by name and value."""

    total: int
    counts: Mapping[str, Mapping[str, int]]


class Catalogue:
    """Answer queries; the threads of a process share what is loaded."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.RLock()
        self._names = ParamNames()
        self._columns: dict[int, ParamColumns] = {}
        self._matched: OrderedDict[_Question, NDArray[np.int64]] = OrderedDict()
        self._counted: OrderedDict[_Question, FacetCounts] = OrderedDict()
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Forget what was loaded."""
        with self._lock:
            self._names = ParamNames()
            self._columns = {}
            self._matched = OrderedDict()
            self._counted = OrderedDict()

    def version(self, connection: Connection) -> int:
        """Return the version of the catalogue."""

        def read() -> int:
            row = self._database.quick(connection, _VERSION, {}).fetchone()
            return int(row[0]) if row else 0

        return self._database.read_once("version of the catalogue", read)

    def select(self, repository_id: int, query: Query) -> NDArray[np.int64]:
        """Return the ids of the traces that match, sorted."""
        with self._view() as connection:
            found = [columns.ids(positions) for columns, positions in self._matches(connection, repository_id, query)]
            return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def facets(self, repository_id: int, query: Query) -> Mapping[str, Mapping[str, int]]:
        """Count the matching traces by name and value, both sorted; what is returned is shared, and must not change."""
        with self._view() as connection:
            return self._facets(connection, repository_id, query).counts

    def alternatives(self, repository_id: int, query: Query) -> FacetCounts:
        """Count as :meth:`facets`, but the values of each name that the query has a term about without that term.

        So people see what else they might choose. The total is of the query itself.
        """
        with self._view() as connection:
            counts: dict[str, Mapping[str, int]] = {}
            for name in dict.fromkeys(term.name for term in query.terms):
                counts |= self._facets(connection, repository_id, query.without(name), only=(name,)).counts
            matching = self._facets(connection, repository_id, query)
            return FacetCounts(matching.total, {**matching.counts, **counts})

    def _facets(
        self, connection: Connection, repository_id: int, query: Query, *, only: Collection[str] | None = None
    ) -> FacetCounts:
        """Count the matching traces by name and value; ``only`` some names, for which nothing else is counted."""
        question = _Question(repository_id, self.version(connection), query, None if only is None else frozenset(only))
        known = self._counted.get(question)
        if known is not None:
            self._counted.move_to_end(question)
            return known

        # By code
        total = 0
        totals: dict[int, NDArray[np.int64]] = {}
        for columns, positions in self._matches(connection, repository_id, query):
            total += len(positions)
            wanted = None if only is None else {self._names.names.get(name, -1) for name in only}
            for number, column in columns.columns.items():
                if wanted is not None and number not in wanted:
                    continue
                check_time()
                size, alike = len(self._names.values[number]), columns.alike(number)
                if alike < 0:
                    counts = np.bincount(column[positions], minlength=size)
                else:
                    counts = np.zeros(size, dtype=np.int64)
                    counts[alike] = len(positions)
                totals[number] = totals[number] + counts if number in totals else counts

        # By name and value, both sorted, without values that no trace has
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
        return self._keep(question, FacetCounts(total, counted))

    def _keep(self, question: _Question, counts: FacetCounts) -> FacetCounts:
        """Keep the counts for the next request that asks for them; the oldest ones make room."""
        self._counted[question] = counts
        kept = sum(_size(each) for each in self._counted.values())
        while kept > _KEPT_COUNTS:
            _, oldest = self._counted.popitem(last=False)
            kept -= _size(oldest)
        return counts

    def partition(self, repository_id: int, query: Query, name: str) -> dict[str, NDArray[np.int64]]:
        """Return the ids of the matching traces, sorted, by their value of the param ``name``.

        "" where they lack it.
        """
        parts: dict[int, list[NDArray[np.int64]]] = {}
        with self._view() as connection:
            for columns, positions in self._matches(connection, repository_id, query):
                check_time()
                if not len(positions):
                    continue
                ids = columns.ids(positions)
                column = columns.columns.get(self._names.names.get(name, -1))
                if column is None:
                    parts.setdefault(0, []).append(ids)
                    continue
                codes = column[positions]
                order = np.argsort(codes, kind="stable")
                found, begins = np.unique(codes[order], return_index=True)
                for code, part in zip(found.tolist(), np.split(ids[order], begins[1:]), strict=True):
                    parts.setdefault(code, []).append(part)
            values = self._names.values.get(self._names.names.get(name, -1), [""])
            named = {values[code]: np.concatenate(part) for code, part in parts.items()}
        return dict(sorted(named.items()))

    def params(self, repository_id: int, ids: NDArray[np.int64]) -> dict[str, ParamCodes]:
        """Return the params of traces by name, sorted, each with one code a trace, in the order of ``ids``."""
        found: dict[int, NDArray[np.uint32]] = {}
        with self._view() as connection:
            for columns, positions in self._matches(connection, repository_id, Query()):
                check_time()
                known = columns.ids(positions)
                places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
                here = known[places] == ids
                for number, column in columns.columns.items():
                    codes = found.setdefault(number, np.zeros(len(ids), dtype=np.uint32))
                    codes[here] = column[positions[places[here]]]
            return {
                name: ParamCodes(found[number], tuple(self._names.values[number]))
                for name, number in sorted(self._names.names.items())
                if number in found and found[number].any()
            }

    @contextmanager
    def _view(self) -> Iterator[Connection]:
        """Open a snapshot, and hold the lock of what is loaded.

        A transaction that wrote traces sees a catalogue that no other thread may see. It loads all anew, and so does
        the thread after it. A snapshot that is older than what was loaded loads for itself as well, and leaves that
        alone.
        """
        database = self._database
        reading, writing = database.is_reading, database.connection is not None and not database.is_reading
        with database.reading() as connection, self._locked():
            if reading and self.version(connection) < self._names.version:
                with self._apart():
                    yield connection
                return
            private = writing and self.version(connection) != self._committed()
            if private:
                self.forget()
            try:
                yield connection
            finally:
                if private:
                    self.forget()

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Load anew, and put back afterwards what was loaded before."""
        before = self._names, self._columns, self._matched, self._counted
        self.forget()
        try:
            yield
        finally:
            self._names, self._columns, self._matched, self._counted = before

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; a request waits no longer than it may work.

        Raises:
            DeadlineError: another request held the lock until the time was up.
        """
        left = remaining_seconds()
        if not self._lock.acquire(timeout=-1 if left is None else left):
            raise deadline_error()
        try:
            yield
        finally:
            self._lock.release()

    def _committed(self) -> int:
        """Return the version that a new transaction sees."""
        with self._database.engine.connect() as connection:
            return self.version(connection)

    def _matches(
        self, connection: Connection, repository_id: int, query: Query
    ) -> Iterator[tuple[ParamColumns, NDArray[np.int64]]]:
        """Yield columns and the matching positions in them: from memory at once, or streamed in pieces."""
        version = self.version(connection)
        with self._whole():
            self._names.load(connection, version)

        # A repository that is too large for memory
        if repository_id not in self._columns and self._is_large(connection, repository_id):
            terms, words = self._accepted_codes(query), self._found_codes(query)
            for columns in streamed_columns(connection, repository_id):
                positions = np.flatnonzero(matching_mask(columns, terms, words))
                if len(positions):
                    yield columns, positions
            return
        # Others from memory. The last answers are kept: a page asks the same query for its list and for its facets.
        columns = self._columns.setdefault(repository_id, ParamColumns())
        with self._whole():
            columns.load(connection, repository_id, version)
        yield columns, self._positions(_Question(repository_id, version, query), columns)

    def _positions(self, question: _Question, columns: ParamColumns) -> NDArray[np.int64]:
        """Return the positions that match, and keep them; the oldest ones make room."""
        positions = self._matched.get(question)
        if positions is None:
            mask = matching_mask(columns, self._accepted_codes(question.query), self._found_codes(question.query))
            positions = self._matched[question] = np.flatnonzero(mask)
            kept = sum(each.nbytes for each in self._matched.values())
            while kept > _KEPT_BYTES and len(self._matched) > 1:
                _, oldest = self._matched.popitem(last=False)
                kept -= oldest.nbytes
        self._matched.move_to_end(question)
        return positions

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Forget everything where a load breaks off in the middle, as when the time of a request is up."""
        try:
            yield
        except BaseException:
            self.forget()
            raise

    def _is_large(self, connection: Connection, repository_id: int) -> bool:
        count = select(func.sum(tables.chunk.c.count)).where(tables.chunk.c.repository_id == repository_id)
        return int(connection.execute(count).scalar() or 0) > _CACHED_TRACES

    def _accepted_codes(self, query: Query) -> list[AcceptedCodes]:
        found = []
        for term in query.terms:
            name = self._names.names.get(term.name, -1)
            accepted = _tried(term.accepts_each, self._names.values.get(name, [""]))
            accepted[0] = term.accepts(None)
            found.append(AcceptedCodes(name, accepted))
        return found

    def _found_codes(self, query: Query) -> list[FoundCodes]:
        found = []
        for word in query.words:
            codes = []
            for name, values in self._names.values.items():
                occurs = _tried(word.occurs_in_each, values)
                occurs[0] = False
                if occurs.any():
                    codes.append(AcceptedCodes(name, occurs))
            found.append(FoundCodes(codes, word.refused))
        return found


class _Question(NamedTuple):
    """What matches and counts are kept for; ``only`` are the names that were counted, None for all."""

    repository_id: int
    version: int
    query: Query
    only: frozenset[str] | None = None


def _size(counts: FacetCounts) -> int:
    return 1 + sum(map(len, counts.counts.values()))


def _tried(test: Callable[[Sequence[str]], list[bool]], values: Sequence[str]) -> NDArray[np.bool_]:
    """Return the values that pass a test, in blocks between which the time of a request may end."""
    passed = np.empty(len(values), dtype=np.bool_)
    for begin in range(0, len(values), _TRIED_VALUES):
        check_time()
        block = values[begin : begin + _TRIED_VALUES]
        passed[begin : begin + len(block)] = test(block)
    return passed
