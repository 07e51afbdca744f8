"""Number the names and values of params, so that the catalogue holds integers instead of texts.

A trace has a dozen params, and most of their values are those of many other traces. A name has a number, and each
value of a name has a code, counted from 1; 0 stands for a missing param. A chunk of the catalogue keeps one array of
codes for each name, and a query compares integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from knickpoint.model.errors import ParamsError
from knickpoint.model.params import decode_key
from knickpoint.store.database import Database
from knickpoint.store.tables.traces import param_name, param_value
from knickpoint.store.traces.key_digests import digest_each

__all__ = ["Vocabulary"]

_KEPT_PAIRS: Final = 1_000_000
"""Pairs of name and value that one process remembers."""

_CODE_BITS: Final = 32
"""A pair is remembered as one integer: the number of its name above these bits, the code of its value in them."""


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
        self._names = {row.name: row.id for row in connection.execute(select(param_name))}
        missing = sorted(names - self._names.keys())
        if missing:
            connection.execute(param_name.insert(), [{"name": name} for name in missing])
            self._names = {row.name: row.id for row in connection.execute(select(param_name))}

    def _learn_values(self, connection: Connection, pairs: dict[str, tuple[str, str]], version: int) -> None:
        """Read the codes of pairs, given as text → name and value, and give codes to the new ones."""
        digests = digest_each([f"{self._names[name]},{value}" for name, value in pairs.values()])[:, 0]
        query = select(param_value.c.name_id, param_value.c.code, param_value.c.value)
        query = query.where(self._database.among(param_value.c.digest))
        rows = connection.execute(query, {"numbers": self._database.listed(np.unique(digests))})
        codes = {(row.name_id, row.value): row.code for row in rows}
        added: list[dict[str, Any]] = []
        last: dict[int, int] = {}
        for (name, value), digest in zip(pairs.values(), digests.tolist(), strict=True):
            name_id = self._names[name]
            if (name_id, value) in codes:
                continue
            if name_id not in last:
                highest = select(func.max(param_value.c.code)).where(param_value.c.name_id == name_id)
                last[name_id] = connection.execute(highest).scalar() or 0
            last[name_id] += 1
            code = codes[name_id, value] = last[name_id]
            added.append({"name_id": name_id, "code": code, "digest": digest, "version": version, "value": value})
        if added:
            connection.execute(param_value.insert(), added)
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
