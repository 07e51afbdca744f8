"""Find traces by key, by id and by query, with their direction; and keep sets of keys and formulas under a short id."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, func, select

from knickpoint.model.commit import Repository
from knickpoint.model.direction import DirectionRule, configured_better
from knickpoint.model.errors import AbsentError, InputError
from knickpoint.model.frame import Trace, TraceRename
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query
from knickpoint.model.unit_names import Better
from knickpoint.store.array_codec import moment, stored_json
from knickpoint.store.database import Database
from knickpoint.store.tables import commits as tables
from knickpoint.store.tables.commits import repository as repository_table
from knickpoint.store.tables.commits import shortcut as table
from knickpoint.store.tables.commits import trace_rename
from knickpoint.store.traces.catalogue import Catalogue, FacetCounts, ParamCodes
from knickpoint.store.traces.trace_chunks import CHUNK, StoredChunk
from knickpoint.store.traces.trace_requests import BETTERS, Identities, digest_each
from knickpoint.store.traces.units import Units

# Keep the chunks of traces that were decoded last, as lists of findings name the same traces again and again.


_MOST: Final = 128
"""Chunks that are kept; about 150 kB each."""


class DecodedChunks:
    """Decode rows of the table of chunks, or find them decoded; safe for threads.

    A chunk is known by its bytes, so it does not matter which transaction read it, or whether that was undone.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[bytes, bytes, StoredChunk]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, rows: Iterable[Any]) -> dict[int, StoredChunk]:
        """Return the chunks of ``rows`` by id."""
        rows = list(rows)
        if len(rows) > _MOST:
            return {row.id: StoredChunk.of(row) for row in rows}
        return {row.id: self._one(row) for row in rows}

    def _one(self, row: Any) -> StoredChunk:
        with self._lock:
            known = self._known.get(row.id)
            if known is not None and known[:2] == (row.keys, row.facts):
                self._known.move_to_end(row.id)
                return known[2]
        chunk = StoredChunk.of(row)
        with self._lock:
            self._known[row.id] = (row.keys, row.facts, chunk)
            self._known.move_to_end(row.id)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return chunk


# Keep which trace continues which other one.


_PAIRS: Final = select(trace_rename.c.new_id, trace_rename.c.old_id).where(
    trace_rename.c.repository_id == bindparam("owner")
)


def predecessors(database: Database, connection: Connection, repository_id: int) -> dict[int, int]:
    """Return the new trace → the old one that it continues, of one repository."""
    return dict(database.quick(connection, _PAIRS, {"owner": repository_id}).fetchall())


