"""What the runs of one job have in common, and the cache that finds it: the traces of their results.

The *layout* of a run is its keys, units, directions and outcomes, in their order: everything but the values. A nightly
job reports the same layout each time. A :class:`Layout` holds the trace of each result; where every trace has
one result in its own unit, its :class:`RunTemplate` holds what each further run would compute again.

One digest of a layout finds the traces of all results at once, where 40,000 look-ups by key would take longer than
the rest of the write. The store keeps the layouts of the newest files of a repository, a process those it has met.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from knickpoint.model.report import Outcome, ResultTable
from knickpoint.model.unit import conversion
from knickpoint.store.array_codec import checked, pack, unpack
from knickpoint.store.database import Database
from knickpoint.store.events import PackedIds, pack_ids
from knickpoint.store.points.parts import Part
from knickpoint.store.points.tile_codec import chunks_of, encode_ids
from knickpoint.store.tables.commits import layout as table
from knickpoint.store.traces.trace_requests import digest_all
from knickpoint.store.traces.units import StoredUnit

_MEASURED = tuple(Outcome).index(Outcome.MEASURED)


@dataclass(frozen=True)
class RunTemplate:
    """What all runs of one layout have in common when each has one sample a trace, in the trace's unit.

    The nightly job of a benchmark suite reports the same keys each time. For such a run only the values are new: the
    traces, their order, the packed provenance and the ids in the event are computed once, and a file of 40,000 values
    costs little more than writing its bytes.

    ``ids`` are sorted, each once. ``order`` has the result of each, None where the results are in this order.
    """

    ids: NDArray[np.int64]
    units: NDArray[np.int64]
    order: NDArray[np.int64] | None

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of samples of each trace: 1."""
        return np.broadcast_to(np.int64(1), self.ids.shape)

    @cached_property
    def factors(self) -> NDArray[np.float64]:
        """What turns each sample into the unit of its trace: 1."""
        return np.broadcast_to(np.float64(1), self.ids.shape)

    @cached_property
    def chunks(self) -> NDArray[np.int64]:
        """The chunks of the traces."""
        return chunks_of(self.ids)

    @cached_property
    def encoded_ids(self) -> bytes:
        """The traces as a segment lists them."""
        return encode_ids(self.ids)

    @cached_property
    def event_ids(self) -> PackedIds:
        """The traces as an event names them."""
        return pack_ids(self.ids)

    @cached_property
    def implicit_part(self) -> bytes:
        """The provenance of a run whose samples are the stored points."""
        return Part(self.ids, self.counts, self.units, self.factors, None).pack()


@dataclass(frozen=True)
class Layout:
    """The trace of each result of a run, as columns of one length.

    ``trace_units`` are the units of the traces and ``units`` those that the results came in, by number; ``factors``
    turn a sample into the trace's unit. ``measured`` is true where no result failed or was skipped.
    """

    ids: NDArray[np.int64]
    trace_units: NDArray[np.int64]
    units: NDArray[np.int64]
    factors: NDArray[np.float64]
    measured: bool

    @cached_property
    def template(self) -> RunTemplate | None:
        """The template of runs with this layout, None where each has to be gathered.

        Those have results without a value, results that share a trace, or units to convert.
        """
        if not len(self.ids) or not self.measured or not bool((self.factors == 1).all()):
            return None
        if bool((np.diff(self.ids) > 0).all()):
            return RunTemplate(self.ids, self.units, None)
        order = np.argsort(self.ids, kind="stable")
        ids = self.ids[order]
        return RunTemplate(ids, self.units[order], order) if bool((np.diff(ids) > 0).all()) else None


def layout_of(
    results: ResultTable,
    ids: NDArray[np.int64],
    trace_units: NDArray[np.int64],
    units: Sequence[StoredUnit],
    by_id: Mapping[int, StoredUnit],
) -> Layout:
    """Return the layout of ``results`` whose traces are ``ids``, in ``trace_units`` by number.

    ``units`` are those of ``results.units``; ``by_id`` has the units of the traces by number.
    """
    given = np.array([unit.id for unit in units], dtype=np.int64)[results.unit_codes]
    measured = bool((results.outcome_codes == _MEASURED).all())
    different = given != trace_units
    if not different.any():
        return Layout(ids, trace_units, trace_units, np.broadcast_to(np.float64(1), ids.shape), measured)
    factors = np.ones(len(given))
    known = {unit.id: unit for unit in units}
    pairs = np.unique(np.stack([given[different], trace_units[different]], axis=1), axis=0)
    for source, target in pairs.tolist():
        if target:  # a trace that was never measured has no unit
            factor = conversion(known[source].unit, by_id[target].unit)
            factors[(given == source) & (trace_units == target)] = factor
    return Layout(ids, trace_units, given, factors, measured)


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
