"""What the runs of one job have in common: the traces of their results, and all that follows from these.

The *layout* of a run is its keys, units, directions and outcomes, in their order: everything but the values. A nightly
job reports the same layout each time. A :class:`Layout` holds the trace of each result; where every trace has
one result in its own unit, its :class:`RunTemplate` holds what each further run would compute again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.report import Outcome, ResultTable
from knickpoint.model.unit import conversion
from knickpoint.store.events.payloads import PackedIds, pack_ids
from knickpoint.store.points.parts import Part
from knickpoint.store.points.tile_codec import chunks_of, encode_ids
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
