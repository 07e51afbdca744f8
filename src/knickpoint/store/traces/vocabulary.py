"""Number the names and values of params, so that the catalogue holds integers instead of texts."""

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

__all__ = ["Coded", "Vocabulary"]

_KEPT_PAIRS: Final = 1_000_000
_CODE_BITS: Final = 32


class Coded:
    """Hold the params of some keys as codes: one column a name, 0 where a key lacks it."""

    __slots__ = ("columns",)

    def __init__(self, columns: dict[int, NDArray[np.int64]]) -> None:
        self.columns = columns


class Vocabulary:
    """Give numbers to the names and values of params; numbers never change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names: dict[str, int] = {}
        self._pairs: dict[str, int] = {}
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Drop what is remembered in this process."""
        self._names = {}
        self._pairs = {}

    def encode(self, connection: Connection, keys: Sequence[str], version: int) -> Coded:
        """Return the codes of the params of ``keys``, new ones made under ``version`` of the catalogue.

        Raises:
            ParamsError: a key is not canonical.
        """
        for key in keys:
            if len(key) < 2 or key[0] != "," or key[-1] != ",":
                decode_key(key)
        pairs = ",".join([key[1:-1] for key in keys]).split(",")
        counts = np.fromiter((key.count(",") for key in keys), np.int64, len(keys)) - 1
        self._learn(connection, list(dict.fromkeys(pairs)), version)
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
        return Coded(columns)

    def _check_order(self, keys: Sequence[str], rows: NDArray[np.int64], names: NDArray[np.int64]) -> None:
        ordered = sorted(self._names)
        rank = np.zeros(max(self._names.values()) + 1, dtype=np.int64)
        rank[[self._names[name] for name in ordered]] = np.arange(len(ordered))
        wrong = (np.diff(rows) == 0) & (np.diff(rank[names]) <= 0)
        if wrong.any():
            decode_key(keys[int(rows[int(np.argmax(wrong))])])

    def _learn(self, connection: Connection, pairs: list[str], version: int) -> None:
        if len(self._pairs) > _KEPT_PAIRS:
            self.forget()
            # what one call needs is learnt below, whatever its size
        unknown = [pair for pair in pairs if pair not in self._pairs]
        if not unknown:
            return
        split = []
        for pair in unknown:
            decoded = decode_key(f",{pair},")
            if len(decoded) != 1:
                raise ParamsError(f"{pair!r} is not one param", where="trace key")
            split.append(next(iter(decoded.items())))
        self._learn_names(connection, {name for name, _ in split})
        digests = digest_each([f"{self._names[name]},{value}" for name, value in split])[:, 0]
        query = select(param_value.c.name_id, param_value.c.code, param_value.c.value)
        query = query.where(self._database.among(param_value.c.digest))
        rows = connection.execute(query, {"numbers": self._database.listed(np.unique(digests))})
        codes = {(row.name_id, row.value): row.code for row in rows}
        fresh: list[dict[str, Any]] = []
        last: dict[int, int] = {}
        for (name, value), digest in zip(split, digests.tolist(), strict=True):
            name_id = self._names[name]
            if (name_id, value) in codes:
                continue
            if name_id not in last:
                highest = select(func.max(param_value.c.code)).where(param_value.c.name_id == name_id)
                last[name_id] = connection.execute(highest).scalar() or 0
            last[name_id] += 1
            codes[name_id, value] = last[name_id]
            fresh.append(
                {"name_id": name_id, "code": last[name_id], "digest": digest, "version": version, "value": value}
            )
        if fresh:
            connection.execute(param_value.insert(), fresh)
        for pair, (name, value) in zip(unknown, split, strict=True):
            name_id = self._names[name]
            self._pairs[pair] = (name_id << _CODE_BITS) | codes[name_id, value]

    def _learn_names(self, connection: Connection, names: set[str]) -> None:
        if names <= self._names.keys():
            return
        self._names = {row.name: row.id for row in connection.execute(select(param_name))}
        missing = sorted(names - self._names.keys())
        if missing:
            connection.execute(param_name.insert(), [{"name": name} for name in missing])
            self._names = {row.name: row.id for row in connection.execute(select(param_name))}
