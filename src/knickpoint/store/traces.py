"""Give traces their ids, and find them again by key, by id and by query."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, func, select, update

from knickpoint.model.commit import Repository
from knickpoint.model.errors import AbsentError
from knickpoint.model.frame import Trace
from knickpoint.model.query import Query
from knickpoint.model.unit import Better
from knickpoint.store.catalogue import Catalogue
from knickpoint.store.database import Database
from knickpoint.store.keys import digest_each
from knickpoint.store.packing import pack, unpack
from knickpoint.store.tables import traces as tables
from knickpoint.store.tables.shortcuts import counter
from knickpoint.store.units import StoredUnit, Units
from knickpoint.store.vocabulary import Vocabulary

__all__ = ["CHUNK", "Asked", "Found", "Traces", "unpack_codes"]

CHUNK: Final = 1024
"""Traces in a chunk."""

_BETTERS: Final = tuple(Better)
_UNKNOWN: Final = _BETTERS.index(Better.UNKNOWN)
_VERSION: Final = "catalogue"
_NEXT_CHUNK: Final = "next chunk"


@dataclass(frozen=True, slots=True)
class Found:
    """Say which trace each result belongs to: ids and the traces' units, both of the results' length."""

    ids: NDArray[np.int64]
    units: NDArray[np.int64]
    new: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Asked:
    """The results that need a trace each, as columns of one length.

    ``betters`` are codes of ``list(Better)``; ``measured`` is false for results that failed or were skipped.
    """

    keys: Sequence[str]
    units: Sequence[StoredUnit]
    betters: NDArray[np.integer[Any]]
    measured: NDArray[np.bool_]

    @property
    def digests(self) -> NDArray[np.int64]:
        """The digests of the keys, computed at each call."""
        return digest_each(self.keys)

    def facts(self, places: NDArray[np.integer[Any]] | Sequence[int]) -> NDArray[np.int64]:
        """Return unit, dimension and direction of traces that begin with the results ``places``, a row each."""
        rows = np.asarray(places, dtype=np.int64)
        codes = self.betters[rows].astype(np.int64)
        units = [self.units[place] for place in rows.tolist()]
        kinds = {id(unit): (unit.id, unit.dimension, _BETTERS.index(unit.unit.better)) for unit in units}
        found = np.array([kinds[id(unit)] for unit in units], dtype=np.int64).reshape(-1, 3)
        found[:, 2] = np.where(self.measured[rows] & (codes == _UNKNOWN), found[:, 2], codes)
        found[~self.measured[rows], :2] = 0
        return found


@dataclass(frozen=True, slots=True)
class _Rows:
    """Hold rows of the identity table as columns, sorted by high."""

    high: NDArray[np.int64]
    low: NDArray[np.int64]
    dimension: NDArray[np.int64]
    trace: NDArray[np.int64]
    unit: NDArray[np.int64]
    better: NDArray[np.int64]

    def match(self, digests: NDArray[np.int64], dimensions: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return the row of each digest (and dimension, where given), -1 for none; of many, the oldest trace."""
        found = np.full(len(digests), -1, dtype=np.int64)
        if not len(self.high):
            return found
        first = np.searchsorted(self.high, digests[:, 0], "left")
        many = np.searchsorted(self.high, digests[:, 0], "right") - first
        for step in range(int(many.max(initial=0)) - 1, -1, -1):
            place = np.minimum(first + step, len(self.high) - 1)
            good = (step < many) & (self.low[place] == digests[:, 1])
            if dimensions is not None:
                good &= self.dimension[place] == dimensions
            found[good] = place[good]
        return found


