"""Find the trace of each result, and make the traces that do not exist.

A result belongs to the trace of its key and of the dimension of its unit. This module is the list of stages: look
the keys up, match them, let later results say what earlier ones left open (a direction, a unit), and append new
traces to the catalogue. The plans are pure and stand in :mod:`knickpoint.store.traces.trace_requests`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select, update

from knickpoint.store.array_codec import checked, pack, unpack
from knickpoint.store.database import Database
from knickpoint.store.tables import commits as tables
from knickpoint.store.tables.commits import counter
from knickpoint.store.traces.trace_chunks import CHUNK, extended, free_places
from knickpoint.store.traces.trace_requests import (
    UNKNOWN,
    Identities,
    IdentityRows,
    ResolvedTraces,
    TraceRequests,
    plan_adoption,
    plan_new_traces,
)
from knickpoint.store.traces.units import Units
from knickpoint.store.traces.vocabulary import Vocabulary

_VERSION: Final = "catalogue"
_NEXT_CHUNK: Final = "next chunk"


class TraceResolver:
    """Give results their traces, in the transaction of the caller."""

    def __init__(self, database: Database, units: Units) -> None:
        self._database = database
        self._units = units
        self._identities = Identities(database)
        self._vocabulary = Vocabulary(database)

    def resolve(self, connection: Connection, repository_id: int, requests: TraceRequests) -> ResolvedTraces:
        """Return the trace of each result; make those that do not exist, in the order of the results.

        A measured result belongs to the trace of its key and dimension, or to one of that key that was never
        measured before. A failed or skipped one belongs to the oldest trace of its key.
        """
        rows = self._identities.read(connection, repository_id, requests.digests)

        # Match results with traces that exist; -1 stands for none.
        same = self._same_dimensions(requests)
        matched = _match(rows, requests, same)
        known = matched >= 0
        ids, units = np.full(len(matched), -1, dtype=np.int64), requests.unit_ids.copy()
        ids[known], units[known] = rows.trace[matched[known]], rows.unit[matched[known]]

        # A later result may state the direction that the first ones left open; the first that does decides.
        teaching = np.flatnonzero(known & (requests.stated != UNKNOWN))
        teaching = teaching[rows.better[matched[teaching]] == UNKNOWN]
        if len(teaching):
            taught, first = np.unique(matched[teaching], return_index=True)
            self._update(connection, repository_id, rows, taught, {"better": requests.stated[teaching[first]]})

        # Traces that only failed so far take the unit of their first measured result.
        missing = np.flatnonzero(ids < 0)
        adoption = plan_adoption(rows, requests, missing)
        if len(adoption.rows):
            facts = requests.facts(adoption.firsts)
            of_row = matched.copy()
            of_row[adoption.results] = adoption.rows[adoption.numbers]
            results = np.flatnonzero(np.isin(of_row, adoption.rows))
            order = np.argsort(adoption.rows)
            numbers = order[np.searchsorted(adoption.rows, of_row[results], sorter=order)]
            facts[:, 2] = _first_stated(requests.stated, results, numbers, adoption.firsts)
            changes = {"unit": facts[:, 0], "dimension": facts[:, 1], "better": facts[:, 2]}
            self._update(connection, repository_id, rows, adoption.rows, changes)
            ids[adoption.results] = rows.trace[adoption.rows][adoption.numbers]
            units[adoption.results] = facts[adoption.numbers, 0]
            missing = np.flatnonzero(ids < 0)

        # What is left needs new traces.
        if not len(missing):
            none = np.empty(0, dtype=np.int64)
            return ResolvedTraces(ids, units, none, none)
        plan = plan_new_traces(requests, missing, {number: numbers[0] for number, numbers in same.items()})
        facts = requests.facts(plan.firsts)
        facts[:, 2] = _first_stated(requests.stated, missing, plan.numbers, plan.firsts)
        keys = [requests.keys[result] for result in plan.firsts.tolist()]
        version = self._add_to_counter(connection, _VERSION, 1)
        codes = self._vocabulary.encode(connection, keys, version)
        new = self._append(connection, repository_id, version, keys, facts, codes)
        self._insert_identities(connection, repository_id, requests.digests[plan.firsts], facts, new)
        ids[missing], units[missing] = new[plan.numbers], facts[plan.numbers, 0]
        has_older = rows.match(requests.digests[plan.firsts], None) >= 0
        return ResolvedTraces(ids, units, new, new[has_older])

    def _same_dimensions(self, requests: TraceRequests) -> dict[int, list[int]]:
        """Return dimension → its numbers, oldest first, for dimensions of the results that have more than one."""
        dimensions = {unit.dimension for unit in requests.units}
        found = {dimension: self._units.same_dimensions(dimension) for dimension in dimensions}
        return {dimension: numbers for dimension, numbers in found.items() if len(numbers) > 1}

    def _update(
        self,
        connection: Connection,
        repository_id: int,
        rows: IdentityRows,
        which: NDArray[np.int64],
        changes: Mapping[str, NDArray[np.int64]],
    ) -> None:
        """Write new facts about the traces of the rows ``which``, into the identity table and into their chunks."""
        table = tables.identity
        names = {"dimension": "dimension", "unit": "unit_id", "better": "better"}
        statement = update(table).where(
            table.c.repository_id == repository_id,
            table.c.high == bindparam("b_high"),
            table.c.low == bindparam("b_low"),
            table.c.trace_id == bindparam("b_trace"),
        )
        statement = statement.values({names[name]: bindparam(f"b_{name}") for name in changes})
        records = [
            {"b_high": int(rows.high[row]), "b_low": int(rows.low[row]), "b_trace": int(rows.trace[row])}
            | {f"b_{name}": int(values[index]) for name, values in changes.items()}
            for index, row in enumerate(which.tolist())
        ]
        connection.execute(statement, records)
        traces = rows.trace[which]
        query = select(tables.chunk.c.id, tables.chunk.c.facts).where(self._database.among(tables.chunk.c.id))
        listed = {"numbers": self._database.listed(np.unique(traces // CHUNK))}
        for chunk, data in connection.execute(query, listed).all():
            facts = dict(zip(("unit", "dimension", "better"), unpack(data, 3), strict=True))
            here = traces // CHUNK == chunk
            for name, values in changes.items():
                facts[name][traces[here] % CHUNK] = values[here]
            packed = checked(pack(facts["unit"], facts["dimension"], facts["better"]))
            connection.execute(update(tables.chunk).where(tables.chunk.c.id == chunk).values(facts=packed))

    def _append(  # noqa: PLR0917  # the columns of the table
        self,
        connection: Connection,
        repository_id: int,
        version: int,
        keys: Sequence[str],
        facts: NDArray[np.int64],
        codes: Mapping[int, NDArray[np.int64]],
    ) -> NDArray[np.int64]:
        """Write new traces into chunks, the last chunk of the repository first; return their ids."""
        # Room: the rest of the repository's last chunk, then chunks of their own.
        table = tables.chunk
        query = select(table.c.id, table.c.count.label("held")).where(table.c.repository_id == repository_id)
        last = connection.execute(query.order_by(table.c.id.desc()).limit(1)).first()
        number, held = (last.id, last.held) if last is not None else (0, CHUNK)
        chunks = -(-max(0, len(keys) - (CHUNK - held)) // CHUNK)
        free = self._add_to_counter(connection, _NEXT_CHUNK, chunks) - chunks if chunks else 0

        new = np.empty(len(keys), dtype=np.int64)
        for chunk, begin, some in free_places(len(keys), number, held, free):
            new[some] = chunk * CHUNK + begin + np.arange(some.stop - some.start)
            columns = {name: column[some] for name, column in codes.items()}
            old = connection.execute(select(table).where(table.c.id == chunk)).one() if begin else None
            values = {"version": version, **extended(old, keys[some], facts[some], columns)}
            if begin:
                connection.execute(update(table).where(table.c.id == chunk).values(values))
            else:
                connection.execute(table.insert().values({"id": chunk, "repository_id": repository_id, **values}))
        return new

    def _insert_identities(
        self,
        connection: Connection,
        repository_id: int,
        digests: NDArray[np.int64],
        facts: NDArray[np.int64],
        new: NDArray[np.int64],
    ) -> None:
        """Write how new traces are found by key, in the order of the index."""
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        columns = (digests[:, 0], digests[:, 1], facts[:, 1], new, facts[:, 0], facts[:, 2])
        fields = ("high", "low", "dimension", "trace_id", "unit_id", "better", "repository_id")
        lists = [column[order].tolist() for column in columns]
        rows = list(zip(*lists, [repository_id] * len(new), strict=True))
        self._database.insert_rows(connection, tables.identity, fields, rows)

    def _add_to_counter(self, connection: Connection, name: str, by: int) -> int:
        """Add ``by`` to a counter and return its new value."""
        insert = self._database.insert(counter).values(name=name, value=by)
        added = insert.on_conflict_do_update(index_elements=["name"], set_={"value": counter.c.value + by})
        connection.execute(added)
        return int(connection.execute(select(counter.c.value).where(counter.c.name == name)).scalar_one())


def _match(rows: IdentityRows, requests: TraceRequests, same: Mapping[int, Sequence[int]]) -> NDArray[np.int64]:
    """Return the row of each result's trace, -1 for none.

    ``same`` has the numbers of dimensions that have several, as :meth:`Units.same_dimensions` says.
    """
    digests, dimensions = requests.digests, requests.dimensions
    matched = np.where(requests.measured, rows.match(digests, dimensions), rows.match(digests, None))
    for dimension, numbers in same.items():
        results = np.flatnonzero((matched < 0) & requests.measured & (dimensions == dimension))
        for number in numbers:
            others = rows.match(digests[results], np.full(len(results), number, dtype=np.int64))
            matched[results] = np.where(matched[results] < 0, others, matched[results])
    return matched


def _first_stated(
    stated: NDArray[np.int64], results: NDArray[np.int64], numbers: NDArray[np.int64], firsts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the direction of each trace that begins with the results ``firsts``: the first that a result states.

    Trace ``numbers[i]`` is that of result ``results[i]``; ``results`` are sorted. Failures before the first measured
    result do not count: its unit decides anew which direction is better.
    """
    better = np.full(len(firsts), UNKNOWN, dtype=np.int64)
    counts = (stated[results] != UNKNOWN) & (results >= firsts[numbers])
    # Backwards, so that what the first result states is written last.
    better[numbers[counts][::-1]] = stated[results[counts]][::-1]
    return better
