"""Bring the results of a run into one entry a trace: samples joined, sorted by trace, values in the trace's unit.

A report lists results in the order of its tool, with keys that may repeat, in units that may differ from those of
the stored layout. What the store writes is sorted by trace, each trace once. Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import InputError
from knickpoint.model.report import Outcome, ResultTable
from knickpoint.store.points.layouts import Layout, RunTemplate
from knickpoint.store.points.parts import Part, converted, medians
from knickpoint.store.points.tile_codec import chunks_of

_OUTCOMES = tuple(Outcome)
_MEASURED, _FAILED, _SKIPPED = (_OUTCOMES.index(o) for o in (Outcome.MEASURED, Outcome.FAILED, Outcome.SKIPPED))


@dataclass(frozen=True)
class RunResults:
    """The measured traces of a run, sorted by id, each once, and those that failed or were skipped.

    ``counts`` has the number of samples of each trace, ``values`` their medians in the trace's unit. ``template`` is
    set where other runs have the same traces with one sample each.
    """

    ids: NDArray[np.int64]
    counts: NDArray[np.int64]
    units: NDArray[np.int64]
    factors: NDArray[np.float64]
    samples: NDArray[np.float64]
    values: NDArray[np.float64]
    failed: NDArray[np.int64]
    skipped: NDArray[np.int64]
    messages: Mapping[int, str]
    template: RunTemplate | None = None

    @cached_property
    def touched(self) -> NDArray[np.int64]:
        """All traces of the run, failures and skips included, sorted."""
        if not len(self.failed) and not len(self.skipped):
            return self.ids
        return np.unique(np.concatenate([self.ids, self.failed, self.skipped]))

    @cached_property
    def chunks(self) -> NDArray[np.int64]:
        """The chunks of these layout."""
        return self.template.chunks if self.template is not None else chunks_of(self.touched)

    @cached_property
    def part(self) -> Part:
        """The provenance of the run, with its samples, its places being trace ids."""
        columns = (self.ids, self.counts, self.units, self.factors, self.samples)
        return Part(*columns, self.failed, self.skipped, self.messages)

    @cached_property
    def implicit_part(self) -> bytes | None:
        """The packed provenance without samples, None where the stored points cannot stand for them."""
        if self.template is not None:
            return self.template.implicit_part
        return self.part.without_samples().pack() if self.part.is_single else None


def check_samples(results: ResultTable) -> None:
    """Refuse results that cannot be stored.

    Raises:
        InputError: a sample is not finite, or a measured result has none.
    """
    finite = np.isfinite(results.samples)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        which = int(np.searchsorted(results.offsets, bad[0], "right")) - 1
        raise InputError(
            f"the sample {results.samples[bad[0]]} is not a finite number",
            where=results.keys[which],
            remedy="Leave the value out, or report the benchmark as failed.",
        )
    some = results.offsets[1:] > results.offsets[:-1]
    if some.all():
        return
    empty = np.flatnonzero((results.outcome_codes == _MEASURED) & ~some)
    if len(empty):
        raise InputError(
            "a measured result has no samples",
            where=results.keys[int(empty[0])],
            remedy="Give it a value, or report it as failed or skipped.",
        )


def gather(results: ResultTable, layout: Layout) -> RunResults:
    """Group the results by trace.

    Raises:
        InputError: a value is too large for the unit of its trace.
    """
    ids = layout.ids
    failed = np.unique(ids[results.outcome_codes == _FAILED])
    skipped = np.setdiff1d(ids[results.outcome_codes == _SKIPPED], failed)
    messages = {int(ids[index]): text for index, text in results.messages.items()}

    # Only measured results have samples to store.
    counts = np.diff(results.offsets)
    columns = _Columns(ids, counts, layout.units, layout.factors, layout.trace_units, results.samples)
    measured = results.outcome_codes == _MEASURED
    if not measured.all():
        columns = columns.take(measured, results.samples[np.repeat(measured, counts)])

    # Sort by trace, and join the samples of results that share one.
    if len(columns.ids) > 1 and not bool((np.diff(columns.ids) > 0).all()):
        columns = _joined(_sorted(columns))

    values = converted(medians(columns.samples, columns.counts), columns.factors)
    if not bool(np.isfinite(columns.samples).all() and np.isfinite(values).all()):
        raise _beyond_floats(results, layout.factors)
    ids, counts, units, factors, _, samples = columns
    return RunResults(ids, counts, units, factors, samples, values, failed, skipped, messages)


def fill_template(template: RunTemplate, results: ResultTable) -> RunResults | None:
    """Fill the template as :func:`gather` would; None unless each of the (measured, finite) results has one sample."""
    if len(results.samples) != len(results) or results.messages:
        return None
    values = results.samples if template.order is None else results.samples[template.order]
    none = np.empty(0, dtype=np.int64)
    columns = (template.ids, template.counts, template.units, template.factors)
    return RunResults(*columns, values, values, none, none, {}, template)


def _beyond_floats(results: ResultTable, factors: NDArray[np.float64]) -> InputError:
    """Return the error that names the first sample which is infinite in the unit of its trace."""
    turned = converted(results.samples, np.repeat(factors, np.diff(results.offsets)))
    first = int(np.flatnonzero(~np.isfinite(turned))[0])
    which = int(np.searchsorted(results.offsets, first, "right")) - 1
    return InputError(
        f"the sample {results.samples[first]} {results.units[results.unit_codes[which]]} is too large a number in the"
        " unit of its trace",
        where=results.keys[which],
        remedy="Leave the value out, or report the benchmark as failed.",
    )


class _Columns(NamedTuple):
    """Measured results, one entry each, and their samples in a row."""

    ids: NDArray[np.int64]
    counts: NDArray[np.int64]
    units: NDArray[np.int64]
    factors: NDArray[np.float64]
    trace_units: NDArray[np.int64]
    samples: NDArray[np.float64]

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64], samples: NDArray[np.float64]) -> _Columns:
        """Return the results ``which``, whose samples are ``samples``."""
        ids, counts, units, factors, trace_units, _ = self
        return _Columns(ids[which], counts[which], units[which], factors[which], trace_units[which], samples)


def _sorted(columns: _Columns) -> _Columns:
    """Sort results by trace; each brings its samples along, in their order."""
    order = np.argsort(columns.ids, kind="stable")
    starts = np.cumsum(columns.counts) - columns.counts
    lengths = columns.counts[order]
    shift = np.repeat(starts[order] - (np.cumsum(lengths) - lengths), lengths)
    samples = columns.samples[np.arange(len(columns.samples)) + shift]
    return columns.take(order, samples)


def _joined(columns: _Columns) -> _Columns:
    """Join neighbours of one trace; where their units differ, all samples turn into the trace's unit."""
    ids, counts, units, factors, trace_units, samples = columns
    starts = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1))
    if len(starts) == len(ids):
        return columns
    mixed = np.minimum.reduceat(units, starts) != np.maximum.reduceat(units, starts)
    if mixed.any():
        each = np.repeat(mixed, np.diff(starts, append=len(ids)))
        samples = np.where(np.repeat(each, counts), converted(samples, np.repeat(factors, counts)), samples)
        units = np.where(each, trace_units, units)
        factors = np.where(each, 1.0, factors)
    counts = np.add.reduceat(counts, starts)
    return _Columns(ids[starts], counts, units[starts], factors[starts], trace_units[starts], samples)