class Traces:
    """Hold the traces area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._vocabulary = Vocabulary(database)
        self._units = Units(database)
        self._catalogue = Catalogue(database)

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

        Raises:
            StoreError: an id is unknown.
        """
        wanted = np.asarray(ids, dtype=np.int64)
        with self._database.reading() as connection:
            chunks = {key: _Chunk.of(row) for key, row in self._chunks(connection, np.unique(wanted // CHUNK))}
            traces = []
            for number in wanted.tolist():
                chunk = chunks.get(number // CHUNK)
                place = number % CHUNK
                if number < 0 or chunk is None or place >= len(chunk.keys):
                    raise AbsentError(f"there is no trace {number}", remedy="Ask for the ids anew.")
                unit = self._units.of_id(connection, chunk.units[place]).unit
                better = _BETTERS[chunk.betters[place]]
                traces.append(Trace(number, chunk.keys[place], unit.text, unit.dimension, better))
        return traces

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
        known = found >= 0
        ids = np.full(len(found), -1, dtype=np.int64)
        units = np.array([unit.id for unit in asked.units], dtype=np.int64)
        ids[known], units[known] = rows.trace[found[known]], rows.unit[found[known]]
        self._learn_directions(connection, repository_id, rows, found, asked.betters)
        if not known.all():
            self._adopt(connection, repository_id, rows, asked, digests, Found(ids, units, ids))
        new = np.empty(0, dtype=np.int64)
        if (ids < 0).any():
            new = self._create(connection, repository_id, asked, digests, Found(ids, units, ids))
        return Found(ids, units, new)

    def _identities(self, connection: Connection, repository_id: int, digests: NDArray[np.int64]) -> _Rows:
        table = tables.identity
        query = select(table.c.high, table.c.low, table.c.dimension, table.c.trace_id, table.c.unit_id, table.c.better)
        query = query.where(table.c.repository_id == repository_id, self._database.among(table.c.high))
        listed = self._database.listed(np.unique(digests[:, 0]))
        rows = connection.execute(query, {"numbers": listed}).all()
        columns = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 6)
        columns = columns[np.lexsort((columns[:, 3], columns[:, 0]))]
        return _Rows(*(np.ascontiguousarray(columns[:, place]) for place in range(6)))

    def _learn_directions(
        self,
        connection: Connection,
        repository_id: int,
        rows: _Rows,
        found: NDArray[np.int64],
        betters: NDArray[np.integer[Any]],
    ) -> None:
        """Take the direction from a later result where the first one did not tell it."""
        teach = (found >= 0) & (betters != _UNKNOWN)
        teach[teach] = rows.better[found[teach]] == _UNKNOWN
        if teach.any():
            self._change(connection, repository_id, rows, found[teach], {"better": betters[teach].astype(np.int64)})

    def _adopt(  # noqa: PLR0917  # one step of resolve, which has all of them at hand
        self,
        connection: Connection,
        repository_id: int,
        rows: _Rows,
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
        rows: _Rows,
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
                values = _extended(old, names[places], facts[places], columns)
                connection.execute(update(table).where(table.c.id == key).values(version=version, **values))
            else:
                values = _extended(None, names[places], facts[places], columns)
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


@dataclass(frozen=True, slots=True)
class _Chunk:
    keys: list[str]
    units: list[int]
    betters: list[int]

    @classmethod
    def of(cls, row: Any) -> _Chunk:
        unit, _, better = unpack(row.facts, 3)
        return cls(zlib.decompress(row.keys).decode().split("\n"), unit.tolist(), better.tolist())


def _extended(
    old: Any, names: Sequence[str], facts: NDArray[np.int64], columns: Mapping[int, NDArray[np.int64]]
) -> dict[str, object]:
    """Return the blobs of a chunk with more traces at its end."""
    before = 0
    texts = "\n".join(names)
    whole = dict(columns)
    if old is not None:
        before = old.count
        texts = zlib.decompress(old.keys).decode() + "\n" + texts
        facts = np.concatenate([np.stack(unpack(old.facts, 3), axis=1), facts])
        known = unpack_codes(old.codes)
        for name in known.keys() | columns.keys():
            head = known.get(name, np.zeros(before, dtype=np.int64))
            tail = columns.get(name, np.zeros(len(names), dtype=np.int64))
            whole[name] = np.concatenate([head, tail])
    ordered = sorted(name for name, column in whole.items() if column.any())
    return {
        "count": before + len(names),
        "facts": pack(facts[:, 0], facts[:, 1], facts[:, 2]),
        "codes": pack(np.array(ordered, dtype=np.int64), *(whole[name] for name in ordered)),
        "keys": zlib.compress(texts.encode(), 1),
    }


def unpack_codes(data: bytes) -> dict[int, NDArray[np.int64]]:
    """Return name id → code of each trace of a chunk."""
    (names,) = unpack(data, 1)
    columns = unpack(data, 1 + len(names))[1:]
    return dict(zip(names.tolist(), columns, strict=True))
