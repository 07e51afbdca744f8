"""Give traces their ids, and find them again by key, by id and by query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, func, select, update

from knickpoint.model.commit import Repository
from knickpoint.model.direction import DirectionRule, configured_better
from knickpoint.model.errors import AbsentError
from knickpoint.model.frame import Trace
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query
from knickpoint.model.unit import Better
from knickpoint.store.array_codec import pack, unpack
from knickpoint.store.database import Database
from knickpoint.store.tables import traces as tables
from knickpoint.store.tables.commits import repository as repository_table
from knickpoint.store.tables.shortcuts import counter
from knickpoint.store.traces.asked import BETTERS, UNKNOWN, Asked, Found, IdentityRows
from knickpoint.store.traces.catalogue import Catalogue
from knickpoint.store.traces.key_digests import digest_each
from knickpoint.store.traces.trace_chunks import StoredChunk, extended
from knickpoint.store.traces.units import Units
from knickpoint.store.traces.vocabulary import Vocabulary

__all__ = ["CHUNK", "Asked", "Found", "Traces"]

CHUNK: Final = 1024
"""Traces in a chunk."""

_VERSION: Final = "catalogue"
_NEXT_CHUNK: Final = "next chunk"


class Traces:
    """Hold the traces area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._vocabulary = Vocabulary(database)
        self._units = Units(database)
        self._catalogue = Catalogue(database)
        self._rules: tuple[DirectionRule, ...] = ()
        self._configured: dict[int, Better | None] = {}
        database.on_rollback(self._forget_configured)

    def set_directions(self, rules: Sequence[DirectionRule]) -> None:
        """Let ``rules`` say which direction is better; of several that match a trace, the last one counts.

        Nothing of it is stored: it holds for what this object returns.
        """
        self._rules = tuple(rules)
        self._forget_configured()

    def _forget_configured(self) -> None:
        self._configured = {}

    @property
    def units(self) -> Units:
        """The units of the instance."""
        return self._units

    def select(self, repository: Repository, query: Query) -> NDArray[np.int64]:
        """Return the ids of the traces that match, sorted."""
        return self._catalogue.select(repository.id, query)

    def facets(self, repository: Repository, query: Query) -> dict[str, dict[str, int]]:
        """Count the matching traces by param name and value; names and values sorted."""
        return self._catalogue.facets(repository.id, query)

    def count(self, repository: Repository) -> int:
        """Return the number of traces."""
        query = select(func.sum(tables.chunk.c.count)).where(tables.chunk.c.repository_id == repository.id)
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar() or 0)

    def get(self, ids: Sequence[int] | NDArray[np.int64]) -> list[Trace]:
        """Return traces by id, in the order given.

        The direction of each is what the rules say, else what its results stated, else that of its unit.

        Raises:
            StoreError: an id is unknown.
        """
        wanted = np.asarray(ids, dtype=np.int64)
        with self._database.reading() as connection:
            chunks = {key: StoredChunk.of(row) for key, row in self._chunks(connection, np.unique(wanted // CHUNK))}
            names = self._repository_names(connection) if self._rules else {}
            traces = []
            for number in wanted.tolist():
                chunk = chunks.get(number // CHUNK)
                place = number % CHUNK
                if number < 0 or chunk is None or place >= len(chunk.keys):
                    raise AbsentError(f"there is no trace {number}", remedy="Ask for the ids anew.")
                key, unit = chunk.keys[place], self._units.of_id(connection, chunk.units[place]).unit
                better = BETTERS[chunk.betters[place]]
                better = unit.better if better is Better.UNKNOWN else better
                if self._rules:
                    configured = self._configured_better(number, names[chunk.repository], key)
                    better = better if configured is None else configured
                traces.append(Trace(number, key, unit.text, unit.dimension, better))
        return traces

    def without_direction(self, ids: Sequence[int] | NDArray[np.int64]) -> list[Trace]:
        """Return those of the traces ``ids`` of which neither files, units nor rules say what is better."""
        unknown = [trace for trace in self.get(ids) if trace.better is Better.UNKNOWN]
        return [trace for trace in unknown if not self.has_configured_direction(trace)]

    def has_configured_direction(self, trace: Trace) -> bool:
        """Say whether a rule decides about ``trace``, which :meth:`get` returned, be it that neither is better."""
        return self._configured.get(trace.id) is not None

    def _configured_better(self, number: int, repository: str, key: str) -> Better | None:
        if number in (known := self._configured):
            return known[number]
        found = known[number] = configured_better(self._rules, repository, decode_key(key))
        return found

    @staticmethod
    def _repository_names(connection: Connection) -> dict[int, str]:
        rows = connection.execute(select(repository_table.c.id, repository_table.c.name))
        return {row.id: row.name for row in rows}

    def find(self, repository: Repository, key: str) -> list[Trace]:
        """Return the traces of a key, one for each dimension that its values came in, oldest first."""
        return self.get(self.find_ids(repository, [key]).get(key, []))

    def find_ids(self, repository: Repository, keys: Iterable[str]) -> Mapping[str, list[int]]:
        """Return key → ids of its traces, sorted; unknown keys are left out."""
        wanted = list(dict.fromkeys(keys))
        if not wanted:
            return {}
        digests = digest_each(wanted)
        with self._database.reading() as connection:
            rows = self._identities(connection, repository.id, digests)
        found: dict[tuple[int, int], list[int]] = {}
        for high, low, trace in zip(rows.high.tolist(), rows.low.tolist(), rows.trace.tolist(), strict=True):
            found.setdefault((high, low), []).append(trace)
        pairs = zip(wanted, digests.tolist(), strict=True)
        return {key: sorted(found[high, low]) for key, (high, low) in pairs if (high, low) in found}

    def version(self, connection: Connection) -> int:
        """Return the version of the catalogue; it grows with every new trace."""
        return self._catalogue.version(connection)

    def resolve(self, connection: Connection, repository_id: int, asked: Asked) -> Found:
        """Return the trace of each result; make those that do not exist, in the order of the results.

        A measured result belongs to the trace of its key and dimension, or to one of that key that was never
        measured before. A failed or skipped one belongs to the oldest trace of its key.
        """
        digests = asked.digests
        rows = self._identities(connection, repository_id, digests)
        dimensions = np.array([unit.dimension for unit in asked.units], dtype=np.int64)
        found = np.where(asked.measured, rows.match(digests, dimensions), rows.match(digests, None))
        self._match_alike(connection, rows, asked, digests, dimensions, found)
        known = found >= 0
        ids = np.full(len(found), -1, dtype=np.int64)
        units = np.array([unit.id for unit in asked.units], dtype=np.int64)
        ids[known], units[known] = rows.trace[found[known]], rows.unit[found[known]]
        self._learn_directions(connection, repository_id, rows, found, asked.stated)
        if not known.all():
            self._adopt(connection, repository_id, rows, asked, digests, Found(ids, units, ids))
        new = np.empty(0, dtype=np.int64)
        if (ids < 0).any():
            new = self._create(connection, repository_id, asked, digests, Found(ids, units, ids))
        return Found(ids, units, new)

    def _identities(self, connection: Connection, repository_id: int, digests: NDArray[np.int64]) -> IdentityRows:
        table = tables.identity
        query = select(table.c.high, table.c.low, table.c.dimension, table.c.trace_id, table.c.unit_id, table.c.better)
        query = query.where(table.c.repository_id == repository_id, self._database.among(table.c.high))
        listed = self._database.listed(np.unique(digests[:, 0]))
        rows = connection.execute(query, {"numbers": listed}).all()
        columns = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 6)
        columns = columns[np.lexsort((columns[:, 3], columns[:, 0]))]
        return IdentityRows(*(np.ascontiguousarray(columns[:, place]) for place in range(6)))

    def _learn_directions(
        self,
        connection: Connection,
        repository_id: int,
        rows: IdentityRows,
        found: NDArray[np.int64],
        stated: NDArray[np.int64],
    ) -> None:
        """Take the direction from a later result where the first ones did not state it."""
        teach = (found >= 0) & (stated != UNKNOWN)
        teach[teach] = rows.better[found[teach]] == UNKNOWN
        if teach.any():
            self._change(connection, repository_id, rows, found[teach], {"better": stated[teach]})

    def _match_alike(  # noqa: PLR0917  # one step of resolve, which has all of them at hand
        self,
        connection: Connection,
        rows: IdentityRows,
        asked: Asked,
        digests: NDArray[np.int64],
        dimensions: NDArray[np.int64],
        found: NDArray[np.int64],
    ) -> None:
        """Fill in ``found`` for results whose unit was unknown, or whose trace's unit was, when that was stored."""
        missing = (found < 0) & asked.measured
        if not missing.any() or not len(rows.high):
            return
        for dimension in np.unique(dimensions[missing]).tolist():
            places = np.flatnonzero(missing & (dimensions == dimension))
            for other in self._units.alike(connection, dimension):
                matched = rows.match(digests[places], np.full(len(places), other, dtype=np.int64))
                found[places] = np.where(found[places] < 0, matched, found[places])

    def _adopt(  # noqa: PLR0917  # one step of resolve, which has all of them at hand
        self,
        connection: Connection,
        repository_id: int,
        rows: IdentityRows,
        asked: Asked,
        digests: NDArray[np.int64],
        found: Found,
    ) -> None:
        """Give a unit to traces that so far only failed, now that they are measured; fill in ``found``."""
        pending = rows.match(digests, np.zeros(len(digests), dtype=np.int64))
        adopted: dict[int, int] = {}
        for place in np.flatnonzero((found.ids < 0) & asked.measured & (pending >= 0)).tolist():
            first = adopted.setdefault(int(pending[place]), place)
            if asked.units[first].dimension == asked.units[place].dimension:
                found.ids[place] = rows.trace[pending[place]]
                found.units[place] = asked.units[first].id
        if adopted:
            facts = asked.facts(list(adopted.values()))
            changes = {"unit": facts[:, 0], "dimension": facts[:, 1], "better": facts[:, 2]}
            self._change(connection, repository_id, rows, np.array(list(adopted), dtype=np.int64), changes)

    def _change(
        self,
        connection: Connection,
        repository_id: int,
        rows: IdentityRows,
        which: NDArray[np.int64],
        changes: Mapping[str, NDArray[np.int64]],
    ) -> None:
        """Write new facts about traces into the identity table and into their chunks."""
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
            | {f"b_{name}": int(values[place]) for name, values in changes.items()}
            for place, row in enumerate(which.tolist())
        ]
        connection.execute(statement, records)
        traces = rows.trace[which]
        for key, row in self._chunks(connection, np.unique(traces // CHUNK)):
            facts = dict(zip(("unit", "dimension", "better"), unpack(row.facts, 3), strict=True))
            here = traces // CHUNK == key
            for name, values in changes.items():
                facts[name][traces[here] % CHUNK] = values[here]
            data = pack(facts["unit"], facts["dimension"], facts["better"])
            connection.execute(update(tables.chunk).where(tables.chunk.c.id == key).values(facts=data))

    def _create(
        self, connection: Connection, repository_id: int, asked: Asked, digests: NDArray[np.int64], found: Found
    ) -> NDArray[np.int64]:
        """Make the traces of results that have none, and fill in ``found``; return the new ids."""
        missing = np.flatnonzero(found.ids < 0)
        names = [asked.keys[place] for place in missing.tolist()]
        if asked.measured[missing].all() and len(set(names)) == len(names):
            facts = asked.facts(missing)
            new = self._append(connection, repository_id, names, facts)
            self._identify(connection, repository_id, digests[missing], facts, new)
            found.ids[missing], found.units[missing] = new, facts[:, 0]
            return new
        made: dict[tuple[str, int], int] = {}
        oldest: dict[str, int] = {}
        firsts: list[int] = []
        was_measured = asked.measured.tolist()
        for place in missing[np.argsort(~asked.measured[missing], kind="stable")].tolist():
            key, measured = asked.keys[place], was_measured[place]
            identity = (key, asked.units[place].dimension if measured else 0)
            if not measured and key in oldest:
                made[identity] = oldest[key]
            if identity not in made:
                made[identity] = len(firsts)
                oldest.setdefault(key, len(firsts))
                firsts.append(place)
        facts = asked.facts(firsts)
        names = [asked.keys[place] for place in firsts]
        new = self._append(connection, repository_id, names, facts)
        self._identify(connection, repository_id, digests[firsts], facts, new)
        for place in missing.tolist():
            number = made[asked.keys[place], asked.units[place].dimension if was_measured[place] else 0]
            found.ids[place] = new[number]
            found.units[place] = facts[number, 0]
        return new

    def _append(
        self, connection: Connection, repository_id: int, names: Sequence[str], facts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Write new traces into chunks; return their ids."""
        version = self._count(connection, _VERSION, 1)
        coded = self._vocabulary.encode(connection, names, version)
        new = np.empty(len(names), dtype=np.int64)
        table = tables.chunk
        for key, begin, places in self._places(connection, repository_id, len(names)):
            new[places] = key * CHUNK + begin + np.arange(places.stop - places.start)
            columns = {name: column[places] for name, column in coded.columns.items()}
            if begin:
                old = connection.execute(select(table).where(table.c.id == key)).one()
                values = extended(old, names[places], facts[places], columns)
                connection.execute(update(table).where(table.c.id == key).values(version=version, **values))
            else:
                values = extended(None, names[places], facts[places], columns)
                row = {"id": key, "repository_id": repository_id, "version": version, **values}
                connection.execute(table.insert().values(row))
        return new

    def _identify(
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

    def _places(self, connection: Connection, repository_id: int, count: int) -> list[tuple[int, int, slice]]:
        """Return where ``count`` new traces go: chunk, first place in it, which of the new ones."""
        table = tables.chunk
        query = select(table.c.id, table.c.count.label("held")).where(table.c.repository_id == repository_id)
        last = connection.execute(query.order_by(table.c.id.desc()).limit(1)).first()
        places: list[tuple[int, int, slice]] = []
        done = 0
        if last is not None and last.held < CHUNK:
            done = min(count, CHUNK - last.held)
            places.append((last.id, last.held, slice(0, done)))
        chunks = -(-(count - done) // CHUNK)
        if chunks:
            key = self._count(connection, _NEXT_CHUNK, chunks) - chunks
            for number in range(chunks):
                end = min(count, done + CHUNK)
                places.append((key + number, 0, slice(done, end)))
                done = end
        return places

    def _count(self, connection: Connection, name: str, by: int) -> int:
        """Add ``by`` to a counter and return its new value."""
        insert = self._database.insert(counter).values(name=name, value=by)
        added = insert.on_conflict_do_update(index_elements=["name"], set_={"value": counter.c.value + by})
        connection.execute(added)
        return int(connection.execute(select(counter.c.value).where(counter.c.name == name)).scalar_one())

    def _chunks(self, connection: Connection, keys: NDArray[np.int64]) -> Iterator[tuple[int, Any]]:
        query = select(tables.chunk).where(self._database.among(tables.chunk.c.id))
        for row in connection.execute(query, {"numbers": self._database.listed(keys)}).all():
            yield row.id, row
