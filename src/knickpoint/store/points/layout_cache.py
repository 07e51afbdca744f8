"""Remember which traces the keys of a whole run are: runs of one job name the same keys each time.

One digest of a layout finds the traces of all results at once, where 40,000 look-ups by key would take longer than
the rest of the write. The store keeps the layouts of the newest files of a repository, a process those it has met.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from knickpoint.model.report import ResultTable
from knickpoint.store.array_codec import checked, pack, unpack
from knickpoint.store.database import Database
from knickpoint.store.points.layouts import Layout
from knickpoint.store.tables.traces import layout as table
from knickpoint.store.traces.trace_requests import digest_all

_SMALLEST: Final = 64
"""Results of a run from which on the store keeps its layout; for fewer, looking keys up one by one takes no longer."""

_REMEMBERED: Final = 4_000_000
"""Results whose traces one process remembers."""

_KEPT: Final = 1_000
"""Layouts that a repository keeps; the oldest ones go."""


LayoutTraces = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The trace of each result, and the number of the trace's unit."""


class LayoutDigest(NamedTuple):
    """What identifies a layout: the number of its results, and a digest of 128 bits as two signed halves."""

    size: int
    high: int
    low: int


_STORED: Final = select(table.c.traces).where(
    table.c.repository_id == bindparam("owner"),
    table.c.high == bindparam("first"),
    table.c.low == bindparam("second"),
)


class LayoutCache:
    """Hold layouts by digest: in memory whole, in the store their traces.

    A rollback empties the memory: it may hold layouts whose traces were undone.
    """

    def __init__(self, database: Database) -> None:
        self._layouts: OrderedDict[tuple[int, LayoutDigest], Layout] = OrderedDict()
        self._held = 0
        self._last_keys: tuple[Sequence[str], tuple[int, int]] = ((), (0, 0))
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Drop what this process remembers."""
        self._layouts = OrderedDict()
        self._held = 0

    def digest(self, results: ResultTable) -> LayoutDigest:
        """Return the digest of the layout of ``results``."""
        keys, whole = self._last_keys
        if keys is not results.keys:
            whole = digest_all(results.keys)
            self._last_keys = (results.keys, whole)
        units = "\x00".join(results.units).encode()
        columns: tuple[NDArray[Any], ...] = (results.unit_codes, results.better_codes, results.outcome_codes)
        return LayoutDigest(len(results), *digest_all((), b"%d,%d" % whole, units, *map(_shortened, columns)))

    def recall(self, repository_id: int, digest: LayoutDigest) -> Layout | None:
        """Return a layout from the memory of this process."""
        layout = self._layouts.get((repository_id, digest))
        if layout is not None:
            self._layouts.move_to_end((repository_id, digest))
        return layout

    def remember(self, repository_id: int, digest: LayoutDigest, layout: Layout) -> None:
        """Keep a layout in memory, and forget the one that was not used for longest where there are too many."""
        if not layout.trace_units.all():
            return  # a trace without a unit may take one from its next run
        self._layouts[repository_id, digest] = layout
        self._held += max(digest.size, _SMALLEST)
        while self._held > _REMEMBERED and len(self._layouts) > 1:
            (_, oldest), _ = self._layouts.popitem(last=False)
            self._held -= max(oldest.size, _SMALLEST)

    def load(self, connection: Connection, repository_id: int, digest: LayoutDigest) -> LayoutTraces | None:
        """Return from the store the trace of each result, and the number of the trace's unit; None if not kept."""
        if digest.size < _SMALLEST:
            return None
        values = {"owner": repository_id, "first": digest.high, "second": digest.low}
        data = connection.execute(_STORED, values).scalar()
        if data is None:
            return None
        ids, units = unpack(data, 2)
        return ids, units

    def store(
        self,
        connection: Connection,
        repository_id: int,
        digest: LayoutDigest,
        ids: NDArray[np.int64],
        units: NDArray[np.int64],
    ) -> None:
        """Keep the traces of a new layout in the store; the oldest layouts of the repository make room."""
        if digest.size < _SMALLEST or not units.all():
            return
        row = {"repository_id": repository_id, "high": digest.high, "low": digest.low}
        connection.execute(table.insert(), [{**row, "created": time.time(), "traces": checked(pack(ids, units))}])
        newest = select(table.c.created).where(table.c.repository_id == repository_id)
        oldest = connection.execute(newest.order_by(table.c.created.desc()).offset(_KEPT).limit(1)).scalar()
        if oldest is not None:
            old = (table.c.repository_id == repository_id) & (table.c.created <= oldest)
            connection.execute(table.delete().where(old))


def _shortened(codes: NDArray[Any]) -> bytes:
    """Return a short form of the bytes of ``codes`` for a digest; mostly they are all the same."""
    if len(codes) and (codes == codes[0]).all():
        return b"%d*" % len(codes) + codes[:1].tobytes()
    return codes.tobytes()
