"""Read and write the rows of runs, and of the environments that they ran in."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, delete, select, update

from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.report import Outcome, Result, RunReport
from knickpoint.store.array_codec import checked, moment, pack, stored_json, unpack
from knickpoint.store.database import Database
from knickpoint.store.tables.bisections import withheld_run as table
from knickpoint.store.tables.points import environment, run

# Records of runs: what is to be written, what the write did, and what the store keeps of a run and of its points.


@dataclass(frozen=True, slots=True)
class RunWrite:
    """A run that the store is asked to write.

    Attributes:
        slot: the slot of its commit.
        report: what the run measured.
        identity: what makes it this run and no other: its CI run id, or a hash of its content.
        content_hash: the hash of the content of the run; the same identity with another hash is a correction.
        source: where it came from, such as the path of a file.
        branch: "" for the branch that the report names.
    """

    slot: int
    report: RunReport
    identity: str
    content_hash: str
    source: str
    branch: str = ""


class RunKind(Enum):
    """The kind of a written run, compared with what was stored before.

    NEW is the first to measure its traces at its commit. SAME was stored with this content before; nothing changes.
    A CORRECTION replaces a stored run of its identity. A RERUN is new too, but one of its traces had a value of
    another run at its commit.
    """

    NEW = "new"
    SAME = "same"
    CORRECTION = "correction"
    RERUN = "rerun"


def _no_ids() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


def _no_values() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True)
class ValueChanges:
    """What a correction changed: each trace's value in this run before and after, NaN where it had or has none."""

    trace_ids: NDArray[np.int64] = field(default_factory=_no_ids)
    before: NDArray[np.float64] = field(default_factory=_no_values)
    after: NDArray[np.float64] = field(default_factory=_no_values)

    def __len__(self) -> int:
        return len(self.trace_ids)


@dataclass(frozen=True)
class Receipt:
    """What a write did with one run.

    ``trace_ids`` are the traces of the run, sorted, none for a run that is the SAME; ``new_traces`` those that did
    not exist before, and ``other_units`` those of them whose keys have older traces, in units that do not convert.
    """

    kind: RunKind
    run_id: int
    trace_ids: NDArray[np.int64] = field(default_factory=_no_ids)
    new_traces: NDArray[np.int64] = field(default_factory=_no_ids)
    other_units: NDArray[np.int64] = field(default_factory=_no_ids)
    changes: ValueChanges = field(default_factory=ValueChanges)