class TraceRenames:
    """Read and write accepted renames; no stored value changes with them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, repository: Repository) -> list[TraceRename]:
        """Return the renames of ``repository``, by the old trace."""
        query = select(trace_rename).where(trace_rename.c.repository_id == repository.id)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(trace_rename.c.old_id)).all()
        return [TraceRename(row.old_id, row.new_id, row.who, moment(row.time)) for row in rows]

    def add(self, repository: Repository, old: int, new: int, *, who: str) -> None:
        """Write that the trace ``new`` continues ``old``."""
        row = {"old_id": old, "new_id": new, "repository_id": repository.id, "who": who, "time": time.time()}
        with self._database.transaction() as connection:
            connection.execute(trace_rename.insert(), [row])

    def remove(self, old: int) -> None:
        """Take back that a trace continues ``old``."""
        with self._database.transaction() as connection:
            connection.execute(delete(trace_rename).where(trace_rename.c.old_id == old))


_MOST_VALUES: Final = 100_000
"""Values of a param that are compared with a new one."""

_BETTER: Final = dict(enumerate(BETTERS))
"""What is better, by its number in the database; a damaged number is none of them."""


class OwnedTrace(NamedTuple):
    """A trace, and the id of its repository."""

    repository: int
    trace: Trace


class _ChunkRow(NamedTuple):
    """What a chunk says about its traces, undecoded."""

    id: int
    repository_id: int
    facts: bytes
    keys: bytes


_KEPT_DIRECTIONS: Final = select(tables.kept_direction.c.trace_id, tables.kept_direction.c.better).order_by(
    tables.kept_direction.c.trace_id
)
_CHUNKS: Final = select(*(tables.chunk.c[name] for name in _ChunkRow._fields)).where(Database.among(tables.chunk.c.id))


class Traces:
    """Hold the traces area of a store.

    Attributes:
        renames: which trace continues which other one.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._units = Units(database)
        self._catalogue = Catalogue(database)
        self._identities = Identities(database)
        self._decoded = DecodedChunks()
        self.renames = TraceRenames(database)
        self._rules: tuple[DirectionRule, ...] = ()
        self._configured: dict[int, Better | None] = {}
        database.on_rollback(self._forget_configured)

    def set_directions(self, rules: Sequence[DirectionRule]) -> None:
        """Let ``rules`` say which direction is better; of several that match a trace, the last one counts.

        Nothing of it is stored: it holds for what this object returns.
        """
        self._rules = tuple(rules)
        self._forget_configured()

    @property
    def directions(self) -> tuple[DirectionRule, ...]:
        """The rules that say which direction is better."""
        return self._rules

    def keep_directions(self, kept: Mapping[int, Better]) -> None:
        """Let exactly these traces keep the direction by which their findings were judged."""
        if dict(self.kept_directions) == kept:
            return
        table = tables.kept_direction
        with self._database.transaction() as connection:
            connection.execute(table.delete())
            if kept:
                connection.execute(
                    table.insert(),
                    [{"trace_id": key, "better": BETTERS.index(way)} for key, way in sorted(kept.items())],
                )

    @property
    def kept_directions(self) -> tuple[tuple[int, Better], ...]:
        """The traces that keep a direction, sorted, and that direction."""
        with self._database.reading() as connection:
            return tuple(self._kept(connection).items())

    def _kept(self, connection: Connection) -> Mapping[int, Better]:
        def read() -> Mapping[int, Better]:
            rows = self._database.quick(connection, _KEPT_DIRECTIONS, {}).fetchall()
            return {key: _BETTER[code] for key, code in rows if code in _BETTER}

        return self._database.read_once("kept directions", read)

    def _forget_configured(self) -> None:
        self._configured = {}

    @property
    def units(self) -> Units:
        """The units of the instance."""
        return self._units

    def select(self, repository: Repository, query: Query) -> NDArray[np.int64]:
        """Return the ids of the traces that match, sorted."""
        return self._catalogue.select(repository.id, query)

    def facets(self, repository: Repository, query: Query) -> Mapping[str, Mapping[str, int]]:
        """Count the matching traces by param name and value; names and values sorted.

        It is shared, and must not change.
        """
        return self._catalogue.facets(repository.id, query)

    def alternatives(self, repository: Repository, query: Query) -> FacetCounts:
        """Count as :meth:`facets`, but the values of each param that the query names without its term."""
        return self._catalogue.alternatives(repository.id, query)

    def params(self, repository: Repository, ids: NDArray[np.int64]) -> dict[str, ParamCodes]:
        """Return the params of many traces by name, without their keys; in the order of ``ids``."""
        return self._catalogue.params(repository.id, ids)

    def partition(self, repository: Repository, query: Query, name: str) -> dict[str, NDArray[np.int64]]:
        """Return the ids of the matching traces, sorted, by their value of the param ``name``.

        "" where they lack it.
        """
        return self._catalogue.partition(repository.id, query, name)

    def count(self, repository: Repository) -> int:
        """Return the number of traces."""
        query = select(func.sum(tables.chunk.c.count)).where(tables.chunk.c.repository_id == repository.id)
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar() or 0)

    def get(self, ids: Sequence[int] | NDArray[np.int64]) -> list[Trace]:
        """Return traces by id, in the order given.

        The direction of each is the one that it keeps, else what the rules say, else what its results stated, else that
        of its unit.

        Raises:
            StoreError: an id is unknown.
        """
        found = self.owned(ids)
        wanted = np.asarray(ids, dtype=np.int64).tolist()
        missing = next((number for number in wanted if number not in found), None)
        if missing is not None:
            raise AbsentError(f"there is no trace {missing}", remedy="Request the ids again.")
        return [found[number].trace for number in wanted]

    def owned(self, ids: Sequence[int] | NDArray[np.int64], *, kept: bool = True) -> dict[int, OwnedTrace]:
        """Return traces by id, each with the id of its repository; unknown ones are left out.

        Without ``kept``, directions that traces keep do not count.
        """
        wanted = np.asarray(ids, dtype=np.int64)
        found: dict[int, OwnedTrace] = {}
        if not len(wanted):
            return found
        with self._database.reading() as connection:
            chunks = self._chunks(connection, np.unique(wanted // CHUNK))
            names = self._repository_names(connection) if self._rules else {}
            directions = self._kept(connection) if kept else {}
            stated: dict[tuple[int, int], tuple[str, str, Better]] = {}
            for number in wanted.tolist():
                chunk = chunks.get(number // CHUNK)
                place = number % CHUNK
                if number < 0 or chunk is None or place >= len(chunk.keys):
                    continue
                key, fact = chunk.keys[place], (chunk.units[place], chunk.betters[place])
                # Thousands of traces share a unit and a direction.
                if fact not in stated:
                    stated[fact] = self._stated(connection, *fact)
                text, dimension, better = stated[fact]
                if self._rules:
                    configured = self._configured_better(number, names[chunk.repository], key)
                    better = better if configured is None else configured
                better = directions.get(number, better)
                found[number] = OwnedTrace(chunk.repository, Trace(number, key, text, dimension, better))
        return found

    def _stated(self, connection: Connection, unit_number: int, code: int) -> tuple[str, str, Better]:
        """Return a unit as text, its dimension, and the direction that results stated, else that of the unit."""
        unit = self._units.of_id(connection, unit_number).unit
        better = BETTERS[code]
        return unit.text, unit.dimension, unit.better if better is Better.UNKNOWN else better

    def owners(self, ids: Sequence[int]) -> dict[int, int]:
        """Return trace → id of its repository; unknown traces are left out."""
        table = tables.chunk.c
        query = select(table.id, table.repository_id, table.count.label("size")).where(self._database.among(table.id))
        with self._database.reading() as connection:
            numbers = self._database.listed(sorted({number // CHUNK for number in ids}))
            chunks = {row.id: row for row in connection.execute(query, {"numbers": numbers})}
        return {
            number: chunks[number // CHUNK].repository_id
            for number in ids
            if number // CHUNK in chunks and 0 <= number % CHUNK < chunks[number // CHUNK].size
        }

    def without_direction(self, ids: Sequence[int] | NDArray[np.int64]) -> list[Trace]:
        """Return those of the traces ``ids`` of which neither files, units nor rules say what is better."""
        unknown = [trace for trace in self.get(ids) if trace.better is Better.UNKNOWN]
        return [trace for trace in unknown if not self.has_configured_direction(trace)]

    def has_configured_direction(self, trace: Trace) -> bool:
        """Return True if a rule decides about ``trace``, which :meth:`get` returned, be it that neither is better."""
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
            rows = self._identities.read(connection, repository.id, digests)
        found: dict[tuple[int, int], list[int]] = {}
        for high, low, trace in zip(rows.high.tolist(), rows.low.tolist(), rows.trace.tolist(), strict=True):
            found.setdefault((high, low), []).append(trace)
        pairs = zip(wanted, digests.tolist(), strict=True)
        return {key: sorted(found[high, low]) for key, (high, low) in pairs if (high, low) in found}

    def param_values(self, name: str) -> str:
        """Return the first 100,000 values that traces of the instance have for a param, one a line."""
        value, owner = tables.param_value.c, tables.param_name.c
        query = select(func.aggregate_strings(value.value, "\n")).where(value.code <= _MOST_VALUES, owner.name == name)
        query = query.join_from(tables.param_value, tables.param_name, value.name_id == owner.id)
        with self._database.reading() as connection:
            return connection.execute(query).scalar() or ""

    def _chunks(self, connection: Connection, numbers: NDArray[np.int64]) -> dict[int, StoredChunk]:
        rows = self._database.quick(connection, _CHUNKS, {"numbers": self._database.listed(numbers)})
        return self._decoded.of(map(_ChunkRow._make, rows))


_LENGTH: Final = 12
"""Characters of an id: 60 bits.

That two of a million shortcuts have the same id is less likely than one in a million.
"""


class Shortcuts:
    """Hold the shortcuts of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entries: Iterable[str], *, most: int | None = None) -> str:
        """Keep a set of trace keys and formulas (a formula begins with ``@``), and return its id; order does not count.

        Raises:
            InputError: the set is empty, an entry is neither a key nor a formula, or ``most`` sets are kept already.
        """
        members = sorted(set(entries))
        if not members:
            raise InputError("a shortcut needs at least one key or formula", remedy="Select a trace first.")
        for entry in members:
            if entry[:1] not in {",", "@"}:
                raise InputError(
                    f"{entry!r} is neither a trace key nor a formula",
                    where="shortcut",
                    remedy="Keys begin with a comma, formulas with an @.",
                )
        content = json.dumps(members, ensure_ascii=False)
        name = base64.b32encode(sha256(content.encode()).digest()).decode().lower()[:_LENGTH]
        with self._database.transaction() as connection:
            known = connection.execute(select(table.c.id).where(table.c.id == name)).scalar()
            if known is None and most is not None and self._count(connection) >= most:
                raise InputError(
                    f"{most:,} shortcuts are already kept",
                    where="shortcut",
                    remedy="Write the query out, or have an admin raise shortcuts of [limits] in knickpoint.toml.",
                )
            insert = self._database.insert(table).values(id=name, content=content, created=time.time())
            connection.execute(insert.on_conflict_do_nothing(index_elements=["id"]))
        return name

    @staticmethod
    def _count(connection: Connection) -> int:
        return int(connection.execute(select(func.count()).select_from(table)).scalar() or 0)

    def get(self, name: str) -> tuple[str, ...]:
        """Return the keys and formulas of a shortcut, sorted.

        Raises:
            InputError: there is none of that id.
        """
        with self._database.reading() as connection:
            content = connection.execute(select(table.c.content).where(table.c.id == name)).scalar()
        if content is None:
            raise InputError(f"there is no shortcut {name!r}", remedy="Ask for the address again.")
        return tuple(stored_json(content))
