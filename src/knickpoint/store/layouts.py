"""Remember which traces the keys of a whole file are: files of one job name the same keys each time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from knickpoint.model.report import ResultTable
from knickpoint.store.database import Database
from knickpoint.store.keys import digest_all
from knickpoint.store.packing import pack, unpack
from knickpoint.store.tables.traces import layout as table

__all__ = ["Layouts"]

_SMALLEST: Final = 64
"""Files with fewer results look their keys up one by one; it takes no longer."""

_REMEMBERED: Final = 4_000_000
"""Results whose traces one process remembers."""

_KEPT: Final = 1_000
"""Layouts that a repository keeps; the oldest ones go."""

Known = tuple[NDArray[np.int64], NDArray[np.int64]]


class Layouts:
    """Hold the traces and the units of the results of whole files, by the digest of all keys and units."""

    def __init__(self, database: Database) -> None:
        self._known: OrderedDict[tuple[int, int, int], Known] = OrderedDict()
        self._held = 0
        self._last: tuple[Sequence[str], tuple[int, int]] = ((), (0, 0))
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Drop what is remembered in this process."""
        self._known = OrderedDict()
        self._held = 0

    def digest(self, results: ResultTable) -> tuple[int, int] | None:
        """Return what identifies the layout of ``results``; None for small ones."""
        if len(results) < _SMALLEST:
            return None
        keys, whole = self._last
        if keys is not results.keys:
            whole = digest_all(results.keys)
            self._last = (results.keys, whole)
        units = "\x00".join(results.units).encode()
        codes = (results.unit_codes.tobytes(), results.better_codes.tobytes(), results.outcome_codes.tobytes())
        return digest_all((), b"%d,%d" % whole, units, *codes)

    def find(self, connection: Connection, repository_id: int, digest: tuple[int, int]) -> Known | None:
        """Return the trace and the unit of each result, None for a layout that was not seen before."""
        name = (repository_id, *digest)
        known = self._known.get(name)
        if known is not None:
            self._known.move_to_end(name)
            return known
        where = (table.c.repository_id == repository_id) & (table.c.high == digest[0]) & (table.c.low == digest[1])
        data = connection.execute(select(table.c.traces).where(where)).scalar()
        if data is None:
            return None
        ids, units = unpack(data, 2)
        self._remember(name, (ids, units))
        return ids, units

    def keep(self, connection: Connection, repository_id: int, digest: tuple[int, int], known: Known) -> None:
        """Remember a layout, here and in the store."""
        row = {"repository_id": repository_id, "high": digest[0], "low": digest[1]}
        connection.execute(table.insert(), [{**row, "created": time.time(), "traces": pack(*known)}])
        newest = select(table.c.created).where(table.c.repository_id == repository_id)
        oldest = connection.execute(newest.order_by(table.c.created.desc()).offset(_KEPT).limit(1)).scalar()
        if oldest is not None:
            old = (table.c.repository_id == repository_id) & (table.c.created <= oldest)
            connection.execute(table.delete().where(old))
        self._remember((repository_id, *digest), known)

    def _remember(self, name: tuple[int, int, int], known: Known) -> None:
        self._known[name] = known
        self._held += len(known[0])
        while self._held > _REMEMBERED and len(self._known) > 1:
            _, (ids, _) = self._known.popitem(last=False)
            self._held -= len(ids)