@dataclass(frozen=True, slots=True)
class RunHead:
    """The least of a run: which it is, the commit that it measured, and its environment."""

    id: int
    slot: int
    identity: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the store keeps it; ``unmeasured`` are results without a value that made no trace."""

    id: int
    repository_id: int
    slot: int
    identity: str
    content_hash: str
    source: str
    entry: str
    branch: str
    time: datetime | None
    environment: Mapping[str, str]
    links: Mapping[str, str]
    revisions: Mapping[str, str]
    created: datetime
    corrections: int
    unmeasured: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True)
class RunPoint:
    """What one run gave to one point.

    ``samples`` are in ``unit``, as they came; ``value`` is their median in the trace's unit, NaN unless
    measured.
    """

    run: Run
    trace_id: int
    outcome: Outcome
    value: float
    unit: str
    samples: tuple[float, ...]
    message: str = ""


_IDENTITIES_AT_ONCE: Final = 500

_HEAD: Final = (run.c.id, run.c.slot, run.c.identity, run.c.content_hash, run.c.corrections)
_BY_IDENTITY: Final = select(*_HEAD).where(
    run.c.repository_id == bindparam("owner"), run.c.identity == bindparam("named")
)
_BY_IDENTITIES: Final = select(*_HEAD).where(
    run.c.repository_id == bindparam("owner"), run.c.identity.in_(bindparam("names", expanding=True))
)
_INSERT: Final = run.insert().returning(run.c.id)
_INSERT_MANY: Final = run.insert().returning(run.c.id, sort_by_parameter_order=True)
_UPDATE: Final = update(run).where(run.c.id == bindparam("written"))


class StoredRun(NamedTuple):
    """A stored run, as far as a write compares it with one that arrives."""

    id: int
    slot: int
    identity: str
    content_hash: str
    corrections: int


class RunRecord(NamedTuple):
    """A run to record: with the stored run that it corrects, the number of its traces, and where its parts are."""

    write: RunWrite
    corrects: StoredRun | None
    points: int
    chunks: bytes


class RunTable:
    """Hold the rows of all runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, connection: Connection, repository_id: int, identities: Sequence[str]) -> dict[str, StoredRun]:
        """Return identity → the stored run, for those of ``identities`` that are known."""
        if len(identities) == 1:
            values = {"owner": repository_id, "named": identities[0]}
            rows = self._database.quick(connection, _BY_IDENTITY, values).fetchall()
            return {row[2]: StoredRun(*row) for row in rows}
        found: dict[str, StoredRun] = {}
        for begin in range(0, len(identities), _IDENTITIES_AT_ONCE):
            names = list(identities[begin : begin + _IDENTITIES_AT_ONCE])
            for row in connection.execute(_BY_IDENTITIES, {"owner": repository_id, "names": names}):
                found[row.identity] = StoredRun(*row)
        return found

    def stored(self, connection: Connection, repository_id: int, run_ids: Collection[int]) -> list[StoredRun]:
        """Return those of the runs ``run_ids`` that ``repository_id`` has."""
        query = select(*_HEAD).where(self._database.among(run.c.id), run.c.repository_id == repository_id)
        rows = connection.execute(query, {"numbers": self._database.listed(sorted(run_ids))})
        return [StoredRun(*row) for row in rows]

    def delete(self, connection: Connection, run_ids: Collection[int]) -> None:
        """Delete the rows of runs; their parts are those of the points."""
        numbers = {"numbers": self._database.listed(sorted(run_ids))}
        connection.execute(run.delete().where(self._database.among(run.c.id)), numbers)

    def record(self, connection: Connection, repository_id: int, records: Sequence[RunRecord]) -> list[int]:
        """Insert new runs and update corrected ones; return their ids in the same order."""
        environments: dict[str, int] = {}
        rows: list[dict[str, Any]] = []
        for record in records:
            facts = _environment_text(record.write.report.environment)
            if facts not in environments:
                environments[facts] = self._environment(connection, facts)
            values = _values_of(record) | {"repository_id": repository_id, "environment_id": environments[facts]}
            if record.corrects is None:
                rows.append(values | {"created": time.time(), "corrections": 0})
            else:
                values |= {"corrections": record.corrects.corrections + 1, "written": record.corrects.id}
                connection.execute(_UPDATE, values)
        new = iter(self._insert(connection, rows))
        return [record.corrects.id if record.corrects is not None else next(new) for record in records]

    def _insert(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> list[int]:
        """Insert rows; return their ids in the same order."""
        if len(rows) == 1:
            return [int(self._database.quick(connection, _INSERT, rows[0]).fetchone()[0])]
        return [int(number) for number in connection.execute(_INSERT_MANY, list(rows)).scalars()] if rows else []

    def _environment(self, connection: Connection, facts: str) -> int:
        """Return the number of an environment, 0 for one without facts."""
        if not facts:
            return 0
        digest = blake2b(facts.encode(), digest_size=16).hexdigest()
        known = connection.execute(select(environment.c.id).where(environment.c.digest == digest)).scalar()
        if known is not None:
            return int(known)
        key = connection.execute(environment.insert().values(digest=digest, facts=facts)).inserted_primary_key
        assert key is not None
        return int(key[0])


def run_of(connection: Connection, row: Row[Any]) -> Run:
    """Return the run of a whole row of the table."""
    facts = ""
    if row.environment_id:
        query = select(environment.c.facts).where(environment.c.id == row.environment_id)
        facts = str(connection.execute(query).scalar_one())
    return Run(
        row.id,
        row.repository_id,
        row.slot,
        row.identity,
        row.content_hash,
        row.source,
        row.entry,
        row.branch,
        moment(row.time) if row.time is not None else None,
        stored_json(facts) if facts else {},
        stored_json(row.links) if row.links else {},
        stored_json(row.revisions) if row.revisions else {},
        moment(row.created),
        row.corrections,
        tuple(
            Result(decode_key(key), outcome=Outcome(outcome), message=message)
            for key, outcome, message in stored_json(row.unmeasured or "[]")
        ),
    )


def _environment_text(facts: Mapping[str, str]) -> str:
    """Return the facts of an environment as JSON, "" for none."""
    return json.dumps(dict(facts), sort_keys=True) if facts else ""


def _values_of(record: RunRecord) -> dict[str, Any]:
    """Return the columns that a new run and a corrected one share."""
    write, report = record.write, record.write.report
    return {
        "slot": write.slot,
        "identity": write.identity,
        "content_hash": write.content_hash,
        "source": write.source,
        "entry": report.entry,
        "branch": write.branch or report.branch,
        "time": report.time.timestamp() if report.time is not None else None,
        "links": json.dumps(dict(report.links)) if report.links else "",
        "revisions": json.dumps(dict(report.revisions)) if report.revisions else "",
        "unmeasured": _unmeasured_text(report.unmeasured),
        "points": record.points,
        "chunks": record.chunks,
    }


def _unmeasured_text(results: Sequence[Result]) -> str:
    """Return results without a value as JSON: key, outcome and message of each; "" for none."""
    if not results:
        return ""
    return json.dumps([(encode_key(result.params), result.outcome.value, result.message) for result in results])


# Keep which runs are withheld: their results are stored, and take no part in points.
#
# A run is withheld as a whole, but for the traces that keep their values: canaries, which show whether the machine
# moved.


class WithheldRuns:
    """Hold the rows of withheld runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def at(self, connection: Connection, repository_id: int, slots: Collection[int]) -> dict[int, NDArray[np.int64]]:
        """Return the withheld runs at ``slots``: run → the traces that keep their values, sorted."""
        query = select(table.c.run_id, table.c.kept).where(
            self._database.among(table.c.slot), table.c.repository_id == repository_id
        )
        rows = connection.execute(query, {"numbers": self._database.listed(sorted(slots))})
        return {row.run_id: _ids_of(row.kept) for row in rows}

    def of_repository(self, connection: Connection, repository_id: int) -> dict[int, NDArray[np.int64]]:
        """Return all withheld runs of a repository: run → the traces that keep their values, sorted."""
        rows = connection.execute(select(table.c.run_id, table.c.kept).where(table.c.repository_id == repository_id))
        return {row.run_id: _ids_of(row.kept) for row in rows}

    def add(
        self,
        connection: Connection,
        repository_id: int,
        slots: Mapping[int, int],
        kept: Mapping[int, NDArray[np.int64]],
    ) -> None:
        """Mark runs (run → slot) as withheld, each but for the traces in ``kept``."""
        self.remove(connection, slots)
        rows = [
            {"run_id": run, "repository_id": repository_id, "slot": slot, "kept": checked(pack(kept[run]))}
            for run, slot in sorted(slots.items())
        ]
        if rows:
            connection.execute(table.insert(), rows)

    def remove(self, connection: Connection, run_ids: Collection[int]) -> None:
        """Forget that runs are withheld."""
        if run_ids:
            listed = {"numbers": self._database.listed(sorted(run_ids))}
            connection.execute(delete(table).where(self._database.among(table.c.run_id)), listed)


def _ids_of(packed: bytes) -> NDArray[np.int64]:
    (ids,) = unpack(packed, 1)
    return np.asarray(ids, dtype=np.int64)
