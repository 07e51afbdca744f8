"""The names and values of params as numbers, and a column of these for each name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, func, select

from knickpoint.budget import check_time
from knickpoint.model.errors import ParamsError
from knickpoint.model.params import decode_key
from knickpoint.store.array_codec import unpack
from knickpoint.store.database import Database
from knickpoint.store.tables import commits as tables
from knickpoint.store.tables.commits import param_name, param_value
from knickpoint.store.traces.trace_chunks import CHUNK
from knickpoint.store.traces.trace_requests import digest_each

# Number the names and values of params, so that the catalogue holds integers instead of texts.
#
# A trace has a dozen params, and most of their values are those of many other traces. A name has a number, and each
# value of a name has a code, counted from 1; 0 stands for a missing param. A chunk of the catalogue keeps one array of
# codes for each name, and a query compares integers.


_KEPT_PAIRS: Final = 1_000_000
"""Pairs of name and value that one process remembers."""

_CODE_BITS: Final = 32
"""A pair is remembered as one integer: the number of its name above these bits, the code of its value in them."""


_NAMES: Final = select(param_name.c.name, param_name.c.id)
_VALUES: Final = select(param_value.c.name_id, param_value.c.code, param_value.c.value).where(
    Database.among(param_value.c.digest)
)
_HIGHEST: Final = select(func.coalesce(func.max(param_value.c.code), 0)).where(
    param_value.c.name_id == bindparam("owner")
)


class Vocabulary:
    """Give numbers to the names and values of params; numbers never change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names: dict[str, int] = {}
        self._pairs: dict[str, int] = {}
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Drop what this process remembers."""
        self._names = {}
        self._pairs = {}

    def encode(self, connection: Connection, keys: Sequence[str], version: int) -> dict[int, NDArray[np.int64]]:
        """Return name → the code of each key, 0 where a key lacks it; new codes are of ``version`` of the catalogue.

        Raises:
            ParamsError: a key is not canonical.
        """
        for key in keys:
            if len(key) < 2 or key[0] != "," or key[-1] != ",":
                decode_key(key)
        # Split: a canonical key is ",name=value,name=value,", so the keys without their ends make one row of pairs.
        pairs = ",".join([key[1:-1] for key in keys]).split(",")
        counts = np.fromiter((key.count(",") for key in keys), np.int64, len(keys)) - 1
        if len(self._pairs) > _KEPT_PAIRS:
            self.forget()
        unknown = _split([pair for pair in dict.fromkeys(pairs) if pair not in self._pairs])
        if unknown:
            self._learn_names(connection, {name for name, _ in unknown.values()})
            self._learn_values(connection, unknown, version)

        # Code: one integer a pair, then one column a name.
        coded = np.fromiter(map(self._pairs.__getitem__, pairs), np.int64, len(pairs))
        names, codes = coded >> _CODE_BITS, coded & (2**_CODE_BITS - 1)
        rows = np.repeat(np.arange(len(keys)), counts)
        self._check_order(keys, rows, names)
        columns: dict[int, NDArray[np.int64]] = {}
        for name in np.unique(names).tolist():
            here = names == name
            column = np.zeros(len(keys), dtype=np.int64)
            column[rows[here]] = codes[here]
            columns[name] = column
        return columns

    def _check_order(self, keys: Sequence[str], rows: NDArray[np.int64], names: NDArray[np.int64]) -> None:
        """Raise the error of the first key whose names are not sorted, each once."""
        ordered = sorted(self._names)
        rank = np.zeros(max(self._names.values()) + 1, dtype=np.int64)
        rank[[self._names[name] for name in ordered]] = np.arange(len(ordered))
        wrong = (np.diff(rows) == 0) & (np.diff(rank[names]) <= 0)
        if wrong.any():
            decode_key(keys[int(rows[int(np.argmax(wrong))])])

    def _learn_names(self, connection: Connection, names: set[str]) -> None:
        """Read the numbers of names, and number the new ones."""
        if names <= self._names.keys():
            return
        self._names = dict(self._database.quick(connection, _NAMES, {}).fetchall())
        missing = sorted(names - self._names.keys())
        if missing:
            self._database.insert_rows(connection, param_name, ["name"], [(name,) for name in missing])
            self._names = dict(self._database.quick(connection, _NAMES, {}).fetchall())

    def _learn_values(self, connection: Connection, pairs: dict[str, tuple[str, str]], version: int) -> None:
        """Read the codes of pairs, given as text → name and value, and give codes to the new ones."""
        digests = digest_each([f"{self._names[name]},{value}" for name, value in pairs.values()])[:, 0]
        rows = self._database.quick(connection, _VALUES, {"numbers": self._database.listed(np.unique(digests))})
        codes = {(name_id, value): code for name_id, code, value in rows}
        added: list[tuple[object, ...]] = []
        last: dict[int, int] = {}
        for (name, value), digest in zip(pairs.values(), digests.tolist(), strict=True):
            name_id = self._names[name]
            if (name_id, value) in codes:
                continue
            if name_id not in last:
                last[name_id] = self._database.quick(connection, _HIGHEST, {"owner": name_id}).fetchone()[0]
            last[name_id] += 1
            code = codes[name_id, value] = last[name_id]
            added.append((name_id, code, digest, version, value))
        if added:
            self._database.insert_rows(
                connection, param_value, ["name_id", "code", "digest", "version", "value"], added
            )
        for pair, (name, value) in pairs.items():
            name_id = self._names[name]
            self._pairs[pair] = (name_id << _CODE_BITS) | codes[name_id, value]


def _split(pairs: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return pair → name and value. Raises ``ParamsError`` where a pair is none."""
    split: dict[str, tuple[str, str]] = {}
    for pair in pairs:
        decoded = decode_key(f",{pair},")
        if len(decoded) != 1:
            raise ParamsError(f"{pair!r} is not one param", where="trace key")
        split[pair] = next(iter(decoded.items()))
    return split


# Hold what was read of the params of traces: the vocabulary, and a column of codes for each name of a param.
#
# A trace has a code for each name: the number of its value in the vocabulary, 0 where it lacks the param. Columns grow
# by the chunks of traces that are newer than what was read.


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
    """Return the traces that meet all terms and words."""
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
