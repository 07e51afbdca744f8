"""Find the benchmarks that a base commit has and new results lack, and those that failed there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.model.frame import Trace
from knickpoint.model.query import Query, QueryTerm
from knickpoint.store import Store

_WINDOW: Final = 20
"""How many of the newest measured commits show whether a benchmark is measured as a rule."""

_PAST: Final = 200
"""Measured commits before the newest one at which a new benchmark has no value."""

_BLOCK_BYTES: Final = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Vanished:
    """A benchmark that the base has and new results lack; ``slot`` is the commit that last measured it."""

    trace: Trace
    slot: int


def is_held(held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the traces that are measured as a rule.

    ``held`` is true where traces x measured commits, in order, have a value. A trace counts where the newest commit has
    it, and so has the one before, or half of all. So one run that broke off does not hide a benchmark, and a benchmark
    that is measured every tenth time does not vanish each time.
    """
    usual = 2 * np.count_nonzero(held, axis=1) >= held.shape[1]
    found: NDArray[np.bool_] = held[:, -1] & (usual | held[:, -2:].all(axis=1))
    return found


def find_vanished(
    store: Store,
    line: Line,
    last: int,
    *,
    shared: Mapping[str, str],
    submitted: Collection[int],
    measured: NDArray[np.int64],
) -> list[Vanished]:
    """Return the traces that the base has with all params of ``shared`` and that are not ``submitted``, by key.

    The base has the traces that :func:`is_held` accepts for the last twenty commits at which the benchmarks of the new
    results were measured, and those measured for the first time at the newest of them. What stopped before the base did
    not vanish now. The catalogue and a few columns are read, however long the history is.

    Args:
        store: where the history is.
        line: the line that is compared with.
        last: the position of the base.
        shared: the params that all new results have in common; an empty mapping means every benchmark.
        submitted: the ids of the traces that appear in the new results.
        measured: the positions up to ``last`` at which benchmarks of the new results were measured, sorted. Where all
            of them are new it is empty; then the newest commits count at which a candidate was measured.
    """
    # The candidates, and the commits at which they should have been measured.
    query = Query.of(*(QueryTerm(name, values=(value,)) for name, value in shared.items()))
    ids = np.setdiff1d(store.traces.select(line.repository, query), np.array(sorted(submitted), dtype=np.int64))
    columns = measured if measured.size else _with_runs(store, line, last)
    window = columns[-_WINDOW:]
    held = _held(store, line, window, ids)
    if not measured.size:
        window, held = window[held.any(axis=0)], held[:, held.any(axis=0)]
    if not held.size:
        return []

    # Those measured as a rule, and those measured for the first time at the newest commit.
    present = is_held(held)
    lone = np.flatnonzero(held[:, -1] & ~present)
    present[lone] = ~_ever_held(store, line, columns[columns < window[-1]][-_PAST:], ids[lone])
    slot = line.slots[int(window[-1])]
    found = [Vanished(trace, slot) for trace in store.traces.get(ids[present])]
    return sorted(found, key=lambda vanished: (vanished.trace.key, vanished.trace.id))


def failed_positions(store: Store, line: Line, last: int) -> dict[str, int]:
    """Return key → newest position at which a run failed, for the last twenty commits up to ``last`` with any run."""
    positions = _with_runs(store, line, last).tolist()
    failures = store.runs.failures(line.repository, [line.slots[position] for position in positions])
    return {key: position for position in positions for key in failures[line.slots[position]]}


def _with_runs(store: Store, line: Line, last: int) -> NDArray[np.int64]:
    """Return the last twenty positions up to ``last`` that have a run, sorted."""
    slots = store.runs.slots(line.repository)
    found = [position for position in range(last + 1) if line.slots[position] in slots]
    return np.array(found[-_WINDOW:], dtype=np.int64)


def _held(store: Store, line: Line, positions: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of traces x positions that have a value."""
    some = replace(line, slots=tuple(line.slots[position] for position in positions.tolist()))
    found: NDArray[np.bool_] = ~np.isnan(store.frames.values(some, ids))
    return found


def _ever_held(store: Store, line: Line, positions: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the traces with a value at any of the positions, read in blocks."""
    found = np.zeros(len(ids), dtype=np.bool_)
    rows = max(1, _BLOCK_BYTES // max(1, 8 * len(positions)))
    for begin in range(0, len(ids), rows):
        block = slice(begin, begin + rows)
        found[block] = _held(store, line, positions, ids[block]).any(axis=1)
    return found
