"""Turn the results of a run into one entry a trace: samples joined, values in the trace's unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import InputError
from knickpoint.model.report import Outcome, ResultTable
from knickpoint.model.unit import conversion
from knickpoint.store.points.layouts import Routine
from knickpoint.store.points.parts import converted, medians
from knickpoint.store.traces.units import StoredUnit

__all__ = ["Entries", "gather", "measured_of", "routine_of", "told_by"]

_OUTCOMES = tuple(Outcome)
_MEASURED, _FAILED, _SKIPPED = (_OUTCOMES.index(o) for o in (Outcome.MEASURED, Outcome.FAILED, Outcome.SKIPPED))


@dataclass(frozen=True, slots=True)
class Entries:
    """The measured traces of a run, sorted by id, each once, and those that failed or were skipped.

    ``routine`` is known where other runs had the same traces, with one sample each.
    """

    ids: NDArray[np.int64]
    counts: NDArray[np.int64]
    units: NDArray[np.int64]
    factors: NDArray[np.float64]
    samples: NDArray[np.float64]
    values: NDArray[np.float64]
    failed: NDArray[np.int64]
    skipped: NDArray[np.int64]
    messages: dict[int, str]
    routine: Routine | None = None

    @property
    def touched(self) -> NDArray[np.int64]:
        """All traces that the run says something about, sorted."""
        if not len(self.failed) and not len(self.skipped):
            return self.ids
        return np.unique(np.concatenate([self.ids, self.failed, self.skipped]))


def measured_of(results: ResultTable) -> NDArray[np.bool_]:
    """Return which results have samples to store.

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
    measured: NDArray[np.bool_] = results.outcome_codes == _MEASURED
    some = results.offsets[1:] > results.offsets[:-1]
    if some.all():
        return measured
    empty = np.flatnonzero(measured & ~some)
    if len(empty):
        raise InputError(
            "a measured result has no samples",
            where=results.keys[int(empty[0])],
            remedy="Give it a value, or report it as failed or skipped.",
        )
    return measured


def gather(  # noqa: PLR0917  # columns of one table
    results: ResultTable,
    measured: NDArray[np.bool_],
    ids: NDArray[np.int64],
    own: dict[int, StoredUnit],
    own_units: NDArray[np.int64],
    units: list[StoredUnit],
) -> Entries:
    """Group the results by trace.

    ``ids`` and ``own_units`` have the trace and its unit for each result, ``own`` the units by number, and
    ``units`` those of ``results.units``.

    Raises:
        InputError: a value is too large for the unit of its trace.
    """
    given = np.array([unit.id for unit in units], dtype=np.int64)[results.unit_codes]
    factors = each = _factors(given, own_units, own)
    failed = np.unique(ids[results.outcome_codes == _FAILED])
    skipped = np.setdiff1d(ids[results.outcome_codes == _SKIPPED], failed)
    messages = {int(ids[place]): text for place, text in results.messages.items()}
    counts = np.diff(results.offsets)
    samples = results.samples
    if not measured.all():
        keep = np.repeat(measured, counts)
        samples, counts, ids = samples[keep], counts[measured], ids[measured]
        given, factors = given[measured], factors[measured]
        own_units = own_units[measured]
    if len(ids) > 1 and not bool((np.diff(ids) > 0).all()):
        order = np.argsort(ids, kind="stable")
        starts = np.cumsum(counts) - counts
        lengths = counts[order]
        shift = np.repeat(starts[order] - (np.cumsum(lengths) - lengths), lengths)
        samples = samples[np.arange(len(samples)) + shift]
        ids, counts, given, factors, own_units = ids[order], lengths, given[order], factors[order], own_units[order]
        ids, counts, given, factors, samples = _joined(ids, counts, given, factors, own_units, samples)
    values = converted(medians(samples, counts), factors)
    if not bool(np.isfinite(samples).all() and np.isfinite(values).all()):
        raise _beyond_floats(results, each)
    return Entries(ids, counts, given, factors, samples, values, failed, skipped, messages)


def routine_of(results: ResultTable, ids: NDArray[np.int64], entries: Entries) -> Routine | None:
    """Return what later runs of the same layout can rely on, None where they have to be gathered each time.

    ``ids`` has the trace of each result.
    """
    plain = len(entries.ids) == len(results) == len(results.samples) and bool((entries.factors == 1).all())
    if not plain:
        return None
    order = None if np.array_equal(entries.ids, ids) else np.argsort(ids, kind="stable")
    return Routine(entries.ids, entries.units, order)


def told_by(routine: Routine, results: ResultTable) -> Entries:
    """Return what :func:`gather` would of results with one sample each, all measured and finite."""
    values = results.samples if routine.order is None else results.samples[routine.order]
    none = np.empty(0, dtype=np.int64)
    return Entries(routine.ids, routine.ones, routine.units, routine.factors, values, values, none, none, {}, routine)


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


def _factors(given: NDArray[np.int64], own_units: NDArray[np.int64], own: dict[int, StoredUnit]) -> NDArray[np.float64]:
    factors = np.ones(len(given))
    different = given != own_units
    if different.any():
        for source, target in np.unique(np.stack([given[different], own_units[different]], axis=1), axis=0).tolist():
            if source in own and target in own and target:
                factors[(given == source) & (own_units == target)] = conversion(own[source].unit, own[target].unit)
    return factors


def _joined(  # noqa: PLR0917  # columns of one table
    ids: NDArray[np.int64],
    counts: NDArray[np.int64],
    units: NDArray[np.int64],
    factors: NDArray[np.float64],
    own_units: NDArray[np.int64],
    samples: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Join neighbours of one trace; where their units differ, all samples turn into the trace's unit."""
    starts = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1))
    if len(starts) == len(ids):
        return ids, counts, units, factors, samples
    mixed = np.minimum.reduceat(units, starts) != np.maximum.reduceat(units, starts)
    if mixed.any():
        lengths = np.diff(starts, append=len(ids))
        each = np.repeat(mixed, lengths)
        samples = np.where(np.repeat(each, counts), converted(samples, np.repeat(factors, counts)), samples)
        units = np.where(each, own_units, units)
        factors = np.where(each, 1.0, factors)
    return ids[starts], np.add.reduceat(counts, starts), units[starts], factors[starts], samples
