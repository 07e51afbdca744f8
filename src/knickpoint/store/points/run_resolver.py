"""Give the results of runs their traces and units: the second stage of a write.

The runs of one write are resolved together. Runs of one layout share one answer, layouts that were met before need no
look-up, and the results of all other layouts are looked up in one query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from knickpoint.model.report import Outcome, ResultTable
from knickpoint.store.database import Database
from knickpoint.store.points.layouts import Layout, LayoutCache, LayoutDigest, LayoutTraces, layout_of
from knickpoint.store.points.run_results import RunResults, fill_template, gather
from knickpoint.store.traces.trace_requests import TraceRequests
from knickpoint.store.traces.trace_resolver import TraceResolver
from knickpoint.store.traces.units import StoredUnit, Units

_MEASURED = tuple(Outcome).index(Outcome.MEASURED)


@dataclass(frozen=True, slots=True)
class ResolvedResults:
    """The results of a run by trace, and those of the traces that it is the first to have.

    ``other_units`` are those of the new traces whose keys have older traces, in units that do not convert.
    """

    results: RunResults
    new_traces: NDArray[np.int64]
    other_units: NDArray[np.int64]


class RunResolver:
    """Find or make the traces of runs, in the transaction of the caller."""

    def __init__(self, database: Database, units: Units) -> None:
        self._units = units
        self._traces = TraceResolver(database, units)
        self._layouts = LayoutCache(database)

    def resolve(
        self, connection: Connection, repository_id: int, tables: Sequence[ResultTable]
    ) -> list[ResolvedResults]:
        """Return the results of each run by trace; make the traces that do not exist.

        Raises:
            InputError: a key is not canonical, or a value is too large for the unit of its trace.
        """
        units = [self._units.of_texts(connection, table.units) for table in tables]
        digests = [self._layouts.digest(table) for table in tables]

        # Layouts: this process, or the store, remembers the traces of all results of a run.
        layouts, traces = self._remembered(connection, repository_id, digests)

        # Traces: one look-up for the results of all other layouts.
        new = other_units = np.empty(0, dtype=np.int64)
        numbers = _firsts([digest not in layouts and digest not in traces for digest in digests], digests, tables)
        if numbers:
            requests = _requests([tables[number] for number in numbers], [units[number] for number in numbers])
            found = self._traces.resolve(connection, repository_id, requests)
            new, other_units = found.new, found.other_units
            ends = np.cumsum([len(tables[number]) for number in numbers])[:-1]
            for number, ids, trace_units in zip(
                numbers, np.split(found.ids, ends), np.split(found.units, ends), strict=True
            ):
                if digests[number] not in traces:
                    traces[digests[number]] = ids, trace_units
                    self._layouts.store(connection, repository_id, digests[number], ids, trace_units)

        # Units: what turns each sample into the unit of its trace.
        for number, digest in enumerate(digests):
            if digest not in layouts:
                layouts[digest] = self._layout(connection, tables[number], *traces[digest], units[number])
                self._layouts.remember(repository_id, digest, layouts[digest])

        # Results by trace; a trace is new in the first run that has it.
        resolved: list[ResolvedResults] = []
        for table, digest in zip(tables, digests, strict=True):
            layout = layouts[digest]
            filled = fill_template(layout.template, table) if layout.template is not None else None
            results = filled or gather(table, layout)
            mine = new
            if len(new):
                here = np.isin(new, results.touched, assume_unique=True)
                mine, new = new[here], new[~here]
            resolved.append(ResolvedResults(results, mine, np.intersect1d(mine, other_units)))
        return resolved

    def _remembered(
        self, connection: Connection, repository_id: int, digests: Sequence[LayoutDigest]
    ) -> tuple[dict[LayoutDigest, Layout], dict[LayoutDigest, LayoutTraces]]:
        """Return the layouts that this process remembers, and the traces of others that the store remembers."""
        layouts: dict[LayoutDigest, Layout] = {}
        traces: dict[LayoutDigest, LayoutTraces] = {}
        for digest in dict.fromkeys(digests):
            layout = self._layouts.recall(repository_id, digest)
            stored = self._layouts.load(connection, repository_id, digest) if layout is None else None
            if layout is not None:
                layouts[digest] = layout
            elif stored is not None:
                traces[digest] = stored
        return layouts, traces

    def _layout(
        self,
        connection: Connection,
        table: ResultTable,
        ids: NDArray[np.int64],
        trace_units: NDArray[np.int64],
        units: Sequence[StoredUnit],
    ) -> Layout:
        """Return the layout of a table whose results have the traces ``ids``, in ``trace_units``."""
        by_id = {number: self._units.of_id(connection, number) for number in _distinct(trace_units)}
        return layout_of(table, ids, trace_units, units, by_id)


def _firsts(unknown: Sequence[bool], digests: Sequence[LayoutDigest], tables: Sequence[ResultTable]) -> list[int]:
    """Return the ``unknown`` tables that need a look-up: the first of each layout.

    Where a result failed or was skipped, each table does: the trace of such a result may take its direction from the
    runs before and after it.
    """
    seen: set[LayoutDigest] = set()
    numbers: list[int] = []
    for number, (digest, table) in enumerate(zip(digests, tables, strict=True)):
        if unknown[number] and (digest not in seen or bool((table.outcome_codes != _MEASURED).any())):
            seen.add(digest)
            numbers.append(number)
    return numbers


def _requests(tables: Sequence[ResultTable], units: Sequence[Sequence[StoredUnit]]) -> TraceRequests:
    """Return the results of several tables as one row of requests."""
    offsets = np.cumsum([0, *(len(table.units) for table in tables)])
    codes = [table.unit_codes + offset for table, offset in zip(tables, offsets.tolist(), strict=False)]
    return TraceRequests(
        [key for table in tables for key in table.keys],
        [unit for each in units for unit in each],
        np.concatenate(codes).astype(np.int64),
        np.concatenate([table.better_codes for table in tables]),
        np.concatenate([table.outcome_codes for table in tables]) == _MEASURED,
    )


def _distinct(numbers: NDArray[np.int64]) -> list[int]:
    """Return each of ``numbers`` once; most often they are all the same."""
    if len(numbers) and bool((numbers == numbers[0]).all()):
        return [int(numbers[0])]
    return [int(number) for number in np.unique(numbers)]
