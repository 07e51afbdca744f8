"""Hold what was read of the params of traces: the vocabulary, and a column of codes for each name of a param.

A trace has a code for each name: the number of its value in the vocabulary, 0 where it lacks the param. Columns grow by
the chunks of traces that are newer than what was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from knickpoint.budget import check_time
from knickpoint.store.array_codec import unpack
from knickpoint.store.tables import traces as tables
from knickpoint.store.traces.trace_chunks import CHUNK

__all__ = ["AcceptedCodes", "FoundCodes", "ParamColumns", "ParamNames", "matching_mask", "streamed_columns"]

_STREAMED_CHUNKS: Final = 256


class ParamNames:
    """The vocabulary as far as it was read: names, and values by code."""

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
        """Read the names, and the values that are newer than what was read."""
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


class ParamColumns:
    """The codes of the traces of one repository: an array for each name, by position; with room for ``chunks``.

    Position i is trace i % 1024 of the chunk ``chunks[i // 1024]``.
    """

    def __init__(self, chunks: int = 1) -> None:
        self._capacity = chunks * CHUNK
        self.version = -1
        self.count = 0
        self.chunks: list[int] = []
        self.columns: dict[int, NDArray[np.uint32]] = {}
        self._alike: dict[int, int] = {}

    def alike(self, name: int) -> int:
        """Return the code that all traces have for a name, -1 where they differ; most traces share many params."""
        if name not in self._alike:
            codes = self.columns[name][: self.count]
            self._alike[name] = int(codes[0]) if len(codes) and bool((codes == codes[0]).all()) else -1
        return self._alike[name]

    def load(self, connection: Connection, repository_id: int, version: int) -> None:
        """Read the chunks that are newer than what was read."""
        if version == self.version:
            return
        table = tables.chunk
        query = select(table.c.id, table.c.count, table.c.codes)
        query = query.where(table.c.repository_id == repository_id, table.c.version > self.version)
        for key, count, codes in connection.execute(query.order_by(table.c.id)):
            self.take(key, count, codes)
        self.version = version

    def take(self, key: int, count: int, codes: bytes) -> None:
        """Take in a new chunk, or a newer version of a known one."""
        if not self.chunks or self.chunks[-1] < key:
            self.chunks.append(key)
        begin = self.chunks.index(key) * CHUNK if key != self.chunks[-1] else (len(self.chunks) - 1) * CHUNK
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

    def ids(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the trace ids at ``positions``."""
        chunks = np.asarray(self.chunks, dtype=np.int64)
        return np.asarray(chunks[positions >> 10] * CHUNK + (positions & (CHUNK - 1)))


class AcceptedCodes(NamedTuple):
    """The codes of a name that a term of a query accepts, by code."""

    name: int
    accepted: NDArray[np.bool_]


class FoundCodes(NamedTuple):
    """The codes of values that contain a free word, by name."""

    codes: Sequence[AcceptedCodes]
    refused: bool


def matching_mask(
    columns: ParamColumns, terms: Sequence[AcceptedCodes], words: Sequence[FoundCodes] = ()
) -> NDArray[np.bool_]:
    """Return which traces meet all terms and words."""
    mask = np.ones(columns.count, dtype=np.bool_)
    for name, accepted in terms:
        check_time()
        column = columns.columns.get(name)
        if column is None:  # no trace has the param
            if not accepted[0]:
                return np.zeros(columns.count, dtype=np.bool_)
            continue
        wanted = np.flatnonzero(accepted)
        if len(wanted) == 1:  # a comparison is faster than the look-up
            mask &= column[: columns.count] == wanted.astype(column.dtype)[0]
        else:
            mask &= accepted[column[: columns.count]]
    for codes, refused in words:
        found = np.zeros(columns.count, dtype=np.bool_)
        for name, occurs in codes:
            check_time()
            column = columns.columns.get(name)
            if column is not None:
                found |= occurs[column[: columns.count]]
        mask &= found != refused
    return mask


def streamed_columns(connection: Connection, repository_id: int) -> Iterator[ParamColumns]:
    """Yield the columns of a repository in pieces of some chunks."""
    table = tables.chunk
    last = -1
    while True:
        query = select(table.c.id, table.c.count, table.c.codes)
        query = query.where(table.c.repository_id == repository_id, table.c.id > last).order_by(table.c.id)
        rows = connection.execute(query.limit(_STREAMED_CHUNKS)).all()
        if not rows:
            return
        columns = ParamColumns(len(rows))
        for key, count, codes in rows:
            columns.take(key, count, codes)
        last = columns.chunks[-1]
        yield columns
