"""Remember which traces the keys of a whole file are: files of one job name the same keys each time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from knickpoint.model.report import ResultTable
from knickpoint.store.array_codec import pack, unpack
from knickpoint.store.database import Database
from knickpoint.store.events.packed_ids import PackedIds, pack_ids
from knickpoint.store.points.parts import Part
from knickpoint.store.points.tiles import chunks_of, listed_ids
from knickpoint.store.tables.traces import layout as table
from knickpoint.store.traces.key_digests import digest_all

__all__ = ["Layouts", "Routine"]

_SMALLEST: Final = 64
"""Files with fewer results look their keys up one by one; it takes no longer."""

_REMEMBERED: Final = 4_000_000
"""Results whose traces one process remembers."""

_KEPT: Final = 1_000
"""Layouts that a repository keeps; the oldest ones go."""

Known = tuple[NDArray[np.int64], NDArray[np.int64]]

_FOUND: Final = select(table.c.traces).where(
    table.c.repository_id == bindparam("own"),
    table.c.high == bindparam("first"),
    table.c.low == bindparam("second"),
)


@dataclass(frozen=True)
class Routine:
    """What is the same in all runs of a layout with one sample a trace, each in the unit of its trace.

    ``ids`` are sorted, each once. ``order`` has the result of each, None where the results are in this order.
    """

    ids: NDArray[np.int64]
    units: NDArray[np.int64]
    order: NDArray[np.int64] | None

    @cached_property
    def ones(self) -> NDArray[np.int64]:
        """The number of samples of each trace."""
        return np.broadcast_to(np.int64(1), self.ids.shape)

    @cached_property
    def factors(self) -> NDArray[np.float64]:
        """What turns each sample into the unit of its trace."""
        return np.broadcast_to(np.float64(1), self.ids.shape)

    @cached_property
    def chunks(self) -> NDArray[np.int64]:
        """The chunks of the traces."""
        return chunks_of(self.ids)

    @cached_property
    def listed(self) -> bytes:
        """The traces as a segment lists them."""
        return listed_ids(self.ids)

    @cached_property
    def part(self) -> bytes:
        """The provenance of a run whose samples are the stored points."""
        return Part(self.ids, self.ones, self.units, self.factors, None).pack()

    @cached_property
    def described(self) -> PackedIds:
        """The traces as an event names them."""
        return pack_ids(self.ids)


class Layouts:
    """Hold the traces and the units of the results of whole files, by the digest of all keys and units."""

    def __init__(self, database: Database) -> None:
        self._known: OrderedDict[tuple[int, int, int], Known] = OrderedDict()
        self._routines: dict[tuple[int, int, int], Routine] = {}
        self._held = 0
        self._last: tuple[Sequence[str], tuple[int, int]] = ((), (0, 0))
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Drop what is remembered in this process."""
        self._known = OrderedDict()
        self._routines = {}
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
        columns: tuple[NDArray[Any], ...] = (results.unit_codes, results.better_codes, results.outcome_codes)
        return digest_all((), b"%d,%d" % whole, units, *map(_shortened, columns))

    def routine(self, repository_id: int, digest: tuple[int, int]) -> Routine | None:
        """Return what :meth:`learn` was told of a layout in this process."""
        return self._routines.get((repository_id, *digest))

    def learn(self, repository_id: int, digest: tuple[int, int], routine: Routine) -> None:
        """Remember what is the same in all runs of a known layout."""
        if (repository_id, *digest) in self._known:
            self._routines[repository_id, *digest] = routine

    def find(self, connection: Connection, repository_id: int, digest: tuple[int, int]) -> Known | None:
        """Return the trace and the unit of each result, None for a layout that was not seen before."""
        name = (repository_id, *digest)
        known = self._known.get(name)
        if known is not None:
            self._known.move_to_end(name)
            return known
        asked = {"own": repository_id, "first": digest[0], "second": digest[1]}
        data = connection.execute(_FOUND, asked).scalar()
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
            oldest, (ids, _) = self._known.popitem(last=False)
            self._routines.pop(oldest, None)
            self._held -= len(ids)


def _shortened(codes: NDArray[Any]) -> bytes:
    """Return what stands for the bytes of ``codes`` in a digest; mostly they are all the same."""
    if len(codes) and (codes == codes[0]).all():
        return b"%d*" % len(codes) + codes[:1].tobytes()
    return codes.tobytes()
